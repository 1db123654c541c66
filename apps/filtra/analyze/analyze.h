/* What `filtra analyze` finds out about runs, and the page that shows it. */
#ifndef FILTRA_ANALYZE_H
#define FILTRA_ANALYZE_H

#include "matrix.h"
#include "model/model.h"
#include "spectra.h"

#include <filtra/run.h>
#include <jansson.h>

/** Learned numbers of one layer's mixer. */
typedef struct analysis_coefficients {
  char layer[FT_NAME_TEXT];
  const ft_mixer_coefficients *kind;
  float *values;
  size_t count;
} analysis_coefficients;

/** Features at a stage: behind the embedding, or a block. Means over the samples that have two
 * tokens other than zero. */
typedef struct analysis_stage {
  char name[FT_NAME_TEXT];
  double similarity;     /* cosine of two tokens */
  double effective_rank; /* (sum of squared singular values)^2 / sum of their fourth powers */
  size_t similar;        /* how many samples those are */
  double low, high;      /* shares of the energy: at frequency 0, and above half the highest */
} analysis_stage;

/** One layer's mixer. */
typedef struct analysis_mixer {
  char name[FT_NAME_TEXT];
  double response[SPECTRA_BANDS]; /* amplitude out of it over amplitude into it */
  matrix_measures matrix;         /* means over samples and heads; extremes over all */
  size_t measured, powers;        /* heads that those are of, and that their errors are of */
} analysis_mixer;

enum { ANALYSIS_POINTS = 65 };

/** The learned filter of one layer's mixer, the mean over its heads. */
typedef struct analysis_filter {
  char layer[FT_NAME_TEXT];
  double y[ANALYSIS_POINTS]; /* at evenly spaced arguments from low to high */
} analysis_filter;

/** A run's. */
typedef struct analysis {
  const char *run, *split, *data;
  const char *label;             /* the run's, among others */
  const ft_model_options *model; /* these three live as what measured them does */
  filtra_run *opened;
  filtra_model *loaded;
  size_t samples;
  analysis_stage *stages; /* in order */
  size_t stage_count;
  analysis_mixer *mixers;
  size_t mixer_count;
  double *singular; /* [singular_count] of the last features, over the largest; mean over samples */
  size_t singular_count;
  analysis_coefficients *coefficients;
  size_t coefficient_count;
  analysis_filter *filters; /* none where the mixer class has no filter */
  size_t filter_count;
} analysis;

/** What is looked at. */
typedef struct analyze_request {
  const char *split, *data; /* data NULL: the run's */
  uint64_t samples;
} analyze_request;

/** Measures a run (measure.c). Caller frees, also on failure. */
filtra_status analyze_run(filtra_device *device, const char *run, const analyze_request *request,
                          analysis *out);
void analyze_free(analysis *a);

/** Finds the learned coefficients (learned.c). */
filtra_status analyze_learned(analysis *r);
/** The filters that they make, one for each of the mixers that are listed. */
filtra_status analyze_filters(analysis *r);
/** The argument of filter point i. */
double analyze_argument(const analysis *a, size_t i);
/** What a head of a layer's mixer applies; not formed where its class has no such matrix. */
matrix_rule analyze_rule(const analysis *a, const char *layer, int64_t head);

/** Writes the page of one run, or of several laid over each other (page.c). */
void analyze_write_page(FILE *to, const analysis *runs, size_t count);
/** One run's object; NULL: out of memory (json.c). */
json_t *analyze_json(const analysis *a);

#endif
