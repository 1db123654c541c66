/* Called by nn/mixer/gfsa.c. */
#include "nn/formed_filter.h"

#include "nn/feature_attention.h"

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

/* w0 x + w1 A x + wK (A x + (K-1) (A A x - A x)) of x, A x and A A x [B,H,..]; H if x is the
 * identity. */
static filtra_tensor *combine(filtra_graph *g, filtra_tensor *const w[3],
                              const filtra_gfsa_options *o, filtra_tensor *x, filtra_tensor *ax,
                              filtra_tensor *aax) {
  if (!ft_usable(g, ax)) return NULL;
  const int64_t heads = ax->shape[1];
  const float more = (float)(o->order - 1);
  filtra_tensor *power =
      filtra_add(g, filtra_affine(g, ax, 1.0f - more, 0.0f), filtra_affine(g, aax, more, 0.0f));
  filtra_tensor *h =
      filtra_add(g, times(g, w[1], o->w1, heads, ax), times(g, w[2], o->wK, heads, power));
  return filtra_add(g, h, times(g, w[0], o->w0, heads, x));
}

/* x in another type. */
static filtra_tensor *in_type(filtra_graph *g, filtra_tensor *x, filtra_dtype dtype) {
  return filtra_tensor_dtype(x) == dtype ? x : filtra_cast(g, x, dtype);
}

/* H v without forming H. A v is rounded to v's type before A is applied to it again. */
static filtra_tensor *apply_twice(const ft_scope *scope, filtra_tensor *a, filtra_tensor *v,
                                  filtra_tensor *const w[3], const filtra_gfsa_options *o) {
  filtra_graph *g = scope->graph;
  filtra_tensor *u = filtra_matmul(g, a, filtra_scope_keep(scope, "v", v), NULL);
  filtra_tensor *again = in_type(g, u, filtra_tensor_dtype(v));
  filtra_tensor *au = filtra_matmul(g, a, filtra_scope_keep(scope, "u", again), NULL);
  filtra_tensor *own = in_type(g, ft_dense_heads(g, v), FILTRA_F32);
  filtra_tensor *y = ft_join_heads(g, combine(g, w, o, own, u, au));
  return filtra_split_heads(g, y, v->shape[1]);
}

filtra_tensor *ft_formed_filter(const ft_scope *scope, filtra_tensor *a, filtra_tensor *v,
                                filtra_tensor *const w[3], const filtra_gfsa_options *o,
                                float dropout) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, a) || !ft_usable(g, v)) return NULL;
  if (dropout == 0.0f) return apply_twice(scope, a, v, w, o);
  filtra_tensor *square = filtra_matmul(g, a, a, NULL);
  filtra_tensor *h = combine(g, w, o, identity(g, a->shape[3]), a, square);
  return filtra_matmul(g, filtra_dropout(g, h, dropout), v,
                       &(filtra_matmul_options){.token_major = true});
}
