/* Performer (Choromanski et al. 2021): softmax attention estimated by FAVOR+, positive features of
 * random directions that are orthogonal to each other; O(n m d). The directions are drawn with the
 * initial parameters, saved in files and not trained. */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

#include <math.h>

static const float FAR = 3e4f;   /* how far padding lies below real tokens */
static const float MOST = 60.0f; /* largest logarithm of an unshifted feature */

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

/* w_r . x for x / d^(1/4), [B,H,N,m]; *half receives |x|^2 / 2, [B,H,N,1]. */
static filtra_tensor *project(filtra_graph *g, filtra_tensor *heads, filtra_tensor *directions,
                              filtra_tensor **half) {
  filtra_tensor *x = ft_dense_heads(g, heads);
  if (!ft_usable(g, x)) return NULL;
  x = filtra_affine(g, x, 1.0f / sqrtf(sqrtf((float)x->shape[3])), 0.0f);
  filtra_tensor *squares = filtra_sum(g, filtra_multiply(g, x, x), 3, FILTRA_KEEP_AXIS);
  *half = filtra_affine(g, squares, 0.5f, 0.0f);
  return filtra_linear(g, x, directions, NULL, NULL);
}

static filtra_tensor *features(filtra_graph *g, filtra_tensor *logarithms, float eps) {
  return filtra_affine(g, filtra_activate(g, logarithms, FILTRA_ACTIVATION_EXP), 1.0f, eps);
}

/* The maximum over features and real tokens, [B,H,1,1]. */
static filtra_tensor *maximum(filtra_graph *g, const filtra_mixer_input *in, filtra_tensor *x) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t shape[] = {x->shape[0], 1, x->shape[2], 1};
  filtra_tensor *mask = filtra_reshape(g, in->mask, 4, shape);
  filtra_tensor *most = filtra_max(g, x, 3, FILTRA_KEEP_AXIS);
  most = filtra_add(g, most, filtra_affine(g, mask, FAR, -FAR));
  return filtra_max(g, most, 2, FILTRA_KEEP_AXIS);
}

/* min(x, MOST), whose exponential overflows in no sum over keys. */
static filtra_tensor *limit(filtra_graph *g, filtra_tensor *x) {
  filtra_tensor *above = filtra_affine(g, x, 1.0f, -MOST);
  return filtra_subtract(g, x, filtra_activate(g, above, FILTRA_ACTIVATION_RELU));
}

/* Logarithms are shifted as in the authors' code: those of a query by its own maximum of w_r . q,
 * those of all keys by their common one. Up to eps both shifts cancel out in numerator and
 * denominator. A causal model cannot know later keys: there keys are not shifted. */
static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct performer_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3], *half;
  filtra_mixer_qkv(scope, in, qkv);
  if (!ft_usable(g, qkv[0])) return NULL;
  const int64_t d = qkv[0]->shape[3], shape[] = {feature_count(o, d), d};
  filtra_tensor *directions = filtra_scope_parameter(
      scope, "directions", 2, shape,
      &(filtra_parameter_options){.init = FILTRA_INIT_ORTHOGONAL, .value = 1.0f, .buffer = true});
  filtra_tensor *along = project(g, qkv[0], directions, &half);
  filtra_tensor *shift = filtra_add(g, filtra_max(g, along, 3, FILTRA_KEEP_AXIS), half);
  filtra_tensor *q = filtra_subtract(g, along, shift);
  along = project(g, qkv[1], directions, &half);
  filtra_tensor *k = filtra_subtract(g, along, half);
  k = in->causal ? limit(g, k) : filtra_subtract(g, k, maximum(g, in, along));
  q = features(g, q, o->eps);
  k = ft_mask_heads(scope, in, features(g, k, o->eps));
  filtra_tensor *y = ft_feature_attention(scope, in, q, k, qkv[2], 1e-12f);
  return filtra_mixer_output(scope, in, ft_join_heads(g, y));
}

const ft_mixer_class ft_mixer_performer = {
    .name = "performer",
    .description = "softmax attention by random features, FAVOR+ (Choromanski et al. 2021)",
    .options_size = sizeof(struct performer_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .build = build};
