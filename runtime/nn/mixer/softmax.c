/* Plain multi-head softmax attention (Vaswani et al. 2017), the baseline. */
#include "nn/formed_attention.h"
#include "nn/mixer.h"
#include "nn/past.h"

struct softmax_options {
  float dropout;
  bool talking;
};

static const ft_key KEYS[] = {
    FT_FLOAT_KEY(struct softmax_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights."),
    FT_TALKING_HEADS_KEY(struct softmax_options, talking),
};

/* softmax(q k^T) v with talking heads, which need the weights as a matrix. */
static filtra_tensor *talk(const ft_scope *scope, filtra_tensor *q, filtra_tensor *k,
                           filtra_tensor *v, const filtra_attention_options *o) {
  return filtra_matmul(
      scope->graph, ft_formed_attention(scope, q, k, o, true), v,
      &(filtra_matmul_options){.token_major = true, .dtype = filtra_tensor_dtype(v)});
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct softmax_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  filtra_tensor *qkv[3];
  ft_mixer_qkv(scope, in, ft_mixer_precision(scope), qkv);
  filtra_tensor *k = filtra_scope_keep(scope, "k", qkv[1]),
                *v = filtra_scope_keep(scope, "v", qkv[2]);
  const filtra_attention_options attention = {
      .mask = in->mask, .bias = in->bias, .dropout = o->dropout, .causal = in->causal};
  return filtra_mixer_output(scope, in,
                             o->talking ? talk(scope, qkv[0], k, v, &attention)
                                        : filtra_attention(g, qkv[0], k, v, &attention));
}

const ft_mixer_class ft_mixer_softmax = {
    .name = "softmax",
    .description = "attention: every token weighs all others (Vaswani et al. 2017)",
    .options_size = sizeof(struct softmax_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .takes_bias = true,
    .build = build};
