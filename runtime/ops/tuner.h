/* The tuner: records an op's problem alone on a graph, in each configuration of the op's table,
 * compares its results with those of the plainest kernel, and times it. */
#ifndef FT_OPS_TUNER_H
#define FT_OPS_TUNER_H

#include "graph/graph.h"
#include "ops/tuning.h"

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
