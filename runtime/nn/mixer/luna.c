/* Luna (Ma et al. 2021), linear unified nested attention: a sequence P of fixed length l attends to
 * the tokens (pack), and the tokens attend to the result (unpack). P is learned in the first layer;
 * each layer passes its result on to the next. O(n l d). */
#include "nn/mixer.h"

#include <math.h>

struct luna_options {
  int64_t length;
  float dropout;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct luna_options, length, "l", 16, 1, 4096, "Length of the packed sequence P."),
    FT_FLOAT_KEY(struct luna_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights of both steps."),
};

/* P of the first layer, the same for all samples: [B,l,C]. */
static filtra_tensor *first_sequence(const ft_scope *scope, int64_t batch, int64_t length,
                                     int64_t width) {
  filtra_graph *g = scope->graph;
  const float spread = scope->init_std > 0.0f ? scope->init_std : 1.0f / sqrtf((float)width);
  filtra_tensor *p = filtra_scope_parameter(
      scope, "packed", 2, (int64_t[]){length, width},
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = spread});
  p = filtra_reshape(g, p, 3, (int64_t[]){1, length, width});
  return filtra_add(g, p, filtra_constant(g, 3, (int64_t[]){batch, 1, 1}, 0.0f));
}

/* P of this layer; the previous layer's P is normalised here, where it is first used. */
static filtra_tensor *packed_sequence(const ft_scope *scope, const struct luna_options *o,
                                      const filtra_tensor *x) {
  filtra_tensor *below = scope->carried ? *scope->carried : NULL;
  if (below) return ft_norm_layer(scope, "norm", below, FILTRA_F32);
  return first_sequence(scope, x->shape[0], o->length, ft_columns(x));
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct luna_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3], *kv[2];
  filtra_mixer_qkv(scope, in, qkv); /* the query of the second step, keys and values of the first */
  if (!ft_usable(g, qkv[0])) return NULL;
  const int64_t width = ft_columns(in->x);
  filtra_tensor *p = packed_sequence(scope, o, in->x);
  filtra_tensor *q =
      filtra_split_heads(g, filtra_scope_linear(scope, "pack", p, width, NULL), in->heads);
  filtra_tensor *packed = filtra_merge_heads(
      g, filtra_attention(g, q, qkv[1], qkv[2],
                          &(filtra_attention_options){.mask = in->mask, .dropout = o->dropout}));
  if (scope->carried) *scope->carried = filtra_add(g, p, filtra_dropout(g, packed, in->dropout));
  filtra_chunk(g, filtra_scope_linear(scope, "kv", packed, 2 * width, NULL), 2, kv);
  for (int i = 0; i < 2; i++)
    kv[i] = filtra_split_heads(g, kv[i], in->heads);
  filtra_tensor *y =
      filtra_attention(g, qkv[0], kv[0], kv[1], &(filtra_attention_options){.dropout = o->dropout});
  return filtra_mixer_output(scope, in, y);
}

const ft_mixer_class ft_mixer_luna = {
    .name = "luna",
    .description = "attention to a packed sequence of fixed length and back (Ma et al. 2021)",
    .options_size = sizeof(struct luna_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its packed sequence is a mixture of all tokens of a sequence",
    .narrow = true,
    .build = build};
