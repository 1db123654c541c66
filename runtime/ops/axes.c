/* Axes in another order, and slices taken by index. */
#include "ops/support.h"

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
  struct permute *c = ft_tape(g, "permute", permute_backward, sizeof *c, 1, &x, 1, &call.y);
  if (!c) return NULL;
  *c = call;
  return c->y;
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

/* x with the axis moved to the front is a table of rows, and indices are its tokens. */
filtra_tensor *filtra_gather(filtra_graph *g, filtra_tensor *x, int axis, filtra_tensor *indices) {
  if (!ft_usable_dense(g, x, "gather", "x") ||
      !ft_usable_integers(g, indices, 1, "gather", "indices"))
    return NULL;
  if (axis < 0 || axis >= x->ndim)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gather: axis %d of %s %s, accepted are 0 to %d",
                         axis, x->name, ft_shape_text(x), x->ndim - 1);
  if (!filtra_tensor_elements(x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gather: x (%s %s) is empty", x->name,
                         ft_shape_text(x));
  int to_front[FILTRA_MAX_DIMS] = {axis}, back[FILTRA_MAX_DIMS];
  for (int i = 0; i < x->ndim; i++) {
    if (i < axis) to_front[i + 1] = i;
    if (i > axis) to_front[i] = i;
  }
  for (int i = 0; i < x->ndim; i++)
    back[to_front[i]] = i;
  filtra_tensor *front = axis ? filtra_permute(g, x, to_front) : x;
  if (!front) return NULL;
  int64_t shape[FILTRA_MAX_DIMS], count = indices->shape[0];
  int ndim = filtra_tensor_shape(front, shape);
  filtra_tensor *table =
      filtra_reshape(g, front, 2, (int64_t[]){shape[0], filtra_tensor_elements(front) / shape[0]});
  filtra_tensor *rows =
      filtra_embedding(g, table, filtra_reshape(g, indices, 2, (int64_t[]){1, count}));
  shape[0] = count;
  rows = filtra_reshape(g, rows, ndim, shape);
  return axis ? filtra_permute(g, rows, back) : rows;
}
