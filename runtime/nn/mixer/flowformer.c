/* Flow-Attention (Flowformer, Wu et al. 2022): linear attention whose flow is conserved at sources
 * and sinks, so that values compete (softmax) and results are allocated (sigmoid); O(n d^2). */
#include "nn/feature_attention.h"
#include "nn/mixer.h"
#include "ops/support.h"

struct flowformer_options {
  float eps;
};

static const ft_key KEYS[] = {
    FT_FLOAT_KEY(struct flowformer_options, eps, "eps", 1e-6, 1e-8, 1.0,
                 "Added to features and to their sums in the flows."),
};

/* A token's flow: its features times the sum of the other side's features, [B,H,N,1]. */
static filtra_tensor *flow(filtra_graph *g, filtra_tensor *features, filtra_tensor *others,
                           float eps) {
  filtra_tensor *sum = ft_sum_plus(g, others, 2, eps);
  filtra_tensor *products = filtra_multiply(g, filtra_affine(g, features, 1.0f, eps), sum);
  return filtra_sum(g, products, 3, FILTRA_KEEP_AXIS);
}

/* max(min(x, 1), -1), the authors' limit before the competition. */
static filtra_tensor *limited(filtra_graph *g, filtra_tensor *x) {
  filtra_tensor *above =
      filtra_activate(g, filtra_affine(g, x, 1.0f, 1.0f), FILTRA_ACTIVATION_RELU);
  filtra_tensor *beyond =
      filtra_activate(g, filtra_affine(g, x, 1.0f, -1.0f), FILTRA_ACTIVATION_RELU);
  return filtra_affine(g, filtra_subtract(g, above, beyond), 1.0f, -1.0f);
}

/* n e^x / sum e^x over the n real tokens, x within [-1, 1]. */
static filtra_tensor *competition(const ft_scope *scope, const filtra_mixer_input *in,
                                  filtra_tensor *x) {
  filtra_graph *g = scope->graph;
  filtra_tensor *powers = filtra_activate(g, x, FILTRA_ACTIVATION_EXP);
  powers = ft_mask_heads(scope, in, powers);
  if (!ft_usable(g, powers)) return NULL;
  const int64_t batch[] = {powers->shape[0], 1, 1, 1};
  filtra_tensor *count = filtra_reshape(g, filtra_sum(g, in->mask, 1, FILTRA_DROP_AXIS), 4, batch);
  filtra_tensor *below = ft_sum_plus(g, powers, 2, 1e-12f);
  return filtra_multiply(g, filtra_divide(g, powers, below), count);
}

static filtra_tensor *mixed(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *q,
                            filtra_tensor *k, filtra_tensor *v, float eps) {
  filtra_graph *g = scope->graph;
  q = ft_mask_heads(scope, in, filtra_activate(g, ft_dense_heads(g, q), FILTRA_ACTIVATION_SIGMOID));
  k = ft_mask_heads(scope, in, filtra_activate(g, ft_dense_heads(g, k), FILTRA_ACTIVATION_SIGMOID));
  filtra_tensor *incoming = filtra_activate(g, flow(g, q, k, eps), FILTRA_ACTIVATION_RECIPROCAL);
  filtra_tensor *outgoing = filtra_activate(g, flow(g, k, q, eps), FILTRA_ACTIVATION_RECIPROCAL);
  filtra_tensor *sinks = flow(g, q, filtra_multiply(g, k, outgoing), eps);
  filtra_tensor *sources = flow(g, k, filtra_multiply(g, q, incoming), eps);
  filtra_tensor *values =
      filtra_multiply(g, ft_dense_heads(g, v), competition(scope, in, limited(g, sources)));
  filtra_tensor *sums = filtra_matmul(g, k, values, &(filtra_matmul_options){.transpose_a = true});
  filtra_tensor *y = filtra_multiply(g, filtra_matmul(g, q, sums, NULL), incoming);
  return filtra_multiply(g, y, filtra_activate(g, sinks, FILTRA_ACTIVATION_SIGMOID));
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct flowformer_options *o = options;
  filtra_tensor *qkv[3];
  filtra_mixer_qkv(scope, in, qkv);
  filtra_tensor *y = mixed(scope, in, qkv[0], qkv[1], qkv[2], o->eps);
  return filtra_mixer_output(scope, in, ft_join_heads(scope->graph, y));
}

const ft_mixer_class ft_mixer_flowformer = {
    .name = "flowformer",
    .description = "linear attention with competition and allocation (Wu et al. 2022)",
    .options_size = sizeof(struct flowformer_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its values compete over all tokens of a sequence",
    .narrow = true,
    .build = build};
