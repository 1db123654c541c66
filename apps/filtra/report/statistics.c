#include "statistics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

double statistics_mean(const double *values, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; i++)
    sum += values[i];
  return count ? sum / (double)count : (double)NAN;
}

double statistics_deviation(const double *values, size_t count) {
  double mean = statistics_mean(values, count), squares = 0.0;
  for (size_t i = 0; i < count; i++)
    squares += (values[i] - mean) * (values[i] - mean);
  return count > 1 ? sqrt(squares / (double)(count - 1)) : (double)NAN;
}

double statistics_tolerance(double largest) {
  return 1e-12 * largest;
}

/* k equal values, after `less` smaller ones, get the mean of ranks less + 1 .. less + k. */
void statistics_ranks(const double *values, size_t count, double tolerance, double *ranks) {
  for (size_t i = 0; i < count; i++) {
    size_t less = 0, equal = 0;
    for (size_t k = 0; k < count; k++) {
      less += values[k] < values[i] - tolerance;
      equal += fabs(values[k] - values[i]) <= tolerance;
    }
    ranks[i] = isnan(values[i]) ? (double)NAN : (double)less + 0.5 * (double)(equal + 1);
  }
}

/* The probability that the sum of ranks with a plus is at most `most`, if each sign is random.
 * Equal values may have half-integer ranks, so sums are counted in halves. */
static double probability_up_to(const double *ranks, size_t count, double most) {
  size_t total = count * (count + 1);
  double *share = calloc(total + 1, sizeof *share), sum = 0.0;
  if (!share) return (double)NAN;
  share[0] = 1.0;
  for (size_t i = 0; i < count; i++) {
    size_t rank = (size_t)(2.0 * ranks[i] + 0.5);
    for (size_t s = total + 1; s-- > 0;)
      share[s] = 0.5 * (share[s] + (s >= rank ? share[s - rank] : 0.0));
  }
  for (size_t s = 0; s <= total && (double)s <= 2.0 * most + 0.25; s++)
    sum += share[s];
  free(share);
  return sum;
}

statistics_wilcoxon statistics_test(const double *differences, size_t count, double tolerance) {
  statistics_wilcoxon t = {.p = (double)NAN};
  double sizes[STATISTICS_MOST_PAIRS], ranks[STATISTICS_MOST_PAIRS];
  bool positive[STATISTICS_MOST_PAIRS];
  for (size_t i = 0; i < count; i++) {
    if (!(fabs(differences[i]) > tolerance)) continue; /* NaN, too */
    if (t.pairs == STATISTICS_MOST_PAIRS) return t;
    positive[t.pairs] = differences[i] > 0.0;
    sizes[t.pairs++] = fabs(differences[i]);
  }
  statistics_ranks(sizes, t.pairs, tolerance, ranks);
  for (size_t i = 0; i < t.pairs; i++)
    *(positive[i] ? &t.plus : &t.minus) += ranks[i];
  if (t.pairs) t.p = fmin(1.0, 2.0 * probability_up_to(ranks, t.pairs, fmin(t.plus, t.minus)));
  return t;
}
