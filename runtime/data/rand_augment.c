/* RandAugment (Cubuk et al. 2020) with the operations and levels of timm, as DeiT uses them. Called
 * by augment.c. */
#include "base/memory.h"
#include "data/augment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 256 };

static uint8_t rounded(double x) {
  return (uint8_t)(x <= 0.0 ? 0.0 : x >= 255.0 ? 255.0 : x + 0.5);
}

static size_t bytes_of(const ft_image *image) {
  return (size_t)image->height * image->width * image->channels;
}

/* ---- operations on single values, by a table ---- */

typedef uint8_t value_table[VALUES];

static void look_up(ft_image *image, uint32_t channel, const value_table table) {
  for (size_t i = channel; i < bytes_of(image); i += image->channels)
    image->pixels[i] = table[image->pixels[i]];
}

static void count_values(const ft_image *image, uint32_t channel, uint64_t count[VALUES]) {
  memset(count, 0, VALUES * sizeof *count);
  for (size_t i = channel; i < bytes_of(image); i += image->channels)
    count[image->pixels[i]]++;
}

static void stretch(const uint64_t count[VALUES], value_table table) {
  int low = 0, high = VALUES - 1;
  while (low < high && !count[low])
    low++;
  while (high > low && !count[high])
    high--;
  for (int i = 0; i < VALUES; i++)
    table[i] = high > low ? rounded(255.0 * (i - low) / (double)(high - low)) : (uint8_t)i;
}

/* Equalizes as Pillow does: counts the pixels below a value, in steps of 1/255 of all pixels except
 * those of the highest value. */
static void equalize(const uint64_t count[VALUES], value_table table) {
  uint64_t all = 0, last = 0, below;
  for (int i = 0; i < VALUES; i++) {
    all += count[i];
    if (count[i]) last = count[i];
  }
  uint64_t step = (all - last) / (VALUES - 1);
  below = step / 2;
  for (int i = 0; i < VALUES; i++) {
    uint64_t to = step ? below / step : (uint64_t)i;
    table[i] = (uint8_t)(to < VALUES ? to : VALUES - 1);
    below += count[i];
  }
}

static uint8_t value_of(ft_image_operation operation, double level, int x) {
  switch (operation) {
  case FT_IMAGE_INVERT:
    return (uint8_t)(255 - x);
  case FT_IMAGE_POSTERIZE: {
    int bits = 4 - (int)(level * 4.0);
    return (uint8_t)(x & ~(0xff >> bits));
  }
  case FT_IMAGE_SOLARIZE:
    return (uint8_t)(x < 256 - (int)(level * 256.0) ? x : 255 - x);
  case FT_IMAGE_SOLARIZE_ADD: {
    int more = x + (int)(level * 110.0);
    return (uint8_t)(x >= 128 ? x : more < 255 ? more : 255);
  }
  default:
    return (uint8_t)x;
  }
}

static void map_values(ft_image *image, ft_image_operation operation, double level) {
  for (uint32_t c = 0; c < image->channels; c++) {
    uint64_t count[VALUES];
    value_table table;
    count_values(image, c, count);
    if (operation == FT_IMAGE_AUTO_CONTRAST)
      stretch(count, table);
    else if (operation == FT_IMAGE_EQUALIZE)
      equalize(count, table);
    else
      for (int x = 0; x < VALUES; x++)
        table[x] = value_of(operation, level, x);
    look_up(image, c, table);
  }
}

/* ---- blending with another image, or away from it ---- */

/* Luminance as in Pillow, ITU-R 601. */
static double luminance(const uint8_t *pixel, uint32_t channels) {
  if (channels == 1) return pixel[0];
  return floor((19595.0 * pixel[0] + 38470.0 * pixel[1] + 7471.0 * pixel[2] + 32768.0) / 65536.0);
}

static double mean_luminance(const ft_image *image) {
  size_t count = (size_t)image->height * image->width;
  double sum = 0.0;
  for (size_t i = 0; i < count; i++)
    sum += luminance(image->pixels + i * image->channels, image->channels);
  return floor(sum / (double)count + 0.5);
}

/* The mean of 3 x 3 pixels, with weight 5 for the centre; pixels on the edge stay. */
static double blurred(const ft_image *image, uint32_t y, uint32_t x, uint32_t c) {
  size_t row = (size_t)image->width * image->channels;
  const uint8_t *at = image->pixels + y * row + (size_t)x * image->channels + c;
  if (!y || !x || y + 1 == image->height || x + 1 == image->width) return *at;
  double sum = 4.0 * (double)*at;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      sum += (double)at[(ptrdiff_t)dy * (ptrdiff_t)row + (ptrdiff_t)dx * (int)image->channels];
  return floor(sum / 13.0 + 0.5);
}

/* other + factor (x - other), with factor 1 + 0.9 level: level 0 leaves x, negative ones blend with
 * `other`, positive ones extrapolate. */
