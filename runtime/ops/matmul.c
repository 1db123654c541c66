/* Batched matrix products of tensors. Called by mixers, ops and programs through filtra_matmul. */
#include "ops/gemm.h"
#include "ops/support.h"

#include <math.h>
#include <string.h>

struct matmul {
  filtra_tensor *a, *b, *c;
  filtra_tensor *left, *right; /* a and b as the product reads them, both of one type */
  filtra_matmul_options options;
  int64_t m, n, k, outer, inner;
};

/* dC in the product's type. */
static filtra_tensor *upstream(filtra_graph *g, const struct matmul *s) {
  filtra_tensor *dc = ft_grad(g, s->c);
  const filtra_dtype dtype = filtra_tensor_dtype(s->left);
  if (filtra_tensor_dtype(dc) == dtype || !(s->a->requires_grad || s->b->requires_grad)) return dc;
  filtra_tensor *narrow = s->options.token_major
                              ? ft_tensor_token_major(g, "matmul.dc", dtype, dc->shape)
                              : ft_tensor_new(g, "matmul.dc", dtype, dc->ndim, dc->shape);
  ft_emit_cast(g, dc, narrow, false);
  return narrow;
}

/* With op(A) = A or A^T: dop(A) = scale dC op(B)^T, dop(B) = scale op(A)^T dC. The target is viewed
 * with the operand's transposition, so that dA and dB are written. The residual's gradient is dC:
 * where A is the residual, too, that is the residual of dA's product. */
static void matmul_backward(filtra_graph *g, const void *context) {
  const struct matmul *s = context;
  const filtra_matmul_options *o = &s->options;
  ft_gemm p = {.label = "matmul.backward", .outer = s->outer, .inner = s->inner, .scale = o->scale};
  const bool joined = o->residual == s->a && !o->transpose_a;
  filtra_tensor *dc = upstream(g, s), *target;
  if (!dc) return;
  target = ft_grad_target(g, s->a, &p.accumulate);
  if (target) {
    p.a = ft_matrix_of(dc, false);
    p.b = ft_matrix_of(s->right, !o->transpose_b);
    p.c = ft_matrix_of(target, o->transpose_a);
    p.m = s->m;
    p.n = s->k;
    p.k = s->n;
    p.residual = joined ? ft_grad(g, s->c) : NULL;
    ft_emit_gemm(g, &p);
  }
  target = ft_grad_target(g, s->b, &p.accumulate);
  if (target) {
    p.a = ft_matrix_of(s->left, !o->transpose_a);
    p.b = ft_matrix_of(dc, false);
    p.c = ft_matrix_of(target, o->transpose_b);
    p.m = s->k;
    p.n = s->n;
    p.k = s->m;
    p.residual = NULL;
    ft_emit_gemm(g, &p);
  }
  if (!joined) ft_grad_give(g, o->residual, ft_grad(g, s->c));
}

static bool usable(filtra_graph *g, const filtra_tensor *t, const char *argument) {
  if (!ft_usable_elements(g, t, "matmul", argument)) return false;
  if (t->ndim >= 2 && filtra_tensor_elements(t) > 0 &&
      (t->stride[t->ndim - 1] == 1 || t->shape[t->ndim - 1] == 1))
    return true;
  ft_graph_fail(
      g, FILTRA_ERROR_ARGUMENT,
      "matmul: %s (%s %s) must have 2 to 4 dimensions, none of them 0, and a dense last axis",
      argument, t->name, ft_shape_text(t));
  return false;
}

/* The type of both operands in the product. */
static filtra_dtype product_type(const struct matmul *s) {
  const filtra_dtype a = filtra_tensor_dtype(s->a);
  return a != FILTRA_F32 ? a : filtra_tensor_dtype(s->b);
}

