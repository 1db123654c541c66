#include "nn/formed_filter.h"

#include "nn/feature_attention.h"

#include <math.h>

/* Zeros and ones that broadcast to [B,H,N,N]: which scores count; NULL: all. */
static filtra_tensor *admissible(filtra_graph *g, const filtra_attention_options *o, int64_t n) {
  filtra_tensor *seen = NULL;
  if (o->mask) {
    if (!ft_usable(g, o->mask)) return NULL;
    seen = filtra_reshape(g, o->mask, 4, (int64_t[]){o->mask->shape[0], 1, 1, n});
  }
  if (!o->causal) return seen;
  filtra_tensor *earlier = filtra_reshape(g, ft_lower_triangle(g, n), 4, (int64_t[]){1, 1, n, n});
  return seen ? filtra_multiply(g, seen, earlier) : earlier;
}

/* A [B,H,N,N]: softmax over the scores that count; zeros for a query without any. */
static filtra_tensor *weights(filtra_graph *g, filtra_tensor *const qkv[3],
                              const filtra_attention_options *o) {
  const float scale = o->scale != 0 ? o->scale : 1.0f / sqrtf((float)qkv[0]->shape[3]);
  filtra_tensor *seen = admissible(g, o, qkv[1]->shape[2]);
  filtra_tensor *scores = filtra_matmul(
      g, qkv[0], qkv[1], &(filtra_matmul_options){.transpose_b = true, .scale = scale});
  if (o->bias) scores = filtra_add(g, scores, o->bias);
  /* Far below any score: the exponential is 0. An infinity would give NaN for empty rows. */
  if (seen) scores = filtra_add(g, scores, filtra_affine(g, seen, 1e30f, -1e30f));
  filtra_tensor *a = filtra_softmax(g, scores, 3);
  if (seen) a = filtra_multiply(g, a, seen);
  return filtra_dropout(g, a, o->dropout);
}

/* The identity [1,1,n,n]: max(1 - d^2, 0) with the integer d = row - column. */
static filtra_tensor *identity(filtra_graph *g, int64_t n) {
  filtra_tensor *number = ft_counting(g, n);
  filtra_tensor *d = filtra_subtract(g, filtra_reshape(g, number, 4, (int64_t[]){1, 1, n, 1}),
                                     filtra_reshape(g, number, 4, (int64_t[]){1, 1, 1, n}));
  return filtra_activate(g, filtra_affine(g, filtra_multiply(g, d, d), -1.0f, 1.0f),
                         FILTRA_ACTIVATION_RELU);
}

/* w x, with one w for each head. */
static filtra_tensor *times(filtra_graph *g, filtra_tensor *w, float fixed, int64_t heads,
                            filtra_tensor *x) {
  if (!w) return filtra_affine(g, x, fixed, 0.0f);
  return filtra_multiply(g, filtra_reshape(g, w, 4, (int64_t[]){1, heads, 1, 1}), x);
}

filtra_tensor *ft_formed_filter(filtra_graph *g, filtra_tensor *const qkv[3],
                                filtra_tensor *const w[3], const filtra_gfsa_options *o,
                                float dropout) {
  for (int i = 0; i < 3; i++)
    if (!ft_usable(g, qkv[i])) return NULL;
  const int64_t heads = qkv[0]->shape[1], n = qkv[0]->shape[2];
  const float more = (float)(o->order - 1);
  filtra_tensor *a = weights(g, qkv, &o->attention);
  filtra_tensor *power = filtra_add(g, filtra_affine(g, a, 1.0f - more, 0.0f),
                                    filtra_affine(g, filtra_matmul(g, a, a, NULL), more, 0.0f));
  filtra_tensor *h =
      filtra_add(g, times(g, w[1], o->w1, heads, a), times(g, w[2], o->wK, heads, power));
  h = filtra_add(g, h, times(g, w[0], o->w0, heads, identity(g, n)));
  return filtra_matmul(g, filtra_dropout(g, h, dropout), qkv[2],
                       &(filtra_matmul_options){.token_major = true});
}
