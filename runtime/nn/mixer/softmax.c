/* Plain multi-head softmax attention (Vaswani et al. 2017), the baseline. */
#include "nn/mixer.h"
#include "nn/past.h"

struct softmax_options {
  float dropout;
};

static const ft_json_field FIELDS[] = {
    FT_JSON_FLOAT_FIELD(struct softmax_options, dropout, "attention_dropout", 0.0, 0.0, 0.999),
};

static filtra_tensor *build(const ft_scope *scope, const void *options, const ft_mixer_input *in,
                            filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct softmax_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  int64_t width = ft_columns(in->x);
  filtra_tensor *piece[3];
  filtra_chunk(g, ft_linear_layer(scope, "qkv", in->x, 3 * width, NULL), 3, piece);
  ft_observe(scope, "value", piece[2]);
  for (int i = 0; i < 3; i++)
    piece[i] = filtra_split_heads(g, piece[i], in->heads);
  filtra_tensor *y = filtra_attention(
      g, piece[0], ft_past_keep(scope, "k", piece[1]), ft_past_keep(scope, "v", piece[2]),
      &(filtra_attention_options){.mask = in->mask, .dropout = o->dropout, .causal = in->causal});
  y = filtra_merge_heads(g, y);
  ft_observe(scope, "mixed", y);
  return ft_linear_layer(
      scope, "out", y, width,
      &(filtra_linear_options){.dropout = in->dropout, .residual = in->residual});
}

const ft_mixer_class ft_mixer_softmax = {.name = "softmax",
                                         .options_size = sizeof(struct softmax_options),
                                         .fields = FIELDS,
                                         .field_count = FT_COUNT(FIELDS),
                                         .build = build};
