/* What `filtra analyze` finds out about a run, and the page that shows it. */
#ifndef FILTRA_ANALYZE_H
#define FILTRA_ANALYZE_H

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

/** What was measured where: similarity between tokens at a stage, or a mixer's response. */
typedef struct analysis_stage {
  char name[FT_NAME_TEXT];
  double similarity;              /* mean over the samples that have two tokens other than zero */
  size_t similar;                 /* how many those are */
  double response[SPECTRA_BANDS]; /* amplitude out of the mixer over amplitude into it */
} analysis_stage;

enum { ANALYSIS_POINTS = 65 };

/** The learned filter of one layer's mixer, the mean over its heads. */
typedef struct analysis_filter {
  char layer[FT_NAME_TEXT];
  double y[ANALYSIS_POINTS]; /* at evenly spaced arguments from low to high */
} analysis_filter;

typedef struct analysis {
  const char *run, *split, *data;
  const ft_model_options *model;
  size_t samples;
  analysis_stage *stages; /* features after each block, in order */
  size_t stage_count;
  analysis_stage *mixers;
  size_t mixer_count;
  double *singular; /* [singular_count] of the last features, over the largest; mean over samples */
  size_t singular_count;
  analysis_coefficients *coefficients;
  size_t coefficient_count;
  analysis_filter *filters; /* none where the mixer class has no filter */
  size_t filter_count;
} analysis;

/** The argument of filter point i. */
double analyze_argument(const analysis *a, size_t i);

/** Writes the page, or returns the JSON object (NULL: out of memory). */
void analyze_write_page(FILE *to, const analysis *a);
json_t *analyze_json(const analysis *a);

#endif
