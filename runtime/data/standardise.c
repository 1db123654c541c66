#include "base/memory.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>

/* Mean and sum of squared deviations, one number at a time (Welford 1962). */
typedef struct moments {
  double count, mean, squares;
} moments;

/* Missing numbers (NaN) do not count. */
static void take_row(const ft_samples *samples, const ft_sample_row *row, uint32_t width,
                     moments *of) {
  for (size_t i = 0; i < (size_t)row->length * width; i++) {
    moments *m = &of[i % width];
    double x = samples->bytes ? samples->bytes[row->first + i] : samples->values[row->first + i];
    if (isnan(x)) continue;
    double apart = x - m->mean;
    m->count += 1.0;
    m->mean += apart / m->count;
    m->squares += apart * (x - m->mean);
  }
}

/* 0 where a feature is constant but for rounding. */
static double scale_of(const moments *m) {
  double deviation = m->count > 1.0 ? sqrt(m->squares / (m->count - 1.0)) : 0.0;
  return deviation > 1e-9 * fabs(m->mean) ? 1.0 / (deviation + 2.2e-16) : 0.0;
}

/* In place, where an offset as float would cost digits of series with a large mean. */
static void apply(ft_samples *samples, uint32_t width, const moments *of, const double *scale) {
  for (size_t i = 0; i < samples->value_count; i++) {
    size_t k = i % width;
    float x = samples->values[i];
    samples->values[i] = isnan(x) ? 0.0f : (float)(((double)x - of[k].mean) * scale[k]);
  }
}

static filtra_status keep_for_bytes(filtra_dataset *ds, const moments *of, const double *scale) {
  uint32_t width = ds->info.features;
  ds->feature_scale = ft_calloc(width, sizeof *ds->feature_scale);
  ds->feature_offset = ft_calloc(width, sizeof *ds->feature_offset);
  if (!ds->feature_scale || !ds->feature_offset) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t k = 0; k < width; k++) {
    ds->feature_scale[k] = (float)scale[k];
    ds->feature_offset[k] = (float)(-of[k].mean * scale[k]);
  }
  return FILTRA_OK;
}

static filtra_status standardise(filtra_dataset *ds, moments *of, double *scale) {
  uint32_t width = ds->info.features;
  filtra_split split = FILTRA_TRAIN;
  while (split < FILTRA_TEST && ds->splits[split].count == 0)
    split++;
  const ft_split *s = &ds->splits[split];
  for (size_t i = 0; i < s->count; i++)
    take_row(s->samples, &s->samples->rows[s->rows ? s->rows[i] : i], width, of);
  for (uint32_t k = 0; k < width; k++)
    scale[k] = scale_of(&of[k]);
  if (s->count > 0 && s->samples->bytes) return keep_for_bytes(ds, of, scale);
  for (int i = 0; i < FILTRA_SPLITS; i++)
    apply(&ds->samples[i], width, of, scale);
  return FILTRA_OK;
}

filtra_status ft_standardise(filtra_dataset *ds) {
  moments *of = ft_calloc(ds->info.features, sizeof *of);
  double *scale = ft_calloc(ds->info.features, sizeof *scale);
  filtra_status status = of && scale ? standardise(ds, of, scale) : FILTRA_ERROR_HOST_MEMORY;
  free(of);
  free(scale);
  return status;
}
