/* Finds features and targets whose numbers differ too little to become floats, as times in seconds
 * or large offsets do. Called by number_form.c, series.c, ts.c, numpy.c and tu.c. */
#include "data/spread.h"

#include "base/rng.h"
#include "data/dataset.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a number in the sample, or not: Vitter (1985), algorithm R, with a hash for the chance. */
static void keep(ft_spread *s, double number) {
  uint64_t at = s->rounded++;
  if (at >= FT_SPREAD_SAMPLE) at = ft_hash_bytes(ft_hash_text("spread"), &at, sizeof at) % (at + 1);
  if (at < FT_SPREAD_SAMPLE) s->sample[at] = number;
}

void ft_spread_add(ft_spread *s, double number) {
  if (isnan(number)) return;
  s->low = s->count ? fmin(s->low, number) : number;
  s->high = s->count ? fmax(s->high, number) : number;
  s->count++;
  if ((double)(float)number != number) keep(s, number);
}

/* Whether there are numbers from low to high within 64 steps of a float. */
static bool is_narrow(double low, double high) {
  return high - low < fmax(fabs(low), fabs(high)) * 0x1p-18;
}

static int compare_numbers(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Finds numbers that one outlier, such as 0 for "never", hides from is_narrow. Looks at those
 * numbers of the sample that become the same float as another one. They are too close if there are
 * 8 or more, if they are half of the different numbers or more, if each float stands for four or
 * more of them on average, and if is_narrow holds for them alone. Ordinary data pass, since few of
 * their numbers share a float; so does noise around several levels. Doubles that differ in the last
 * bits only, as sums do, count as one. */
static bool has_cluster(const ft_spread *s, double *low, double *high) {
  const size_t count = s->rounded < FT_SPREAD_SAMPLE ? s->rounded : FT_SPREAD_SAMPLE;
  double v[FT_SPREAD_SAMPLE];
  size_t all = 0, merged = 0, floats = 0;
  memcpy(v, s->sample, count * sizeof *v);
  qsort(v, count, sizeof *v, compare_numbers);
  for (size_t i = 0; i < count; i++)
    if (!all || v[i] - v[all - 1] > fabs(v[i]) * 0x1p-45) v[all++] = v[i];
  for (size_t i = 0, end; i < all; i = end) {
    for (end = i + 1; end < all && (float)v[end] == (float)v[i];)
      end++;
    if (end - i < 2) continue;
    if (!merged) *low = v[i];
    *high = v[end - 1];
    merged += end - i;
    floats++;
  }
  return merged >= 8 && merged * 2 >= all && merged >= floats * 4 && is_narrow(*low, *high);
}

filtra_status ft_spread_check(const ft_spread *s, const char *path, const char *feature) {
  const double largest = fmax(fabs(s->low), fabs(s->high));
  const bool constant = s->high == s->low && !s->twins;
  double low = s->low, high = s->high;
  if (s->twins * 2 > s->count)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: %s holds numbers of so many digits, as ids have, that different ones are "
                   "equal as 64-bit numbers, such as %.17g; leave it out, or subtract a constant",
                   path, feature, s->twin);
  if (!s->rounded || constant) return FILTRA_OK;
  if (largest < (double)FLT_MIN)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: %s holds numbers from %.3g to %.3g, which are too small; 32-bit numbers "
                   "need one of at least 1.2e-38; multiply them by a constant",
                   path, feature, low, high);
  const bool narrow = is_narrow(low, high);
  if (!narrow && !has_cluster(s, &low, &high)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: %s holds numbers%s from %.17g to %.17g, which 32-bit numbers hardly tell "
                 "apart; subtract a constant from them",
                 path, feature, narrow ? "" : ", most of them", low, high);
}

filtra_status ft_spread_check_targets(const ft_spread *targets, const filtra_dataset *dataset,
                                      const char *path) {
  if (dataset->fit->values) return FILTRA_OK;
  if (targets->count > 1 && targets->low == targets->high && !targets->twins)
    ft_log(FILTRA_LOG_WARNING,
           "%s: the target is %g in all %llu samples: there is nothing to learn", path,
           targets->low, (unsigned long long)targets->count);
  return ft_spread_check(targets, path, "the target");
}
