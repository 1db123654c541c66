/* Common parts of mixers: queries, keys and values from one product, the output projection, and
 * options with one number per head or layer. */
#include "nn/mixer.h"

#include <stdlib.h>
#include <string.h>

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

void ft_mixer_sides(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *part[2]) {
  part[0] = part[1] = NULL;
  if (!ft_scope_usable(scope) || !in || !ft_usable(scope->graph, in->x)) return;
  filtra_graph *g = scope->graph;
  const int64_t width = ft_columns(in->x);
  ft_cut(g, filtra_scope_linear(scope, "qkv", in->x, 3 * width, NULL), 2 * width, part);
  const int64_t shape[] = {in->x->shape[0], in->x->shape[1], width};
  for (int i = 0; scope->observer && i < 2; i++)
    ft_observe(scope, i ? "key" : "query",
               filtra_slice(g, part[0], (int64_t[]){0, 0, i * width}, shape));
  ft_observe(scope, "value", part[1]);
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

float ft_head_number(const ft_floats *list, int64_t heads, int64_t head) {
  return list->values[list->count == heads ? head : list->count == 2 && head >= (heads + 1) / 2];
}

bool ft_mixer_spread(filtra_graph *g, const char *mixer, const char *key, const ft_floats *list,
                     int64_t heads, float out[FT_MOST_FLOATS]) {
  if (heads > FT_MOST_FLOATS || (list->count > 2 && list->count != heads)) {
    ft_graph_fail(g, FILTRA_ERROR_INPUT,
                  "mixer \"%s\": \"%s\" has %lld numbers for %lld heads; accepted are one, two "
                  "for the halves, or one for each of at most %d heads",
                  mixer, key, (long long)list->count, (long long)heads, FT_MOST_FLOATS);
    return false;
  }
  for (int64_t h = 0; h < heads; h++)
    out[h] = ft_head_number(list, heads, h);
  return true;
}

bool ft_next_range(const char **at, long most, long *first, long *last) {
  char *end;
  const char *from = *at + strspn(*at, " ");
  if (*from < '0' || *from > '9') return false;
  *first = *last = strtol(from, &end, 10);
  if (*end == '-' && end[1] >= '0' && end[1] <= '9') *last = strtol(end + 1, &end, 10);
  end += strspn(end, " ");
  *at = *end ? end + 1 : NULL;
  return *first <= *last && *last <= most && (!*end || *end == ',');
}

bool ft_mark_heads(const char *text, int64_t heads, bool marked[FT_MOST_FLOATS]) {
  const char *at = *text ? text : NULL;
  memset(marked, 0, FT_MOST_FLOATS * sizeof *marked);
  while (at) {
    long first, last;
    if (heads > FT_MOST_FLOATS || !ft_next_range(&at, (long)heads - 1, &first, &last)) return false;
    for (long h = first; h <= last; h++)
      marked[h] = true;
  }
  return true;
}
