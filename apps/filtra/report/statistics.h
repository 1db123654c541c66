/* Statistics over several runs of each method. */
#ifndef FILTRA_STATISTICS_H
#define FILTRA_STATISTICS_H

#include <stddef.h>

/** NaN for no values. */
double statistics_mean(const double *values, size_t count);
/** Standard deviation of the population, estimated from a sample (divided by count - 1); NaN for
 * fewer than two. */
double statistics_deviation(const double *values, size_t count);

/** What rounding can make of two equal results of scores that are at most `largest`, in size. */
double statistics_tolerance(double largest);

/** Ranks from 1, for the smallest value; values that differ by at most `tolerance` share their mean
 * rank. NaN has rank NaN. */
void statistics_ranks(const double *values, size_t count, double tolerance, double *ranks);

enum { STATISTICS_MOST_PAIRS = 512 };

/** Wilcoxon's signed-rank test of paired differences. */
typedef struct statistics_wilcoxon {
  size_t pairs;       /* pairs with a difference above the tolerance */
  double plus, minus; /* sums of ranks of positive and negative differences */
  double p;           /* two-sided, exact over all signs; NaN without pairs */
} statistics_wilcoxon;

/** With more than STATISTICS_MOST_PAIRS differences, p is NaN. */
statistics_wilcoxon statistics_test(const double *differences, size_t count, double tolerance);

#endif
