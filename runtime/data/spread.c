/* Finds features and targets whose numbers differ too little to become floats, as times in seconds
 * or large offsets do. Called by number_form.c, series.c, ts.c, numpy.c and tu.c. */
#include "data/spread.h"

#include "data/dataset.h"

#include <math.h>

void ft_spread_add(ft_spread *s, double number) {
  if (isnan(number)) return;
  s->low = s->begun ? fmin(s->low, number) : number;
  s->high = s->begun ? fmax(s->high, number) : number;
  s->rounded = s->rounded || (double)(float)number != number;
  s->begun = true;
}

filtra_status ft_spread_check(const ft_spread *s, const char *path, const char *feature) {
  const double largest = fmax(fabs(s->low), fabs(s->high));
  const bool constant = s->high == s->low && !s->cut;
  if (!s->rounded || constant || s->high - s->low >= largest * 0x1p-18) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: %s holds numbers from %.17g to %.17g, which 32-bit numbers hardly tell "
                 "apart; subtract a constant from them",
                 path, feature, s->low, s->high);
}

filtra_status ft_spread_check_targets(const ft_spread *targets, const filtra_dataset *dataset,
                                      const char *path) {
  return dataset->fit->values ? FILTRA_OK : ft_spread_check(targets, path, "the target");
}
