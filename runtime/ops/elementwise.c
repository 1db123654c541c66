/* Element by element: copy, fill, affine, activation; sums over the first axis. */
#include "ops/support.h"

#include <filtra/ops.h>
#include <string.h>

/* ---- copy and fill ---- */

/* As in shaders/elementwise/copy.comp. */
enum { COPY = 0, ADD = 1, FILL = 2 };

struct copy_push {
  uint32_t count, value, shape[3], x_stride[4], y_stride[4];
};

/* Whether the tensor's elements fill one run of bytes, in whatever order. */
static bool packed(const filtra_tensor *t) {
  int64_t extent = 1;
  for (int i = 0; i < t->ndim; i++)
    extent += (t->shape[i] - 1) * t->stride[i];
  return extent == filtra_tensor_elements(t);
}

static bool same_layout(const filtra_tensor *x, const filtra_tensor *y) {
  if (ft_dense(x) && ft_dense(y)) return true;
  return ft_same_shape(x, y) && packed(x) && packed(y) &&
         !memcmp(x->stride, y->stride, (size_t)x->ndim * sizeof *x->stride);
}

static void strides4(const filtra_tensor *t, uint32_t stride[4]) {
  for (int i = 0; i < t->ndim; i++)
    stride[FILTRA_MAX_DIMS - t->ndim + i] = (uint32_t)t->stride[i];
}

static void emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, uint32_t mode,
                      uint32_t value) {
  bool strided = x ? !same_layout(x, y) : !packed(y);
  if (x && strided && !ft_same_shape(x, y)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "copy: %s %s and %s %s are stored differently", x->name,
                  ft_shape_text(x), y->name, ft_shape_text(y));
    return;
  }
  struct copy_push push = {.count = (uint32_t)filtra_tensor_elements(y), .value = value};
  if (x) strides4(x, push.x_stride);
  strides4(y, push.y_stride);
  for (int i = 1; i < FILTRA_MAX_DIMS; i++) {
    int axis = i - (FILTRA_MAX_DIMS - y->ndim);
    push.shape[i - 1] = axis >= 0 ? (uint32_t)y->shape[axis] : 1;
  }
  ft_call(g, &(ft_kernel_call){.label = mode == FILL ? "fill" : "copy",
                               .kernel = "elementwise/copy",
                               .args = {FT_READ(x), FT_TARGET(y, mode == ADD)},
                               .push = &push,
                               .push_size = sizeof push,
                               .workgroup = FT_FLAT_WORKGROUP,
                               .spec = {mode, strided},
                               .spec_count = 2,
                               .groups = {ft_flat_groups(g, push.count)},
                               .bytes = 4.0 * push.count *
                                        (mode == FILL  ? 1
                                         : mode == ADD ? 3
                                                       : 2)});
}

void ft_emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate) {
  if (!ft_usable(g, x) || !ft_usable(g, y)) return;
  if (filtra_tensor_elements(x) != filtra_tensor_elements(y)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "copy: %s %s does not fit %s %s", x->name,
                  ft_shape_text(x), y->name, ft_shape_text(y));
    return;
  }
  emit_copy(g, x, y, accumulate ? ADD : COPY, 0);
}

void ft_emit_fill(filtra_graph *g, filtra_tensor *y, float value) {
  if (!ft_usable(g, y)) return;
  uint32_t word = (uint32_t)(int32_t)value;
  if (y->dtype == FILTRA_F32) memcpy(&word, &value, sizeof word);
  emit_copy(g, NULL, y, FILL, word);
}

/* ---- sum over the first axis ---- */

