/* Standardises features: each to mean 0 and variance 1 over all time steps, or pixels, of the
 * training split. */
#include "base/memory.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>

/* sums[f] += (x_f - center_f)^power over the split. */
static uint64_t add_powers(const ft_split *split, uint32_t features, const double *center,
                           int power, double *sums) {
  const ft_samples *samples = split->samples;
  uint64_t steps = 0;
  for (size_t i = 0; i < split->count; i++) {
    const ft_sample_row *row = &samples->rows[split->rows ? split->rows[i] : i];
    for (uint32_t t = 0; t < row->length; t++)
      for (uint32_t f = 0; f < features; f++) {
        size_t at = row->first + (size_t)t * features + f;
        double x = (samples->bytes ? samples->bytes[at] : samples->values[at]) - center[f];
        sums[f] += power == 2 ? x * x : x;
      }
    steps += row->length;
  }
  return steps;
}

filtra_status ft_standardise(filtra_dataset *ds) {
  uint32_t features = ds->info.features;
  filtra_split from = FILTRA_TRAIN; /* what has no training split stands for itself */
  while (from < FILTRA_TEST && ds->splits[from].count == 0)
    from++;
  const ft_split *split = &ds->splits[from];
  double *mean = ft_calloc(3 * (size_t)features, sizeof *mean);
  ds->feature_scale = ft_calloc(features, sizeof *ds->feature_scale);
  ds->feature_offset = ft_calloc(features, sizeof *ds->feature_offset);
  if (!mean || !ds->feature_scale || !ds->feature_offset) {
    free(mean);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  double *squares = mean + features, *zero = squares + features;
  uint64_t steps = add_powers(split, features, zero, 1, mean);
  for (uint32_t f = 0; f < features && steps; f++)
    mean[f] /= (double)steps;
  add_powers(split, features, mean, 2, squares);
  for (uint32_t f = 0; f < features; f++) {
    double deviation = steps > 1 ? sqrt(squares[f] / (double)(steps - 1)) : 0.0;
    double scale = deviation > 0.0 ? 1.0 / deviation : 1.0; /* a constant becomes 0 */
    ds->feature_scale[f] = (float)scale;
    ds->feature_offset[f] = (float)(-mean[f] * scale);
  }
  free(mean);
  return FILTRA_OK;
}
