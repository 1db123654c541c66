/* p-Laplacian attention (p-LaT): attention whose weights depend on the distance between two tokens'
 * values; p < 2 favours near values, p > 2 far ones. */
#include "nn/mixer.h"
#include "nn/past.h"

#include <math.h>

struct plaplacian_options {
  ft_floats p;
  float eps;
  int diagonal;
  bool euler, symmetric;
  float dropout;
};

/* The paper's: one for each half of the heads. */
static const float DEFAULT_P[] = {1.5f, 2.5f, NAN};
static const char *const DIAGONALS[] = {"eps", "zero", "one", NULL};

static const ft_key KEYS[] = {
    FT_FLOATS_KEY(struct plaplacian_options, p, "p", DEFAULT_P, 1.0, 10.0,
                  "The p of the heads: one number for all; two, for the first half (the larger one "
                  "where heads are odd) and the second; or one for each head."),
    FT_FLOAT_KEY(struct plaplacian_options, eps, "eps", 1e-3, 1e-12, 1e6,
                 "Added to squared distances. With p < 2 it limits the weight of equal values, a "
                 "token's own included, to eps^((p-2)/2)."),
    FT_ENUM_KEY(struct plaplacian_options, diagonal, "diagonal", FILTRA_DIAGONAL_EPS, DIAGONALS,
                "Weight of a token's own value: as any equal value (eps), none, with p = 2 too "
                "(zero), or as in softmax attention (one)."),
    FT_BOOL_KEY(
        struct plaplacian_options, euler, "euler", false,
        "y_x = v_x + sum_y A_xy P_xy (v_y - v_x), the consistent step of the flow, in place "
        "of the paper's equation, which drops (1 - sum_y A_xy P_xy) v_x.",
        .paper = "in place of equation 12"),
    FT_BOOL_KEY(
        struct plaplacian_options, symmetric, "symmetric", false,
        "W_Q = W_K: the scores are symmetric, as in the paper's functional. width^2 + width "
        "parameters fewer per layer."),
    FT_FLOAT_KEY(struct plaplacian_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights."),
};

/* W_Q = W_K: the scores are symmetric, as in the paper's nonlocal functional. One layer computes
 * queries and keys, so that its gradient is the sum of both. */
static void project_shared(const ft_scope *scope, const filtra_mixer_input *in, filtra_dtype dtype,
                           filtra_tensor *qkv[3]) {
  filtra_graph *g = scope->graph;
  const filtra_linear_options options = {.dtype = dtype};
  filtra_tensor *kv[2];
  filtra_chunk(g, filtra_scope_linear(scope, "kv", in->x, 2 * ft_columns(in->x), &options), 2, kv);
  ft_observe(scope, "query", kv[0]);
  ft_observe(scope, "key", kv[0]);
  ft_observe(scope, "value", kv[1]);
  qkv[0] = qkv[1] = filtra_split_heads(g, kv[0], in->heads);
  qkv[2] = filtra_split_heads(g, kv[1], in->heads);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct plaplacian_options *o = options;
  filtra_graph *g = scope->graph;
  float p[FT_MOST_FLOATS];
  if (!ft_usable(g, in->x) || !ft_mixer_spread(g, "plaplacian", "p", &o->p, in->heads, p))
    return NULL;
  filtra_tensor *qkv[3];
  (o->symmetric ? project_shared : ft_mixer_qkv)(scope, in, ft_mixer_precision(scope), qkv);
  filtra_plaplacian_options norms = {.attention = {.mask = in->mask,
                                                   .bias = in->bias,
                                                   .dropout = o->dropout,
                                                   .causal = in->causal},
                                     .p = p,
                                     .eps = o->eps,
                                     .diagonal = (filtra_diagonal)o->diagonal,
                                     .euler = o->euler};
  filtra_tensor *y = filtra_plaplacian(g, qkv[0], filtra_scope_keep(scope, "k", qkv[1]),
                                       filtra_scope_keep(scope, "v", qkv[2]), &norms);
  return filtra_mixer_output(scope, in, y);
}

const ft_mixer_class ft_mixer_plaplacian = {
    .name = "plaplacian",
    .description = "attention whose weights depend on the distance of values (Nguyen et al. 2023)",
    .options_size = sizeof(struct plaplacian_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .takes_bias = true,
    .build = build};
