/* Add, subtract, multiply and divide two tensors, element by element, with broadcasting. Called by
 * programs, mixers and models. */
#include "elementwise/contract.h"
#include "fused/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>
#include <string.h>

static const char *const NAMES[] = {"add", "multiply", "subtract", "divide"};
static const char *const BACKWARD[] = {"add.backward", "multiply.backward", "subtract.backward",
                                       "divide.backward"};

static const uint32_t STEPS[] = {
    [BINARY_ADD] = STEP_ADD,
    [BINARY_MULTIPLY] = STEP_MULTIPLY,
    [BINARY_SUBTRACT] = STEP_SUBTRACT,
    [BINARY_DIVIDE] = STEP_DIVIDE,
    [BINARY_MINUS_PRODUCT] = STEP_MINUS_PRODUCT,
};

struct binary {
  filtra_tensor *a, *b, *y;
  uint32_t operation;
};

/* Strides of t for y's axes; 0 for axes along which t is repeated. */
static void strides(const filtra_tensor *t, const filtra_tensor *y, int64_t to[FILTRA_MAX_DIMS]) {
  for (int i = 0; i < y->ndim; i++) {
    int own = i - (y->ndim - t->ndim);
    to[i] = own >= 0 && t->shape[own] == y->shape[i] ? t->stride[own] : 0;
  }
}

static bool spread(const filtra_tensor *t, const filtra_tensor *y) {
  return filtra_tensor_elements(t) != filtra_tensor_elements(y);
}

static void emit_binary(filtra_graph *g, const char *label, uint32_t operation,
                        const filtra_tensor *a, const filtra_tensor *b, const filtra_tensor *y,
                        bool accumulate) {
  const bool quads = ft_begins_quad(a) && ft_begins_quad(b) && ft_begins_quad(y);
  const int64_t count = filtra_tensor_elements(y);
  int64_t a_stride[FILTRA_MAX_DIMS], b_stride[FILTRA_MAX_DIMS];
  strides(a, y, a_stride);
  strides(b, y, b_stride);
  const ft_axes axes = ft_axes_of(y->ndim, y->shape, a_stride, b_stride, quads, true);
  struct ft_elementwise_binary_arguments given = {
      .a = FT_READ(a), .b = FT_READ(b), .y = FT_TARGET(y, accumulate)};
  FT_SET_AXES(given, axes);
  ft_record_call(g, &(ft_kernel_call){.label = label,
                                      .kernel = "elementwise/binary",
                                      .cheap = true,
                                      .step = {.operation = STEPS[operation]},
                                      FT_ARGUMENTS_AT(elementwise_binary, &given),
                                      FT_CONSTANTS(elementwise_binary, .operation = operation,
                                                   .accumulate = accumulate, .AXES = axes.axes,
                                                   .WHOLE = axes.whole, .REPEATED = axes.repeated),
                                      FT_FLAT(g, count),
                                      .flops = (double)count,
                                      .bytes = 4.0 * (double)(filtra_tensor_elements(a) +
                                                              filtra_tensor_elements(b) + count)});
}

/* Adds to the gradient of the input `to`: first op second, of y's shape. */
static void contribute(filtra_graph *g, const struct binary *c, filtra_tensor *to, uint32_t op,
                       const filtra_tensor *first, const filtra_tensor *second) {
  const char *label = BACKWARD[c->operation];
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, to, &accumulate);
  if (!target) return;
  if (!spread(to, c->y)) { /* it may have fewer axes */
    target = filtra_reshape(g, target, c->y->ndim, c->y->shape);
    if (target) emit_binary(g, label, op, first, second, target, accumulate);
    return;
  }
  filtra_tensor *whole = ft_tensor_new(g, label, FILTRA_F32, c->y->ndim, c->y->shape);
  if (!whole) return;
  emit_binary(g, label, op, first, second, whole, false);
  ft_emit_sum_to(g, label, whole, 1, target, accumulate);
}

