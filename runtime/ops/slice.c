/* Boxes cut out of tensors. */
#include "ops/support.h"

#include <string.h>

struct slice {
  filtra_tensor *x, *y;
  int64_t start[FILTRA_MAX_DIMS];
};

/* The slice's box within t, which has x's shape. */
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
  for (int i = 0; i < x->ndim; i++)
    if (start[i] < 0 || shape[i] < 0 || start[i] > x->shape[i] || shape[i] > x->shape[i] - start[i])
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                           "slice: %lld elements from %lld on lie outside axis %d of %s %s",
                           (long long)shape[i], (long long)start[i], i, x->name, ft_shape_text(x));
  struct slice call = {.x = x, .y = ft_tensor_new(g, "slice", x->dtype, x->ndim, shape)};
  if (!call.y) return NULL;
  memcpy(call.start, start, (size_t)x->ndim * sizeof *start);
  ft_emit_copy(g, box(g, x, &call), call.y, false);
  struct slice *c = ft_tape(g, "slice", slice_backward, sizeof *c, 1, &x, 1, &call.y);
  if (!c) return NULL;
  *c = call;
  return c->y;
}
