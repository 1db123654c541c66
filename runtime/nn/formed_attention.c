/* Called by nn/mixer/softmax.c and gfsa.c for talking heads and for dropout on the filter's
 * elements. */
#include "nn/formed_attention.h"

#include "nn/feature_attention.h"

#include <math.h>

/* The mask of scores, zeros and ones that broadcast to [B,H,Nq,Nk]; NULL: all scores count. */
static filtra_tensor *admissible(filtra_graph *g, const filtra_attention_options *o, int64_t nq,
                                 int64_t nk) {
  filtra_tensor *seen = NULL;
  if (o->mask) {
    if (!ft_usable(g, o->mask)) return NULL;
    seen = filtra_reshape(g, o->mask, 4, (int64_t[]){o->mask->shape[0], 1, 1, nk});
  }
  if (!o->causal || nq < nk) return seen;
  filtra_tensor *earlier =
      filtra_reshape(g, ft_lower_triangle(g, nk), 4, (int64_t[]){1, 1, nk, nk});
  return seen ? filtra_multiply(g, seen, earlier) : earlier;
}

/* The fewest equal chunks of n rows that a product's grid can hold: even with tiles of 16 columns,
 * a chunk takes at most half of the 65,535 workgroups that every device accepts. */
static int64_t parts_of(int64_t n, int64_t pairs) {
  enum { MOST_PAIRS = 1 << 19 };
  int64_t parts = 1;
  while (parts < n && (pairs / parts > MOST_PAIRS || n % parts))
    parts++;
  return parts;
}

/* W x + b over the heads of x [B,H,N,M]: one product with the same W for each sequence, or for each
 * chunk of one. */
static filtra_tensor *talk(const ft_scope *scope, const char *name, filtra_tensor *x) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x)) return NULL;
  const int64_t batch = x->shape[0], heads = x->shape[1], pairs = x->shape[2] * x->shape[3],
                parts = parts_of(x->shape[2], pairs), rows[] = {batch, heads, pairs};
  const ft_scope inner = ft_scope_enter(scope, "%s", name);
  const filtra_parameter_options weight = ft_scope_matrix(scope, heads);
  filtra_parameter_options bias = {.init = weight.init, .value = weight.value};
  if (weight.init == FILTRA_INIT_NORMAL) bias = (filtra_parameter_options){0};
  filtra_tensor *w =
      filtra_scope_parameter(&inner, "weight", 2, (int64_t[]){heads, heads}, &weight);
  filtra_tensor *b = filtra_scope_parameter(&inner, "bias", 1, &heads, &bias);
  w = filtra_add(g, filtra_constant(g, 4, (int64_t[]){batch, parts, 1, 1}, 0.0f),
                 filtra_reshape(g, w, 4, (int64_t[]){1, 1, heads, heads}));
  filtra_tensor *cut = filtra_split_heads(g, filtra_reshape(g, x, 3, rows), parts);
  filtra_tensor *y = filtra_matmul(g, w, cut, &(filtra_matmul_options){.token_major = true});
  y = filtra_add(g, filtra_merge_heads(g, y), filtra_reshape(g, b, 3, (int64_t[]){1, heads, 1}));
  return y ? filtra_reshape(g, y, 4, x->shape) : NULL;
}

filtra_tensor *ft_formed_attention(const ft_scope *scope, filtra_tensor *q, filtra_tensor *k,
                                   const filtra_attention_options *o, bool talking) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, q) || !ft_usable(g, k)) return NULL;
  const float scale = o->scale != 0 ? o->scale : 1.0f / sqrtf((float)q->shape[3]);
  filtra_tensor *seen = admissible(g, o, q->shape[2], k->shape[2]);
  filtra_tensor *scores =
      filtra_matmul(g, q, k, &(filtra_matmul_options){.transpose_b = true, .scale = scale});
  if (talking) scores = talk(scope, "talking_scores", scores);
  if (o->bias) scores = filtra_add(g, scores, o->bias);
  /* Far below any score: the exponential is 0. An infinity would give NaN for empty rows. */
  if (seen) scores = filtra_add(g, scores, filtra_affine(g, seen, 1e30f, -1e30f));
  filtra_tensor *a = filtra_softmax(g, scores, 3);
  if (talking) a = talk(scope, "talking_weights", a);
  if (seen) a = filtra_multiply(g, a, seen);
  return filtra_dropout(g, a, o->dropout);
}