static void sum_backward(filtra_graph *g, const void *context) {
  const struct binary *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  const char *label = BACKWARD[c->operation];
  bool accumulate;
  filtra_tensor *db = ft_grad_target(g, c->b, &accumulate);
  if (db && c->operation == BINARY_ADD && !spread(c->b, c->y))
    ft_emit_copy(g, dy, db, accumulate);
  else if (db)
    ft_emit_sum_to(g, label, dy, c->operation == BINARY_ADD ? 1 : -1, db, accumulate);
  if (!spread(c->a, c->y)) {
    ft_grad_give(g, c->a, dy);
    return;
  }
  filtra_tensor *da = ft_grad_target(g, c->a, &accumulate);
  if (da) ft_emit_sum_to(g, label, dy, 1, da, accumulate);
}

static void multiply_backward(filtra_graph *g, const void *context) {
  const struct binary *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  contribute(g, c, c->a, BINARY_MULTIPLY, dy, c->b);
  contribute(g, c, c->b, BINARY_MULTIPLY, dy, c->a);
}

/* d(a/b) = da / b - (a/b) / b db */
static void divide_backward(filtra_graph *g, const void *context) {
  const struct binary *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  contribute(g, c, c->a, BINARY_DIVIDE, dy, c->b);
  if (!c->b->requires_grad) return;
  filtra_tensor *slope = ft_tensor_new(g, "divide.backward", FILTRA_F32, c->y->ndim, c->y->shape);
  if (!slope) return;
  emit_binary(g, "divide.backward", BINARY_DIVIDE, c->y, c->b, slope, false);
  contribute(g, c, c->b, BINARY_MINUS_PRODUCT, dy, slope);
}

/* The shape of both after broadcasting; false if they do not broadcast. */
static bool common_shape(const filtra_tensor *a, const filtra_tensor *b, int ndim,
                         int64_t shape[FILTRA_MAX_DIMS]) {
  for (int i = 0; i < ndim; i++) {
    int ia = a->ndim - ndim + i, ib = b->ndim - ndim + i;
    int64_t na = ia >= 0 ? a->shape[ia] : 1, nb = ib >= 0 ? b->shape[ib] : 1;
    if (na != nb && na != 1 && nb != 1) return false;
    shape[i] = na == 1 ? nb : na;
  }
  return true;
}

static filtra_tensor *binary(filtra_graph *g, filtra_tensor *a, filtra_tensor *b,
                             uint32_t operation, ft_backward_fn backward) {
  const char *op = NAMES[operation];
  if (!ft_usable_dense(g, a, op, "a") || !ft_usable_dense(g, b, op, "b")) return NULL;
  int ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  if (!common_shape(a, b, ndim, shape))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "%s: %s %s and %s %s do not broadcast: aligned at the last axis, lengths "
                         "must be equal or 1",
                         op, a->name, ft_shape_text(a), b->name, ft_shape_text(b));
  filtra_tensor *y = ft_tensor_new(g, op, FILTRA_F32, ndim, shape);
  if (!y) return NULL;
  emit_binary(g, op, operation, a, b, y, false);
  const struct binary call = {a, b, y, operation};
  return ft_record_op(g, op, backward, &call, sizeof call, 2, (filtra_tensor *[]){a, b}, 1, &y);
}

filtra_tensor *filtra_add(filtra_graph *g, filtra_tensor *a, filtra_tensor *b) {
  return binary(g, a, b, BINARY_ADD, sum_backward);
}

filtra_tensor *filtra_subtract(filtra_graph *g, filtra_tensor *a, filtra_tensor *b) {
  return binary(g, a, b, BINARY_SUBTRACT, sum_backward);
}

filtra_tensor *filtra_multiply(filtra_graph *g, filtra_tensor *a, filtra_tensor *b) {
  return binary(g, a, b, BINARY_MULTIPLY, multiply_backward);
}

filtra_tensor *filtra_divide(filtra_graph *g, filtra_tensor *a, filtra_tensor *b) {
  return binary(g, a, b, BINARY_DIVIDE, divide_backward);
}
