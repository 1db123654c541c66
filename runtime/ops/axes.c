/* Permutation of axes, and slices by index. Called by programs and mixers. */
#include "gather/contract.h"
#include "ops/reduce.h"

#include <filtra/ops.h>
#include <string.h>

/* ---- permutation ---- */

struct permute {
  filtra_tensor *x, *y;
  int order[FILTRA_MAX_DIMS];
};

/* A view of t, which has x's shape, with its axes in that order. */
static filtra_tensor *reordered(filtra_graph *g, filtra_tensor *t, const int *order) {
  int64_t shape[FILTRA_MAX_DIMS], stride[FILTRA_MAX_DIMS];
  for (int i = 0; i < t->ndim; i++) {
    shape[i] = t->shape[order[i]];
    stride[i] = t->stride[order[i]];
  }
  return ft_tensor_view(g, t, t->ndim, shape, stride);
}

static void permute_backward(filtra_graph *g, const void *context) {
  const struct permute *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) ft_emit_copy(g, ft_grad(g, c->y), reordered(g, dx, c->order), accumulate);
}

filtra_tensor *filtra_permute(filtra_graph *g, filtra_tensor *x, const int *order) {
  if (!ft_usable(g, x)) return NULL;
  unsigned seen = 0;
  for (int i = 0; order && i < x->ndim; i++)
    if (order && order[i] >= 0 && order[i] < x->ndim) seen |= 1u << order[i];
  if (seen != (1u << x->ndim) - 1)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "permute: the order of %s %s must name each axis from 0 to %d once",
                         x->name, ft_shape_text(x), x->ndim - 1);
  filtra_tensor *from = reordered(g, x, order);
  if (!from) return NULL;
  struct permute call = {
      .x = x, .y = ft_tensor_new(g, "permute", filtra_tensor_dtype(x), x->ndim, from->shape)};
  if (!call.y) return NULL;
  memcpy(call.order, order, (size_t)x->ndim * sizeof *order);
  ft_emit_copy(g, from, call.y, false);
  return ft_record_op(g, "permute", permute_backward, &call, sizeof call, 1, &x, 1, &call.y);
}

filtra_tensor *filtra_transpose(filtra_graph *g, filtra_tensor *x, int first, int second) {
  if (!ft_usable(g, x)) return NULL;
  if (first < 0 || first >= x->ndim || second < 0 || second >= x->ndim)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "transpose: axes %d and %d of %s %s, accepted are 0 to %d", first, second,
                         x->name, ft_shape_text(x), x->ndim - 1);
  int order[FILTRA_MAX_DIMS] = {0, 1, 2, 3};
  order[first] = second;
  order[second] = first;
  return filtra_permute(g, x, order);
}

/* ---- slices by index ---- */

struct gather {
  filtra_tensor *x, *indices, *y;
  ft_axis axis; /* of x */
};

/* Dense t [outer, n, inner] as a view [n, outer, inner]. */
static filtra_tensor *axis_first(filtra_graph *g, filtra_tensor *t, ft_axis axis, int64_t n) {
  return ft_tensor_view(g, t, 3, (int64_t[]){n, axis.outer, axis.inner},
                        (int64_t[]){axis.inner, n * axis.inner, 1});
}

/* As an embedding's gradient, with the axis first: for each slice the sum over its uses. */
static void gather_backward(filtra_graph *g, const void *context) {
  const struct gather *c = context;
  const char *label = "gather.backward";
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate), *dy = ft_grad(g, c->y);
  if (!dx) return;
  int64_t taken = c->indices->shape[0];
  if (c->axis.outer == 1) {
    ft_emit_rows_gradient(g, label, c->indices, dy, dx, c->axis.n, accumulate);
    return;
  }
  filtra_tensor *rows =
      ft_tensor_new(g, label, FILTRA_F32, 3, (int64_t[]){taken, c->axis.outer, c->axis.inner});
  filtra_tensor *sums =
      ft_tensor_new(g, label, FILTRA_F32, 3, (int64_t[]){c->axis.n, c->axis.outer, c->axis.inner});
  if (!rows || !sums) return;
  ft_emit_copy(g, axis_first(g, dy, c->axis, taken), rows, false);
  ft_emit_rows_gradient(g, label, c->indices, rows, sums, c->axis.n, false);
  ft_emit_copy(g, sums, axis_first(g, dx, c->axis, c->axis.n), accumulate);
}

filtra_tensor *filtra_gather(filtra_graph *g, filtra_tensor *x, int axis, filtra_tensor *indices) {
  if (!ft_usable_axis(g, x, axis, true, "gather") ||
      !ft_usable_integers(g, indices, 1, "gather", "indices"))
    return NULL;
  if (!filtra_tensor_elements(x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gather: x (%s %s) is empty", x->name,
                         ft_shape_text(x));
  int64_t shape[FILTRA_MAX_DIMS], taken = indices->shape[0];
  int ndim = filtra_tensor_shape(x, shape);
  shape[axis] = taken;
  struct gather call = {x, indices, ft_tensor_new(g, "gather", FILTRA_F32, ndim, shape),
                        ft_axis_of(x, axis)};
  if (!call.y) return NULL;
  const uint32_t count = (uint32_t)filtra_tensor_elements(call.y);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = "gather",
                     .kernel = "gather/gather",
                     FT_ARGUMENTS(gather_gather, .x = FT_READ(x), .indices = FT_READ(indices),
                                  .y = FT_WRITE(call.y), .count = count, .n = (uint32_t)call.axis.n,
                                  .taken = (uint32_t)taken, .inner = (uint32_t)call.axis.inner),
                     FT_FLAT(g, count),
                     .bytes = 8.0 * count});
  return ft_record_op(g, "gather", gather_backward, &call, sizeof call, 1, &x, 1, &call.y);
}