static filtra_status depart(ft_image *image, ft_image_operation operation, double level) {
  uint8_t *to = ft_calloc(bytes_of(image), 1);
  if (!to) return FILTRA_ERROR_HOST_MEMORY;
  double factor = 1.0 + 0.9 * level, other = 0.0;
  if (factor < 0.1) factor = 0.1;
  if (operation == FT_IMAGE_CONTRAST) other = mean_luminance(image);
  for (uint32_t y = 0; y < image->height; y++)
    for (uint32_t x = 0; x < image->width; x++) {
      size_t at = ((size_t)y * image->width + x) * image->channels;
      if (operation == FT_IMAGE_COLOR) other = luminance(image->pixels + at, image->channels);
      for (uint32_t c = 0; c < image->channels; c++) {
        if (operation == FT_IMAGE_SHARPNESS) other = blurred(image, y, x, c);
        to[at + c] = rounded(other + factor * ((double)image->pixels[at + c] - other));
      }
    }
  memcpy(image->pixels, to, bytes_of(image));
  free(to);
  return FILTRA_OK;
}

/* ---- geometry ---- */

/* Samples bilinearly; pixels outside are `fill`. */
static double sample(const ft_image *image, double x, double y, uint32_t c, uint8_t fill) {
  double left = floor(x), top = floor(y), sum = 0.0;
  for (int dy = 0; dy <= 1; dy++)
    for (int dx = 0; dx <= 1; dx++) {
      double px = left + dx, py = top + dy, value = fill;
      if (px >= 0.0 && py >= 0.0 && px < (double)image->width && py < (double)image->height)
        value = image->pixels[((size_t)py * image->width + (size_t)px) * image->channels + c];
      sum += value * (1.0 - fabs(x - px)) * (1.0 - fabs(y - py));
    }
  return sum;
}

/* Maps a pixel p of the result to m (p - middle) + middle + (tx, ty) of the source. */
typedef struct affine {
  double xx, xy, yx, yy, tx, ty;
} affine;

static affine affine_of(const ft_image *image, ft_image_operation operation, double level) {
  const double pi = 3.14159265358979323846;
  affine m = {.xx = 1.0, .yy = 1.0};
  double x = 0.5 * (double)image->width, y = 0.5 * (double)image->height;
  switch (operation) {
  case FT_IMAGE_ROTATE:
    m.xx = m.yy = cos(level * pi / 6.0);
    m.yx = sin(level * pi / 6.0);
    m.xy = -m.yx;
    break;
  case FT_IMAGE_SHEAR_X: /* about the upper left corner, as in Pillow */
    m.xy = 0.3 * level;
    m.tx = m.xy * y;
    break;
  case FT_IMAGE_SHEAR_Y:
    m.yx = 0.3 * level;
    m.ty = m.yx * x;
    break;
  case FT_IMAGE_TRANSLATE_X:
    m.tx = 0.45 * level * (double)image->width;
    break;
  default:
    m.ty = 0.45 * level * (double)image->height;
  }
  return m;
}

static filtra_status warp(ft_image *image, const affine *m, const uint8_t *fill) {
  uint8_t *to = ft_calloc(bytes_of(image), 1), *at = to;
  if (!to) return FILTRA_ERROR_HOST_MEMORY;
  double mx = 0.5 * (double)image->width, my = 0.5 * (double)image->height;
  for (uint32_t y = 0; y < image->height; y++)
    for (uint32_t x = 0; x < image->width; x++) {
      double dx = (double)x + 0.5 - mx, dy = (double)y + 0.5 - my;
      double from_x = m->xx * dx + m->xy * dy + mx + m->tx - 0.5;
      double from_y = m->yx * dx + m->yy * dy + my + m->ty - 0.5;
      for (uint32_t c = 0; c < image->channels; c++)
        *at++ = rounded(sample(image, from_x, from_y, c, fill[c]));
    }
  memcpy(image->pixels, to, bytes_of(image));
  free(to);
  return FILTRA_OK;
}

/* ---- all operations ---- */

filtra_status ft_image_operate(ft_image *image, ft_image_operation operation, double level,
                               const uint8_t *fill) {
  if (operation >= FT_IMAGE_COLOR && operation <= FT_IMAGE_SHARPNESS)
    return depart(image, operation, level);
  if (operation == FT_IMAGE_ROTATE || operation >= FT_IMAGE_SHEAR_X) {
    affine m = affine_of(image, operation, level);
    return warp(image, &m, fill);
  }
  map_values(image, operation, fabs(level));
  return FILTRA_OK;
}

filtra_status ft_rand_augment(ft_rng *rng, const filtra_augmentation *a, const uint8_t *fill,
                              ft_image *image) {
  for (uint32_t i = 0; i < a->rand_augment; i++) {
    ft_image_operation operation = (ft_image_operation)ft_rng_below(rng, FT_IMAGE_OPERATIONS);
    double magnitude = (double)a->rand_augment_magnitude +
                       (double)a->rand_augment_std * (double)ft_rng_normal(rng);
    double level = magnitude < 0.0 ? 0.0 : magnitude > 10.0 ? 1.0 : magnitude / 10.0;
    bool back = ft_rng_double(rng) < 0.5, applied = ft_rng_double(rng) < 0.5;
    if (applied) FT_TRY(ft_image_operate(image, operation, back ? -level : level, fill));
  }
  return FILTRA_OK;
}
