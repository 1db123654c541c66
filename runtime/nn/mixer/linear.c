/* Linear attention (Katharopoulos et al. 2020): features of queries and keys are elu(x) + 1,
 * equation 7; O(n d^2). */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

struct linear_options {
  float eps;
};

static const ft_key KEYS[] = {
    FT_FLOAT_KEY(struct linear_options, eps, "eps", 1e-6, 1e-12, 1.0,
                 "Added to the sum of the weights."),
};

static filtra_tensor *features(filtra_graph *g, filtra_tensor *heads) {
  filtra_tensor *x = filtra_activate(g, ft_dense_heads(g, heads), FILTRA_ACTIVATION_ELU);
  return filtra_affine(g, x, 1.0f, 1.0f);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct linear_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3];
  filtra_mixer_qkv(scope, in, qkv);
  filtra_tensor *q = features(g, qkv[0]), *k = ft_mask_heads(scope, in, features(g, qkv[1]));
  filtra_tensor *y = ft_feature_attention(scope, in, q, k, qkv[2], o->eps);
  return filtra_mixer_output(scope, in, ft_join_heads(g, y));
}

const ft_mixer_class ft_mixer_linear = {
    .name = "linear",
    .description =
        "attention by features elu + 1, linear in the length (Katharopoulos et al. 2020)",
    .options_size = sizeof(struct linear_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .build = build};