static bool types_fit(filtra_graph *g, const struct matmul *s) {
  const filtra_dtype a = filtra_tensor_dtype(s->a), b = filtra_tensor_dtype(s->b);
  const filtra_dtype c = s->options.dtype, product = product_type(s);
  const filtra_tensor *rounded = a == b ? NULL : a == FILTRA_F32 ? s->a : s->b;
  if ((b == product || b == FILTRA_F32) && (c == product || c == FILTRA_F32) &&
      (!rounded || ft_dense(rounded)))
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "matmul: a %s is %s, b %s is %s, the result %s; both operands must have one type, "
                "or one of them be dense and F32, and the result that type or F32",
                s->a->name, filtra_dtype_name(a), s->b->name, filtra_dtype_name(b),
                filtra_dtype_name(c));
  return false;
}

static void emit_forward(filtra_graph *g, const struct matmul *s) {
  const filtra_matmul_options *o = &s->options;
  ft_emit_gemm(g, &(ft_gemm){.label = "matmul",
                             .a = ft_matrix_of(s->left, o->transpose_a),
                             .b = ft_matrix_of(s->right, o->transpose_b),
                             .c = ft_matrix_of(s->c, false),
                             .m = s->m,
                             .n = s->n,
                             .k = s->k,
                             .outer = s->outer,
                             .inner = s->inner,
                             .scale = o->scale,
                             .residual = o->residual});
}

static bool residual_fits(filtra_graph *g, const struct matmul *s, const int64_t *shape) {
  const filtra_tensor *r = s->options.residual;
  if (!r) return true;
  if (!ft_usable_dense(g, r, "matmul", "residual")) return false;
  const size_t bytes = (size_t)s->a->ndim * sizeof *shape;
  if (r->ndim == s->a->ndim && !memcmp(r->shape, shape, bytes) && !s->options.token_major &&
      s->options.dtype == FILTRA_F32)
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "matmul: residual (%s %s) must have the result's shape, and the result be F32 and "
                "not token_major",
                r->name, ft_shape_text(r));
  return false;
}

filtra_tensor *filtra_matmul(filtra_graph *g, filtra_tensor *a, filtra_tensor *b,
                             const filtra_matmul_options *options) {
  if (!usable(g, a, "a") || !usable(g, b, "b") ||
      !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_matmul_options, options)))
    return NULL;
  struct matmul s = {.a = a, .b = b};
  if (options) s.options = *options;
  if (!isfinite(s.options.scale))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "matmul: scale is %g, accepted are finite ones",
                         (double)s.options.scale);
  if (!types_fit(g, &s)) return NULL;
  const filtra_matmul_options *o = &s.options;
  int last = a->ndim - 1;
  size_t batch_bytes = (size_t)(last - 1) * sizeof *a->shape;
  s.m = a->shape[o->transpose_a ? last : last - 1];
  s.k = a->shape[o->transpose_a ? last - 1 : last];
  if (a->ndim != b->ndim || memcmp(a->shape, b->shape, batch_bytes) ||
      b->shape[o->transpose_b ? last : last - 1] != s.k)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "matmul: a%s %s %s and b%s %s %s do not fit",
                         o->transpose_a ? "^T" : "", a->name, ft_shape_text(a),
                         o->transpose_b ? "^T" : "", b->name, ft_shape_text(b));
  s.n = b->shape[o->transpose_b ? last - 1 : last];
  s.inner = last >= 2 ? a->shape[last - 2] : 1;
  s.outer = last == 3 ? a->shape[0] : 1;
  if (o->token_major && last != 3)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "matmul: token_major needs 4 dimensions, a is %s %s", a->name,
                         ft_shape_text(a));

  int64_t shape[FILTRA_MAX_DIMS];
  memcpy(shape, a->shape, sizeof shape);
  shape[last - 1] = s.m;
  shape[last] = s.n;
  if (!residual_fits(g, &s, shape)) return NULL;
  s.c = o->token_major ? ft_tensor_token_major(g, "matmul", o->dtype, shape)
                       : ft_tensor_new(g, "matmul", o->dtype, a->ndim, shape);
  s.left = ft_emit_in_type(g, a, product_type(&s), "matmul.a");
  s.right = ft_emit_in_type(g, b, product_type(&s), "matmul.b");
  if (!s.c || !s.left || !s.right) return NULL;
  emit_forward(g, &s);
  return ft_record_op(g, "matmul", matmul_backward, &s, sizeof s, 3,
                      (filtra_tensor *[]){a, b, o->residual}, 1, &s.c);
}
