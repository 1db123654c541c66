/* mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019), with one fraction per batch, timm's
 * default. */
#include "data/augment.h"

#include <math.h>

/* Draws from Gamma(a) with scale 1 (Marsaglia & Tsang 2000); for a < 1 as Gamma(a + 1) U^(1/a). */
static double draw_gamma(ft_rng *rng, double a) {
  double boost = 1.0;
  if (a < 1.0) {
    boost = pow(1.0 - ft_rng_double(rng), 1.0 / a);
    a += 1.0;
  }
  const double d = a - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    double x = (double)ft_rng_normal(rng), v = 1.0 + c * x;
    if (v <= 0.0) continue;
    v = v * v * v;
    double u = 1.0 - ft_rng_double(rng);
    if (log(u) < 0.5 * x * x + d - d * v + d * log(v)) return boost * d * v;
  }
}

double ft_rng_beta(ft_rng *rng, double a) {
  double x = draw_gamma(rng, a), y = draw_gamma(rng, a);
  return x + y > 0.0 ? x / (x + y) : 0.5; /* for a small `a` both can round to 0 */
}

/* mixup of pairs (i, count - 1 - i): each image keeps `share` of itself, the rest is the
 * other's. */
static void blend(ft_mixture *m, double share) {
  const float own = (float)share, rest = (float)(1.0 - share);
  size_t numbers = (size_t)m->height * m->width * m->channels;
  for (uint32_t i = 0; i < m->count / 2; i++) {
    float *a = m->features + i * m->stride, *b = m->features + (m->count - 1 - i) * m->stride;
    for (size_t k = 0; k < numbers; k++) {
      float x = a[k], y = b[k];
      a[k] = own * x + rest * y;
      b[k] = own * y + rest * x;
    }
  }
}

/* CutMix: swaps a randomly centred box, clipped to the image; returns the fraction each image
 * keeps. */
static double exchange_box(ft_mixture *m, ft_rng *rng, double share) {
  double side = sqrt(1.0 - share);
  int64_t height = m->height, width = m->width;
  int64_t h = (int64_t)((double)height * side), w = (int64_t)((double)width * side);
  int64_t y = (int64_t)ft_rng_below(rng, m->height), x = (int64_t)ft_rng_below(rng, m->width);
  int64_t top = y - h / 2 > 0 ? y - h / 2 : 0, left = x - w / 2 > 0 ? x - w / 2 : 0;
  int64_t bottom = y + h / 2 < height ? y + h / 2 : height;
  int64_t right = x + w / 2 < width ? x + w / 2 : width;
  for (uint32_t i = 0; i < m->count / 2; i++) {
    float *a = m->features + i * m->stride, *b = m->features + (m->count - 1 - i) * m->stride;
    for (int64_t r = top; r < bottom; r++)
      for (int64_t k = (r * width + left) * m->channels; k < (r * width + right) * m->channels;
           k++) {
        float swapped = a[k];
        a[k] = b[k];
        b[k] = swapped;
      }
  }
  return 1.0 - (double)((bottom - top) * (right - left)) / (double)(height * width);
}

/* Sets labels and fractions; the label of the larger fraction is the one that accuracy counts. */
static void share_labels(ft_mixture *m, double share) {
  for (uint32_t i = 0; i < m->size; i++) {
    m->other_labels[i] = m->labels[i < m->count ? m->count - 1 - i : i];
    m->label_fractions[i] = (float)(share < 0.5 ? 1.0 - share : share);
  }
  for (uint32_t i = 0; i < m->count && share < 0.5; i++) {
    int32_t swapped = m->labels[i];
    m->labels[i] = m->other_labels[i];
    m->other_labels[i] = swapped;
  }
}

void ft_mix_batch(ft_mixture *m, const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                  uint64_t batch) {
  ft_rng rng = ft_rng_make(seed ^ ft_hash_text("mixture"), epoch << 32 | batch);
  const double probability = a->mixup_prob > 0.0f ? (double)a->mixup_prob : 1.0;
  double share = 1.0;
  if (ft_rng_double(&rng) < probability) {
    bool boxes = a->cutmix > 0.0f && (a->mixup == 0.0f || ft_rng_double(&rng) < 0.5);
    share = ft_rng_beta(&rng, (double)(boxes ? a->cutmix : a->mixup));
    if (boxes)
      share = exchange_box(m, &rng, share);
    else
      blend(m, share);
  }
  share_labels(m, share);
}
