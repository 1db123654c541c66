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

/* Queries and keys lie side by side, as 2 H heads, so that one call does the same for both. */
typedef struct sides {
  filtra_tensor *features;             /* [B,N,2 H,D] */
  int64_t batch, tokens, heads, width; /* width: of a head */
} sides;

/* Each token's flow: its features times the sum of the other side's tensor, [B,N,2 H,1]. */
static filtra_tensor *flows(filtra_graph *g, const sides *p, filtra_tensor *x, float eps) {
  const int64_t heads = 2 * p->heads, row[] = {p->batch, 1, heads * p->width};
  const int64_t rows[] = {p->batch, 1, heads, p->width};
  filtra_tensor *half[2];
  filtra_chunk(g, filtra_reshape(g, ft_sum_plus(g, x, 1, eps), 3, row), 2, half);
  filtra_tensor *others = filtra_concat(g, 2, 2, (filtra_tensor *[]){half[1], half[0]});
  others = filtra_reshape(g, others, 4, rows);
  filtra_tensor *products = filtra_multiply(g, filtra_affine(g, p->features, 1.0f, eps), others);
  return filtra_sum(g, products, 3, FILTRA_KEEP_AXIS);
}

/* The flows [B,N,2 H,1] of queries and of keys, each [B,N,H,1] and dense. */
static void part_flows(filtra_graph *g, const sides *p, filtra_tensor *x, filtra_tensor *out[2]) {
  filtra_chunk(g, filtra_reshape(g, x, 3, (int64_t[]){p->batch, p->tokens, 2 * p->heads}), 2, out);
  for (int i = 0; i < 2; i++)
    out[i] = filtra_reshape(g, filtra_permute(g, out[i], (int[]){0, 1, 2}), 4,
                            (int64_t[]){p->batch, p->tokens, p->heads, 1});
}

/* max(min(x, 1), -1), the authors' limit before the competition. */
static filtra_tensor *limited(filtra_graph *g, filtra_tensor *x) {
  filtra_tensor *above =
      filtra_activate(g, filtra_affine(g, x, 1.0f, 1.0f), FILTRA_ACTIVATION_RELU);
  filtra_tensor *beyond =
      filtra_activate(g, filtra_affine(g, x, 1.0f, -1.0f), FILTRA_ACTIVATION_RELU);
  return filtra_affine(g, filtra_subtract(g, above, beyond), 1.0f, -1.0f);
}

/* n e^x / sum e^x over the n real tokens, x [B,N,H,1] within [-1, 1]. */
static filtra_tensor *competition(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  filtra_tensor *powers = filtra_multiply(g, filtra_activate(g, x, FILTRA_ACTIVATION_EXP), mask);
  filtra_tensor *count = filtra_sum(g, mask, 1, FILTRA_KEEP_AXIS);
  return filtra_multiply(g, filtra_divide(g, powers, ft_sum_plus(g, powers, 1, 1e-12f)), count);
}

/* sigmoid(x) of real tokens, [B,N,2 W]. */
static filtra_tensor *features(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask) {
  x = filtra_activate(g, filtra_permute(g, x, (int[]){0, 1, 2}), FILTRA_ACTIVATION_SIGMOID);
  return filtra_multiply(g, x, mask);
}

/* x [B,N,2 W] holds queries and keys, v [B,N,W] values; -> [B,N,W]. Pieces are cut off features and
 * flows after the last use of the whole. */
static filtra_tensor *mixed(filtra_graph *g, const filtra_mixer_input *in, filtra_tensor *x,
                            filtra_tensor *v, float eps) {
  if (!ft_usable(g, x) || !filtra_split_heads(g, v, in->heads)) return NULL;
  const int64_t *shape = v->shape;
  sides p = {NULL, shape[0], shape[1], in->heads, shape[2] / in->heads};
  const int64_t pairs[] = {p.batch, p.tokens, 2 * p.heads, p.width};
  const int64_t heads[] = {p.batch, p.tokens, p.heads, p.width}, one[] = {p.batch, p.tokens, 1, 1};
  filtra_tensor *flow[2], *conserved[2], *side[2]; /* of queries, of keys */
  x = features(g, x, filtra_reshape(g, in->mask, 3, one));
  p.features = filtra_reshape(g, x, 4, pairs);
  filtra_tensor *both = flows(g, &p, p.features, eps);
  filtra_tensor *again = flows(g, &p, filtra_divide(g, p.features, both), eps);
  part_flows(g, &p, both, flow);
  part_flows(g, &p, again, conserved);
  filtra_chunk(g, x, 2, side);
  filtra_tensor *shares =
      competition(g, filtra_reshape(g, in->mask, 4, one), limited(g, conserved[1]));
  v = filtra_reshape(g, filtra_permute(g, v, (int[]){0, 1, 2}), 4, heads);
  v = filtra_reshape(g, filtra_multiply(g, v, shares), 3, shape);
  filtra_tensor *sums =
      filtra_matmul(g, filtra_split_heads(g, side[1], p.heads), filtra_split_heads(g, v, p.heads),
                    &(filtra_matmul_options){.transpose_a = true});
  filtra_tensor *y = filtra_matmul(g, filtra_split_heads(g, side[0], p.heads), sums, NULL);
  y = filtra_divide(g, filtra_reshape(g, ft_join_heads(g, y), 4, heads), flow[0]);
  y = filtra_multiply(g, y, filtra_activate(g, conserved[0], FILTRA_ACTIVATION_SIGMOID));
  return filtra_reshape(g, y, 3, shape);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct flowformer_options *o = options;
  filtra_tensor *part[2];
  ft_mixer_sides(scope, in, part);
  return filtra_mixer_output(scope, in, mixed(scope->graph, in, part[0], part[1], o->eps));
}

const ft_mixer_class ft_mixer_flowformer = {
    .name = "flowformer",
    .description = "linear attention with competition and allocation (Wu et al. 2022)",
    .options_size = sizeof(struct flowformer_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its values compete over all tokens of a sequence",
    .narrow = true,
    .build = build};
