/* Linformer (Wang et al. 2020): attention to k mixtures of a sequence's keys and values, with
 * learned weights for each position; O(n k d). */
#include "nn/mixer.h"

struct linformer_options {
  int64_t rows;
  bool shared;
  float dropout;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct linformer_options, rows, "k", 128, 1, 65536,
               "Number of mixtures of keys and values."),
    FT_BOOL_KEY(struct linformer_options, shared, "shared", false,
                "Keys and values have the same projection: F = E."),
    FT_FLOAT_KEY(struct linformer_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights."),
};

static filtra_tensor *projection(const ft_scope *scope, const char *name, int64_t rows,
                                 int64_t columns) {
  const filtra_parameter_options options = ft_scope_matrix(scope, columns);
  return filtra_scope_parameter(scope, name, 2, (int64_t[]){rows, columns}, &options);
}

/* Heads [B,H,N,D], padding set to zero, times the first N columns of w -> [B,H,k,D]. */
static filtra_tensor *mixtures(filtra_graph *g, filtra_tensor *heads, filtra_tensor *mask,
                               filtra_tensor *w) {
  filtra_tensor *x = filtra_permute(g, heads, (int[]){0, 1, 3, 2});
  if (!ft_usable(g, x) || !ft_usable(g, w)) return NULL;
  const int64_t n = x->shape[3], rows[] = {x->shape[0], 1, 1, n}, origin[2] = {0};
  x = filtra_multiply(g, x, filtra_reshape(g, mask, 4, rows));
  if (n < w->shape[1]) w = filtra_slice(g, w, origin, (int64_t[]){w->shape[0], n});
  return filtra_transpose(g, filtra_linear(g, x, w, NULL, NULL), 2, 3);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct linformer_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3];
  filtra_mixer_qkv(scope, in, qkv);
  if (!ft_usable(g, qkv[0])) return NULL;
  if (qkv[0]->shape[2] > in->max_length)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "mixer \"linformer\": %lld tokens, its projections are for %lld",
                         (long long)qkv[0]->shape[2], (long long)in->max_length);
  filtra_tensor *keys = projection(scope, "key_projection", o->rows, in->max_length);
  filtra_tensor *values =
      o->shared ? keys : projection(scope, "value_projection", o->rows, in->max_length);
  filtra_tensor *y = filtra_attention(g, qkv[0], mixtures(g, qkv[1], in->mask, keys),
                                      mixtures(g, qkv[2], in->mask, values),
                                      &(filtra_attention_options){.dropout = o->dropout});
  return filtra_mixer_output(scope, in, y);
}

const ft_mixer_class ft_mixer_linformer = {
    .name = "linformer",
    .description = "attention to k learned mixtures of keys and values (Wang et al. 2020)",
    .options_size = sizeof(struct linformer_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its keys and values are mixtures of all tokens of a sequence",
    .narrow = true,
    .build = build};
