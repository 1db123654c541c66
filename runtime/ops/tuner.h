/* The tuner: an op's problem alone on a graph, in each configuration of its table; checked against
 * the op's plainest way, then timed. */
#ifndef FT_OPS_TUNER_H
#define FT_OPS_TUNER_H

#include "graph/graph.h"
#include "ops/tuning.h"

/** How to tune; zero means the default given with each field. */
typedef struct ft_tuner_options {
  int rounds;             /* times that each candidate is timed; 0: 9 */
  double tolerance;       /* of the largest value of the reference's output; 0: 2e-4 */
  double margin;          /* by which the op's own choice must be beaten; 0: 0.03 */
  const char *journal;    /* file that names the candidate being tried; NULL: none */
  const ft_tuning *known; /* answers the problem's questions of other families; NULL: none */
  /** Of tests: configurations beside those of the table. */
  const ft_configuration *extra;
  size_t extra_count;
} ft_tuner_options;

/** What became of one configuration. */
typedef struct ft_tuner_candidate {
  ft_configuration configuration;
  double best, median; /* seconds; 0: not timed */
  int runs;
  char why[FT_TUNING_REASON]; /* it was refused; "": it was not */
} ft_tuner_candidate;

typedef struct ft_tuner_result {
  ft_tuner_candidate *candidates; /* the first is what the op takes by itself */
  size_t count;
  size_t winner;
} ft_tuner_result;

/** Tries the configurations of the table that device and problem can do with and that `entry` does
 * not refuse. One that does not compile, or whose results are not the reference's on the problem
 * and on a small odd one beside it, is refused in `entry`. The others are timed in turns. The one
 * of the least median wins if best and median are below those of the op's own choice by the margin,
 * also when these two are timed once more; else the op's own choice stays. The caller frees
 * result->candidates, also on failure. */
filtra_status ft_tune(filtra_device *dev, const ft_tuning_question *q, const ft_tuner_options *o,
                      ft_tuning_entry *entry, ft_tuner_result *result);

/** Where this process's journal lies beside the tuning file `path`; caller frees; NULL when out of
 * memory. */
char *ft_tuner_journal(const char *path);
/** Adds to `tuning` what journals beside `path` say of processes that died, and removes them. */
filtra_status ft_tuner_recover(const filtra_device *dev, const char *path, ft_tuning *tuning);

#endif
