/* Common parts of mixers: queries, keys and values from one product, and the output projection. */
#include "nn/mixer.h"

filtra_dtype ft_mixer_precision(const ft_scope *scope) {
  return scope->past ? FILTRA_F32 : scope->precision;
}

void filtra_mixer_qkv(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *qkv[3]) {
  if (qkv) ft_mixer_qkv(scope, in, FILTRA_F32, qkv);
}

void ft_mixer_qkv(const ft_scope *scope, const filtra_mixer_input *in, filtra_dtype dtype,
                  filtra_tensor *qkv[3]) {
  qkv[0] = qkv[1] = qkv[2] = NULL;
  if (!ft_scope_usable(scope) || !in || !ft_usable(scope->graph, in->x)) return;
  filtra_graph *g = scope->graph;
  const filtra_linear_options options = {.dtype = dtype};
  filtra_chunk(g, filtra_scope_linear(scope, "qkv", in->x, 3 * ft_columns(in->x), &options), 3,
               qkv);
  ft_observe(scope, "query", qkv[0]);
  ft_observe(scope, "key", qkv[1]);
  ft_observe(scope, "value", qkv[2]);
  for (int i = 0; i < 3; i++)
    qkv[i] = filtra_split_heads(g, qkv[i], in->heads);
}

filtra_tensor *filtra_mixer_output(const ft_scope *scope, const filtra_mixer_input *in,
                                   filtra_tensor *y) {
  if (!ft_scope_usable(scope) || !in || !ft_usable(scope->graph, y)) return NULL;
  if (y->ndim == 4) y = filtra_merge_heads(scope->graph, y);
  ft_observe(scope, "mixed", y);
  return filtra_scope_linear(
      scope, "out", y, ft_columns(in->x),
      &(filtra_linear_options){.dropout = in->dropout, .residual = in->residual});
}
