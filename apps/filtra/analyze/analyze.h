/* Analyses of runs, and the page that shows them. */
#ifndef FILTRA_ANALYZE_H
#define FILTRA_ANALYZE_H

#include "matrix.h"
#include "model/model.h"
#include "spectra.h"

#include <filtra/run.h>
#include <jansson.h>

/** Learned numbers of a layer's mixer. */
typedef struct analysis_coefficients {
  char layer[FT_NAME_TEXT];
  const ft_mixer_coefficients *kind;
  float *values;
  size_t count;
} analysis_coefficients;

/** Features at a stage: after the embedding or after a block. Means over samples with at least two
 * nonzero tokens. */
typedef struct analysis_stage {
  char name[FT_NAME_TEXT];
  double similarity;     /* mean cosine of two tokens */
  double effective_rank; /* (sum of squared singular values)^2 / sum of their fourth powers */
  size_t similar;        /* number of samples with a similarity */
  double low, high;      /* fractions of the energy: at frequency 0, above half of the highest */
} analysis_stage;

/** A layer's mixer. */
typedef struct analysis_mixer {
  char name[FT_NAME_TEXT];
  double response[SPECTRA_BANDS]; /* amplitude of the mixer's output relative to its input */
  matrix_measures matrix;         /* means over samples and heads; extremes over all */
  size_t measured;                /* heads measured */
  size_t powers;                  /* of these, heads with measured powers of A */
  size_t parts;                   /* of these, heads with measured powers of H */
  double *singular; /* [singular_count] of AGF's matrix, means over samples and heads */
  size_t singular_count;
} analysis_mixer;

enum { ANALYSIS_POINTS = 65 };

/** A layer's learned filter, the mean over its heads. */
typedef struct analysis_filter {
  char layer[FT_NAME_TEXT];
  double y[ANALYSIS_POINTS]; /* at evenly spaced arguments from low to high */
} analysis_filter;

/** Most tokens of a sequence whose attention is shown. */
enum { ANALYSIS_MAP_TOKENS = 256, ANALYSIS_MOST_MAPPED = 32 };

/** A head's attention A on a chosen sample. */
typedef struct analysis_map {
  const analysis_mixer *mixer;
  int64_t head;
  double *weights; /* [tokens, tokens]: row i holds the weights of what token i attends to */
} analysis_map;

/** A chosen sample, or one text of a pair. */
typedef struct analysis_sample {
  uint64_t number; /* index in its split, from 0 */
  uint32_t text;   /* of a pair: 0, 1 */
  size_t tokens;
  char **names; /* [tokens] of text; NULL: none */
  analysis_map *maps;
  size_t map_count; /* 0: the mixers form no matrix */
} analysis_sample;

/** The analysis of a run. */
typedef struct analysis {
  const char *run, *split, *data;
  const char *label;             /* distinguishes the run from others */
  const ft_model_options *model; /* of `run`, which is open; analyze_free closes all three */
  filtra_run *opened;
  filtra_model *loaded;
  size_t samples;
  analysis_stage *stages; /* in order */
  size_t stage_count;
  analysis_mixer *mixers;
  size_t mixer_count;
  double *singular; /* [singular_count] of the last features, over the largest; sample mean */
  size_t singular_count;
  analysis_coefficients *coefficients;
  size_t coefficient_count;
  analysis_filter *filters; /* empty if the mixer class has no filter */
  size_t filter_count;
  analysis_sample *chosen; /* [chosen_count] samples with requested attention maps */
  size_t chosen_count;
} analysis;

/** What to analyze. */
typedef struct analyze_request {
  const char *split, *data; /* data NULL: the run's own */
  const char *settings;     /* of filtra_run_open_data; or NULL */
  uint64_t samples;
  const uint64_t *chosen; /* [chosen_count] numbers of samples to map */
  size_t chosen_count;
} analyze_request;

/** Measures a run (measure.c). Caller frees, also on failure. */
filtra_status analyze_run(filtra_device *device, const char *run, const analyze_request *request,
                          analysis *out);
void analyze_free(analysis *a);

/** Writes a section about a run's maps of chosen samples (maps.c). */
void analyze_write_maps(FILE *to, const analysis *a);
json_t *analyze_maps_json(const analysis *a);

/** Reads the learned coefficients (learned.c). */
filtra_status analyze_learned(analysis *r);
/** The mixer of a layer; the layer's name contains its number. */
const ft_mixer *analyze_mixer(const analysis *a, const char *layer);
/** The filter to show: that of the first mixer with one; NULL: none. */
const ft_mixer_filter *analyze_filter(const analysis *a);
/** Computes the filters of each listed mixer that has the filter shown. */
filtra_status analyze_filters(analysis *r);
/** The argument of filter point i. */
double analyze_argument(const analysis *a, size_t i);
/** The matrix that a head of a layer's mixer applies; not `formed` if the mixer's class has
 * none. */
matrix_rule analyze_rule(const analysis *a, const char *layer, int64_t head);

/** Writes the page of one run, or of several in the same charts (page.c). */
void analyze_write_page(FILE *to, const analysis *runs, size_t count);
/** A run's analysis as an object; NULL: out of memory (json.c). */
json_t *analyze_json(const analysis *a);

#endif
