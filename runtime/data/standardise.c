/* Computes mean and deviation of features, and standardises by them. Called by dataset.c and
 * arrays.c when a dataset is complete, and by train/predictor.c for single inputs. */
#include "base/memory.h"
#include "data/image.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Running mean and sum of squared deviations (Welford 1962). */
typedef struct moments {
  double count, mean, squares;
} moments;

/* Adds a number; ignores missing ones (NaN). */
static void add_number(moments *m, double x) {
  if (isnan(x)) return;
  double apart = x - m->mean;
  m->count += 1.0;
  m->mean += apart / m->count;
  m->squares += apart * (x - m->mean);
}

static void sum_bytes(const uint8_t *bytes, size_t count, uint32_t width, moments *of) {
  for (size_t i = 0; i < count; i++)
    add_number(&of[i % width], (double)bytes[i]);
}

uint32_t ft_feature_count(const filtra_dataset *ds) {
  return ds->columns ? ds->columns : ds->info.features;
}

/* Adds a sample's features. Pixels in files are read now, and again in training. */
static filtra_status sum_row(const filtra_dataset *ds, const ft_samples *samples,
                             const ft_sample_row *row, moments *of) {
  uint32_t width = ft_feature_count(ds);
  size_t count = (size_t)row->length * ds->info.features;
  if (ft_samples_are_made(ds, samples)) {
    uint8_t *pixels;
    FT_TRY(ft_sample_pixels(ds, samples, row, &pixels));
    sum_bytes(pixels, count, width, of);
    free(pixels);
  } else if (samples->bytes) {
    sum_bytes(samples->bytes + row->first, count, width, of);
  } else {
    for (size_t i = 0; i < count; i++)
      add_number(&of[i % width], (double)samples->values[row->first + i]);
  }
  return FILTRA_OK;
}

/* 1 / deviation; 0 if a feature is constant up to rounding. */
static double scale_of(const moments *m) {
  double deviation = m->count > 1.0 ? sqrt(m->squares / (m->count - 1.0)) : 0.0;
  return deviation > 1e-9 * fabs(m->mean) ? 1.0 / deviation : 0.0;
}

/* Clamps to the largest float, since an infinity would end training. */
float ft_standard(double mean, double factor, float x) {
  if (isnan(x)) return 0.0f;
  double y = ((double)x - mean) * factor;
  return (float)(y > FLT_MAX ? FLT_MAX : y < -FLT_MAX ? -FLT_MAX : y);
}

float ft_standard_byte(double mean, double factor, uint8_t x) {
  float scale = (float)factor, offset = (float)(-mean * factor);
  return scale * (float)x + offset;
}

/* Standardises numbers in place. Multiplying and adding in float would lose digits if the mean is
 * large. */
static void apply_moments(const filtra_dataset *ds, ft_samples *samples) {
  const uint32_t width = ft_feature_count(ds);
  for (size_t i = 0; width && i < samples->value_count; i++) {
    size_t k = i % width;
    samples->values[i] =
        ft_standard(ds->feature_mean[k], ds->feature_factor[k], samples->values[i]);
  }
}

void ft_scale_bytes(const filtra_dataset *ds, const uint8_t *bytes, size_t count, float *features) {
  uint32_t width = ds->info.features;
  const float *scale = ds->feature_scale, *offset = ds->feature_offset;
  for (size_t i = 0; i < count; i++)
    features[i] = scale ? scale[i % width] * (float)bytes[i] + offset[i % width] : (float)bytes[i];
}

static filtra_status keep_for_bytes(filtra_dataset *ds) {
  uint32_t width = ds->info.features;
  ds->feature_scale = ft_calloc(width, sizeof *ds->feature_scale);
  ds->feature_offset = ft_calloc(width, sizeof *ds->feature_offset);
  if (!ds->feature_scale || !ds->feature_offset) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t k = 0; k < width; k++) {
    ds->feature_scale[k] = (float)ds->feature_factor[k];
    ds->feature_offset[k] = (float)(-ds->feature_mean[k] * ds->feature_factor[k]);
  }
  return FILTRA_OK;
}

static filtra_status measure(filtra_dataset *ds, const ft_split *s) {
  uint32_t width = ft_feature_count(ds);
  moments *of = ft_calloc(width, sizeof *of);
  if (!of) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < s->count && !status; i++)
    status = sum_row(ds, s->samples, &s->samples->rows[s->rows ? s->rows[i] : i], of);
  for (uint32_t k = 0; k < width; k++) {
    ds->feature_mean[k] = of[k].mean;
    ds->feature_factor[k] = scale_of(&of[k]);
  }
  free(of);
  return status;
}

void ft_fixed_moments(filtra_normalization kind, double mean[3], double factor[3]) {
  static const double means[2][3] = {{0.485, 0.456, 0.406}, {0.5, 0.5, 0.5}};
  static const double deviations[2][3] = {{0.229, 0.224, 0.225}, {0.5, 0.5, 0.5}};
  const int row = kind == FILTRA_NORMALIZE_HALF;
  for (int k = 0; k < 3; k++) {
    mean[k] = 255.0 * means[row][k];
    factor[k] = 1.0 / (255.0 * deviations[row][k]);
  }
}

filtra_status ft_standardise(filtra_dataset *ds, const ft_data_fit *fit) {
  uint32_t width = ft_feature_count(ds);
  filtra_split split = FILTRA_SPLIT_TRAIN;
  while (split < FILTRA_SPLIT_TEST && ds->splits[split].count == 0)
    split++;
  const ft_split *s = &ds->splits[split];
  ds->feature_mean = ft_calloc(width, sizeof *ds->feature_mean);
  ds->feature_factor = ft_calloc(width, sizeof *ds->feature_factor);
  if (!ds->feature_mean || !ds->feature_factor) return FILTRA_ERROR_HOST_MEMORY;
  if (fit->plain) {
    for (uint32_t k = 0; k < width; k++)
      ds->feature_factor[k] = 1.0;
  } else if (fit->features) {
    memcpy(ds->feature_mean, fit->mean, width * sizeof *fit->mean);
    memcpy(ds->feature_factor, fit->factor, width * sizeof *fit->factor);
  } else if (ds->normalize != FILTRA_NORMALIZE_DATA) {
    ft_fixed_moments(ds->normalize, ds->feature_mean, ds->feature_factor);
  } else {
    FT_TRY(measure(ds, s));
  }
  if (s->count > 0 && (s->samples->bytes || s->samples->files)) return keep_for_bytes(ds);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    apply_moments(ds, &ds->samples[i]);
  return FILTRA_OK;
}
