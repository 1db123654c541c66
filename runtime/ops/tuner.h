/* The tuner: records an op's problem alone on a graph, in each configuration of the op's table,
 * compares its results with those of the plainest kernel, and times it. */
#ifndef FT_OPS_TUNER_H
#define FT_OPS_TUNER_H

#include "graph/graph.h"
#include "ops/tuning.h"

enum { FT_TRIAL_TENSORS = 8 };

/** A problem on a separate graph, as ft_tunable.build records it. */
typedef struct ft_trial {
  filtra_graph *graph;
  filtra_tensor *in[FT_TRIAL_TENSORS], *out[FT_TRIAL_TENSORS];
  int inputs, outputs;
  /* Accepted difference of 16-bit outputs, relative to their largest value; 0: outputs are F32. */
  double rounding;
} ft_trial;

/** Declares an input of floats, uniform in [-1,1). NULL after an error. */
filtra_tensor *ft_trial_input(ft_trial *trial, const char *name, filtra_dtype dtype, int ndim,
                              const int64_t *shape);
/** Declares an output, which is compared with the reference. */
void ft_trial_output(ft_trial *trial, filtra_tensor *x);

/** How to tune; 0 means the default given with each field. */
typedef struct ft_tuner_options {
  int rounds;             /* times that each candidate is timed; 0: 9 */
  double tolerance;       /* relative to the largest value of the reference's output; 0: 2e-4 */
  double margin;          /* by which a candidate must beat the op's own choice; 0: 0.03 */
  const char *journal;    /* file that names the current candidate; NULL: none */
  const ft_tuning *known; /* answers the problem's questions of other families; NULL: none */
  /** For tests: configurations in addition to those of the table. */
  const ft_configuration *extra;
  size_t extra_count;
} ft_tuner_options;

/** Result for one configuration. */
typedef struct ft_tuner_candidate {
  ft_configuration configuration;
  double best, median; /* seconds; 0: not timed */
  int runs;
  char why[FT_TUNING_REASON]; /* why it was refused; "": it was not */
} ft_tuner_candidate;

typedef struct ft_tuner_result {
  ft_tuner_candidate *candidates; /* the first is the op's own choice */
  size_t count;
  size_t winner;
} ft_tuner_result;

/** Tries the configurations of the table that are usable for device and problem and that `entry`
 * does not refuse. A configuration that does not compile, or whose results differ from the
 * reference on the problem or on a small odd one, is refused in `entry`. The others are timed in
 * turns. The one with the smallest median wins if its best and median are below those of the op's
 * own choice by the margin, also when these two are timed once more; otherwise the op's own choice
 * stays. Caller frees result->candidates, also on failure. */
filtra_status ft_tune(filtra_device *dev, const ft_tuning_question *q, const ft_tuner_options *o,
                      ft_tuning_entry *entry, ft_tuner_result *result);

/** Path of this process's journal, beside the tuning file `path`; caller frees; NULL when out of
 * memory. */
char *ft_tuner_journal(const char *path);
/** Adds to `tuning` the refusals in journals beside `path` whose processes died, and removes these
 * journals. */
filtra_status ft_tuner_recover(const filtra_device *dev, const char *path, ft_tuning *tuning);

#endif
