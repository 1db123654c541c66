/* What several runs of each method say of the methods. */
#ifndef FILTRA_STATISTICS_H
#define FILTRA_STATISTICS_H

#include <stddef.h>

/** NaN of no values. */
double statistics_mean(const double *values, size_t count);
/** Of the population that these are a sample of (divided by count - 1); NaN of fewer than two. */
double statistics_deviation(const double *values, size_t count);

/** Ranks from 1, the smallest value's, into `ranks`; equal values share the mean of theirs. NaN has
 * rank NaN. */
void statistics_ranks(const double *values, size_t count, double *ranks);

enum { STATISTICS_MOST_PAIRS = 512 };

/** Wilcoxon's signed-rank test of paired differences. */
typedef struct statistics_wilcoxon {
  size_t pairs;       /* without those whose difference is 0, which are left out */
  double plus, minus; /* sums of the ranks of positive and of negative differences */
  double p;           /* two-sided, from the exact distribution over all signs; NaN of no pairs */
} statistics_wilcoxon;

/** At most STATISTICS_MOST_PAIRS differences count; p of more is NaN. */
statistics_wilcoxon statistics_test(const double *differences, size_t count);

#endif
