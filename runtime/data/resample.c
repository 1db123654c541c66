/* Bicubic resampling of a part of an image, as Pillow does it to one that was cropped: when
 * shrinking, the filter is widened by the same factor, so that every pixel of the part counts, and
 * none beyond. An output's weights add up to 1. Called by image.c and augment.c. */
#include "base/memory.h"
#include "data/image.h"

#include <math.h>
#include <stdlib.h>

/* The cubic kernel (Keys 1981) with a = -0.5; 0 for |x| >= 2. */
static double cubic(double x) {
  const double a = -0.5;
  x = fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

/* Weights along one axis: output i is the sum of weights[i, k] times input first[i] + k. */
typedef struct taps {
  uint32_t outputs, most; /* outputs; most weights of one output */
  uint32_t *first, *count;
  float *weights; /* [outputs, most] */
} taps;

static void free_taps(taps *t) {
  free(t->first);
  free(t->count);
  free(t->weights);
}

static void fill_output(taps *t, uint32_t i, double begin, double scale, uint32_t low,
                        uint32_t high) {
  double wide = scale > 1.0 ? scale : 1.0, reach = 2.0 * wide, sum = 0.0;
  double centre = begin + ((double)i + 0.5) * scale;
  double from = floor(centre - reach + 0.5), to = floor(centre + reach + 0.5);
  uint32_t first = from > (double)low ? (uint32_t)from : low;
  uint32_t end = to < (double)high ? (uint32_t)to : high;
  float *weights = t->weights + (size_t)i * t->most;
  t->first[i] = first;
  t->count[i] = end - first;
  for (uint32_t k = first; k < end; k++)
    sum += cubic(((double)k + 0.5 - centre) / wide);
  for (uint32_t k = first; k < end; k++)
    weights[k - first] = (float)(cubic(((double)k + 0.5 - centre) / wide) / sum);
}

static filtra_status make_taps(double begin, double length, uint32_t side, uint32_t outputs,
                               taps *t) {
  double scale = length / (double)outputs, wide = scale > 1.0 ? scale : 1.0;
  double low = floor(begin), high = ceil(begin + length);
  *t = (taps){.outputs = outputs, .most = (uint32_t)(4.0 * wide) + 2};
  t->first = ft_calloc(outputs, sizeof *t->first);
  t->count = ft_calloc(outputs, sizeof *t->count);
  t->weights = ft_calloc((size_t)outputs * t->most, sizeof *t->weights);
  if (!t->first || !t->count || !t->weights) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < outputs; i++)
    fill_output(t, i, begin, scale, low > 0.0 ? (uint32_t)low : 0,
                high < (double)side ? (uint32_t)high : side);
  return FILTRA_OK;
}

/* Resamples rows [first, first + rows) of the image along x. */
static void resample_rows(const ft_image *from, const taps *t, uint32_t first, uint32_t rows,
                          float *to) {
  uint32_t channels = from->channels;
  for (uint32_t y = 0; y < rows; y++) {
    const uint8_t *line = from->pixels + (size_t)(first + y) * from->width * channels;
    for (uint32_t i = 0; i < t->outputs; i++)
      for (uint32_t c = 0; c < channels; c++) {
        const float *weights = t->weights + (size_t)i * t->most;
        float sum = 0.0f;
        for (uint32_t k = 0; k < t->count[i]; k++)
          sum += weights[k] * (float)line[(size_t)(t->first[i] + k) * channels + c];
        *to++ = sum;
      }
  }
}

static uint8_t rounded(float x) {
  return (uint8_t)(x <= 0.0f ? 0.0f : x >= 255.0f ? 255.0f : x + 0.5f);
}

static void resample_columns(const float *from, const taps *t, uint32_t first, ft_image *to) {
  size_t row = (size_t)to->width * to->channels;
  for (uint32_t y = 0; y < t->outputs; y++)
    for (size_t x = 0; x < row; x++) {
      const float *weights = t->weights + (size_t)y * t->most;
      float sum = 0.0f;
      for (uint32_t k = 0; k < t->count[y]; k++)
        sum += weights[k] * from[(size_t)(t->first[y] - first + k) * row + x];
      to->pixels[y * row + x] = rounded(sum);
    }
}

filtra_status ft_image_resample(const ft_image *from, ft_box box, ft_image *to) {
  taps across = {0}, down = {0};
  float *middle = NULL;
  to->channels = from->channels;
  to->pixels = NULL;
  filtra_status status = make_taps(box.x, box.width, from->width, to->width, &across);
  if (!status) status = make_taps(box.y, box.height, from->height, to->height, &down);
  if (!status) {
    uint32_t first = down.first[0], last = to->height - 1;
    uint32_t rows = down.first[last] + down.count[last] - first;
    size_t row = (size_t)to->width * to->channels;
    middle = ft_calloc(rows * row, sizeof *middle);
    to->pixels = ft_calloc(to->height, row);
    status = middle && to->pixels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
    if (!status) resample_rows(from, &across, first, rows, middle);
    if (!status) resample_columns(middle, &down, first, to);
  }
  free(middle);
  free_taps(&across);
  free_taps(&down);
  if (status) {
    free(to->pixels);
    to->pixels = NULL;
  }
  return status;
}

ft_box ft_image_middle(const ft_image *image, double share) {
  double side = share * (double)(image->height < image->width ? image->height : image->width);
  return (ft_box){((double)image->width - side) / 2.0, ((double)image->height - side) / 2.0, side,
                  side};
}
