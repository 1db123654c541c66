/* Performer (Choromanski et al. 2021): softmax attention estimated by FAVOR+, positive features of
 * random directions that are orthogonal to each other; O(n m d). The directions are drawn with the
 * initial parameters, saved in files and not trained. */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

#include <math.h>

struct performer_options {
  int64_t features;
  float eps;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct performer_options, features, "random_features", 0, 0, 4096,
               "Number of random features m. 0: d ln d, rounded up.", .usual = "d ln d"),
    FT_FLOAT_KEY(struct performer_options, eps, "eps", 1e-4, 1e-12, 1.0, "Added to each feature."),
};

/* About d ln d features estimate a head's attention well, at any length. */
static int64_t feature_count(const struct performer_options *o, int64_t head_width) {
  double d = (double)head_width;
  if (o->features) return o->features;
  return head_width > 2 ? (int64_t)ceil(d * log(d)) : head_width;
}

/* Logarithms of the features: w_r . x - |x|^2 / 2 for x / d^(1/4). */
static filtra_tensor *logarithms(filtra_graph *g, filtra_tensor *heads, filtra_tensor *directions) {
  filtra_tensor *x = ft_dense_heads(g, heads);
  if (!ft_usable(g, x)) return NULL;
  x = filtra_affine(g, x, 1.0f / sqrtf(sqrtf((float)x->shape[3])), 0.0f);
  filtra_tensor *squares = filtra_sum(g, filtra_multiply(g, x, x), 3, FILTRA_KEEP_AXIS);
  return filtra_subtract(g, filtra_linear(g, x, directions, NULL, NULL),
                         filtra_affine(g, squares, 0.5f, 0.0f));
}

static filtra_tensor *features(filtra_graph *g, filtra_tensor *logarithms, float eps) {
  return filtra_affine(g, filtra_activate(g, logarithms, FILTRA_ACTIVATION_EXP), 1.0f, eps);
}

/* The logarithms of each query are shifted by their maximum: its features are in numerator and
 * denominator, so the shift cancels out, up to eps. A shift of keys would have to be the same for
 * all keys, also later ones; keys have none, and their features are at most e^(|w|^2 / 2). */
static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct performer_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3];
  filtra_mixer_qkv(scope, in, qkv);
  if (!ft_usable(g, qkv[0])) return NULL;
  const int64_t d = qkv[0]->shape[3], shape[] = {feature_count(o, d), d};
  filtra_tensor *directions = filtra_scope_parameter(
      scope, "directions", 2, shape,
      &(filtra_parameter_options){.init = FILTRA_INIT_ORTHOGONAL, .value = 1.0f, .buffer = true});
  filtra_tensor *q = logarithms(g, qkv[0], directions), *k = logarithms(g, qkv[1], directions);
  q = filtra_subtract(g, q, filtra_max(g, q, 3, FILTRA_KEEP_AXIS));
  filtra_tensor *y = ft_feature_attention(scope, in, features(g, q, o->eps), features(g, k, o->eps),
                                          qkv[2], 1e-12f);
  return filtra_mixer_output(scope, in, ft_join_heads(g, y));
}

const ft_mixer_class ft_mixer_performer = {
    .name = "performer",
    .description = "softmax attention by random features, FAVOR+ (Choromanski et al. 2021)",
    .options_size = sizeof(struct performer_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .build = build};
