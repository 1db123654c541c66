/* Plain multi-head softmax attention (Vaswani et al. 2017), the baseline. */
#include "nn/mixer.h"
#include "nn/past.h"

struct softmax_options {
  float dropout;
};

static const ft_key KEYS[] = {
    FT_FLOAT_KEY(struct softmax_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights."),
};

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct softmax_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  filtra_tensor *qkv[3];
  ft_mixer_qkv(scope, in, ft_mixer_precision(scope), qkv);
  filtra_tensor *y = filtra_attention(
      g, qkv[0], filtra_scope_keep(scope, "k", qkv[1]), filtra_scope_keep(scope, "v", qkv[2]),
      &(filtra_attention_options){
          .mask = in->mask, .bias = in->bias, .dropout = o->dropout, .causal = in->causal});
  return filtra_mixer_output(scope, in, y);
}

const ft_mixer_class ft_mixer_softmax = {
    .name = "softmax",
    .description = "attention: every token weighs all others (Vaswani et al. 2017)",
    .options_size = sizeof(struct softmax_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .takes_bias = true,
    .build = build};
