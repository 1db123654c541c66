/* Slices of tensors, and concatenation. Called by programs, mixers and models. */
#include "ops/support.h"

#include <filtra/ops.h>
#include <string.h>

/* ---- slices ---- */

struct slice {
  filtra_tensor *x, *y;
  int64_t start[FILTRA_MAX_DIMS];
};

/* A view of the slice in t, which has x's shape. */
static filtra_tensor *box(filtra_graph *g, filtra_tensor *t, const struct slice *s) {
  filtra_tensor *view = ft_tensor_view(g, t, t->ndim, s->y->shape, t->stride);
  if (!view || !filtra_tensor_elements(view)) return view;
  for (int i = 0; i < t->ndim; i++)
    view->offset += s->start[i] * t->stride[i];
  return view;
}

static void slice_backward(filtra_graph *g, const void *context) {
  const struct slice *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  if (!accumulate) ft_emit_fill(g, dx, 0);
  ft_emit_copy(g, ft_grad(g, c->y), box(g, dx, c), true);
}

filtra_tensor *filtra_slice(filtra_graph *g, filtra_tensor *x, const int64_t *start,
                            const int64_t *shape) {
  if (!ft_usable(g, x)) return NULL;
  if (!start || !shape)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "slice: start or shape is NULL");
  for (int i = 0; i < x->ndim; i++)
    if (start[i] < 0 || shape[i] < 0 || start[i] > x->shape[i] || shape[i] > x->shape[i] - start[i])
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                           "slice: %lld elements from %lld on lie outside axis %d of %s %s",
                           (long long)shape[i], (long long)start[i], i, x->name, ft_shape_text(x));
  struct slice call = {.x = x,
                       .y = ft_tensor_new(g, "slice", filtra_tensor_dtype(x), x->ndim, shape)};
  if (!call.y) return NULL;
  memcpy(call.start, start, (size_t)x->ndim * sizeof *start);
  ft_emit_copy(g, box(g, x, &call), call.y, false);
  return ft_record_op(g, "slice", slice_backward, &call, sizeof call, 1, &x, 1, &call.y);
}

/* ---- concatenation ---- */

enum { MAX_PARTS = 8 };

struct concat {
  filtra_tensor *x[MAX_PARTS], *y;
  int axis, count;
};

/* A view of where part i is in t, which has y's shape; the part begins at `at` along the axis. */
static filtra_tensor *place(filtra_graph *g, filtra_tensor *t, const struct concat *c, int i,
                            int64_t at) {
  filtra_tensor *view = ft_tensor_view(g, t, t->ndim, c->x[i]->shape, t->stride);
  if (view && filtra_tensor_elements(view)) view->offset += at * t->stride[c->axis];
  return view;
}

static void concat_backward(filtra_graph *g, const void *context) {
  const struct concat *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  int64_t at = 0;
  for (int i = 0; i < c->count; at += c->x[i++]->shape[c->axis]) {
    bool accumulate;
    filtra_tensor *dx = ft_grad_target(g, c->x[i], &accumulate);
    if (dx) ft_emit_copy(g, place(g, dy, c, i, at), dx, accumulate);
  }
}

static bool fits(const filtra_tensor *x, const filtra_tensor *first, int axis) {
  if (filtra_tensor_dtype(x) != filtra_tensor_dtype(first) || x->ndim != first->ndim) return false;
  for (int i = 0; i < x->ndim; i++)
    if (i != axis && x->shape[i] != first->shape[i]) return false;
  return true;
}

filtra_tensor *filtra_concat(filtra_graph *g, int axis, int count, filtra_tensor *const *x) {
  struct concat call = {.axis = axis, .count = count};
  int64_t shape[FILTRA_MAX_DIMS], total = 0, at = 0;
  if (count < 1 || count > MAX_PARTS)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "concat: %d tensors, accepted are 1 to %d",
                         count, MAX_PARTS);
  for (int i = 0; i < count; i++) {
    if (!ft_usable(g, x ? x[i] : NULL)) return NULL;
    if (axis < 0 || axis >= x[0]->ndim || !fits(x[i], x[0], axis))
      return ft_graph_fail(
          g, FILTRA_ERROR_ARGUMENT, "concat: %s %s %s does not continue %s %s %s along axis %d",
          x[i]->name, filtra_dtype_name(filtra_tensor_dtype(x[i])), ft_shape_text(x[i]), x[0]->name,
          filtra_dtype_name(filtra_tensor_dtype(x[0])), ft_shape_text(x[0]), axis);
    total += x[i]->shape[axis];
    call.x[i] = x[i];
  }
  int ndim = filtra_tensor_shape(x[0], shape);
  shape[axis] = total;
  call.y = ft_tensor_new(g, "concat", filtra_tensor_dtype(x[0]), ndim, shape);
  if (!call.y) return NULL;
  for (int i = 0; i < count; at += x[i++]->shape[axis])
    ft_emit_copy(g, x[i], place(g, call.y, &call, i, at), false);
  return ft_record_op(g, "concat", concat_backward, &call, sizeof call, count, x, 1, &call.y);
}