void ft_emit_sum_leading(filtra_graph *g, const char *label, const filtra_tensor *x,
                         const filtra_tensor *y, bool accumulate) {
  uint32_t slices = (uint32_t)x->shape[0], elements = (uint32_t)filtra_tensor_elements(x);
  uint32_t push[] = {(uint32_t)filtra_tensor_elements(y), slices ? elements / slices : 0, slices};
  ft_call(g, &(ft_kernel_call){.label = label,
                               .kernel = "elementwise/sum_leading",
                               .args = {FT_READ(x), FT_TARGET(y, accumulate)},
                               .push = push,
                               .push_size = sizeof push,
                               .workgroup = FT_FLAT_WORKGROUP,
                               .spec = {accumulate},
                               .spec_count = 1,
                               .groups = {ft_flat_groups(g, push[0])},
                               .flops = elements,
                               .bytes = 4.0 * elements});
}

/* ---- affine ---- */

struct affine {
  filtra_tensor *x, *y;
  float scale;
};

static void emit_affine(filtra_graph *g, const char *label, const filtra_tensor *x,
                        const filtra_tensor *y, float scale, float offset, bool accumulate) {
  struct {
    uint32_t count;
    float scale, offset;
  } push = {(uint32_t)filtra_tensor_elements(y), scale, offset};
  ft_call(g, &(ft_kernel_call){.label = label,
                               .kernel = "elementwise/affine",
                               .args = {FT_READ(x), FT_TARGET(y, accumulate)},
                               .push = &push,
                               .push_size = sizeof push,
                               .workgroup = FT_FLAT_WORKGROUP,
                               .spec = {accumulate},
                               .spec_count = 1,
                               .groups = {ft_flat_groups(g, push.count)},
                               .flops = 2.0 * push.count,
                               .bytes = 8.0 * push.count});
}

static void affine_backward(filtra_graph *g, const void *context) {
  const struct affine *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_affine(g, "affine.backward", ft_grad(g, c->y), dx, c->scale, 0, accumulate);
}

filtra_tensor *filtra_affine(filtra_graph *g, filtra_tensor *x, float scale, float offset) {
  if (!ft_usable_dense(g, x, "affine", "x")) return NULL;
  filtra_tensor *y = ft_tensor_like(g, x, "affine");
  if (!y) return NULL;
  emit_affine(g, "affine", x, y, scale, offset, false);
  struct affine *c = ft_tape(g, "affine", affine_backward, sizeof *c, 1, &x, 1, &y);
  if (!c) return NULL;
  *c = (struct affine){x, y, scale};
  return y;
}

/* ---- activation ---- */

struct activate {
  filtra_tensor *x, *y;
  filtra_activation activation;
};

/* dy NULL: forward. */
static void emit_activate(filtra_graph *g, const struct activate *c, const filtra_tensor *dy,
                          const filtra_tensor *to, bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(to);
  ft_call(g, &(ft_kernel_call){.label = dy ? "activate.backward" : "activate",
                               .kernel = "elementwise/activate",
                               .args = {FT_READ(c->x), FT_READ(dy), FT_TARGET(to, accumulate)},
                               .push = &count,
                               .push_size = sizeof count,
                               .workgroup = FT_FLAT_WORKGROUP,
                               .spec = {c->activation, dy != NULL, accumulate},
                               .spec_count = 3,
                               .groups = {ft_flat_groups(g, count)},
                               .bytes = (dy ? 12.0 : 8.0) * count});
}

static void activate_backward(filtra_graph *g, const void *context) {
  const struct activate *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_activate(g, c, ft_grad(g, c->y), dx, accumulate);
}

filtra_tensor *filtra_activate(filtra_graph *g, filtra_tensor *x, filtra_activation activation) {
  if (!ft_usable_dense(g, x, "activate", "x")) return NULL;
  if (activation == FILTRA_ACTIVATION_NONE) return x;
  if (!ft_known_activation(g, activation, "activate")) return NULL;
  struct activate call = {x, ft_tensor_like(g, x, "activate"), activation};
  if (!call.y) return NULL;
  emit_activate(g, &call, NULL, call.y, false);
  struct activate *c = ft_tape(g, "activate", activate_backward, sizeof *c, 1, &x, 1, &call.y);
  if (!c) return NULL;
  *c = call;
  return c->y;
}
