/* Prefix sums along an axis: sums of chunks, prefix sums over those, then a walk through each
 * chunk. O(n) work, and no workgroup waits for another. */
#include "cumulative/contract.h"
#include "ops/reduce.h"

#include <filtra/ops.h>

struct cumulative {
  filtra_tensor *x, *y;
  ft_axis axis;
  bool reverse;
};

enum { CHUNK = 64 };

static void emit_walk(filtra_graph *g, const char *label, const filtra_tensor *x,
                      const filtra_tensor *before, ft_axis axis, bool reverse, bool sums,
                      const filtra_tensor *y, bool accumulate) {
  int64_t chunks = ft_axis_parts(axis), walks = axis.outer * chunks * axis.inner;
  double count = (double)(axis.outer * axis.n * axis.inner);
  ft_record_call(
      g, &(ft_kernel_call){.label = label,
                           .kernel = "cumulative/sum",
                           FT_ARGUMENTS(cumulative_sum, .x = FT_READ(x), .before = FT_READ(before),
                                        .y = FT_TARGET(y, accumulate), .count = (uint32_t)walks,
                                        .n = (uint32_t)axis.n, .inner = (uint32_t)axis.inner,
                                        .chunk = CHUNK, .chunks = (uint32_t)chunks),
                           FT_CONSTANTS(cumulative_sum, .sums = sums, .reversed = reverse,
                                        .accumulate = accumulate),
                           FT_FLAT(g, walks),
                           .flops = count,
                           .bytes = (sums ? 4.0 : 8.0) * count});
}

/* Recursive: prefix sums over the chunks, a 64th as many. */
static void emit_cumulative(filtra_graph *g, const char *label, const filtra_tensor *x,
                            ft_axis axis, bool reverse, const filtra_tensor *y, bool accumulate) {
  const filtra_tensor *before = NULL;
  int64_t chunks = ft_axis_parts(axis);
  if (chunks > 1) {
    const int64_t shape[] = {axis.outer, chunks, axis.inner};
    filtra_tensor *sums = ft_tensor_new(g, label, FILTRA_F32, 3, shape);
    filtra_tensor *prefix = ft_tensor_new(g, label, FILTRA_F32, 3, shape);
    if (!sums || !prefix) return;
    emit_walk(g, label, x, NULL, axis, reverse, true, sums, false);
    emit_cumulative(g, label, sums, (ft_axis){axis.outer, chunks, axis.inner}, reverse, prefix,
                    false);
    before = prefix;
  }
  emit_walk(g, label, x, before, axis, reverse, false, y, accumulate);
}

/* The gradient of an element is the sum of the gradients of all prefix sums that include it. */
static void cumulative_backward(filtra_graph *g, const void *context) {
  const struct cumulative *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx)
    emit_cumulative(g, "cumulative_sum.backward", ft_grad(g, c->y), c->axis, !c->reverse, dx,
                    accumulate);
}

filtra_tensor *filtra_cumulative_sum(filtra_graph *g, filtra_tensor *x, int axis,
                                     filtra_direction direction) {
  const bool reverse = direction == FILTRA_BACKWARD;
  if (!ft_known_choice(g, (int)direction, FILTRA_BACKWARD, "cumulative_sum", "direction") ||
      !ft_usable_axis(g, x, axis, false, "cumulative_sum"))
    return NULL;
  struct cumulative call = {x, ft_tensor_new(g, "cumulative_sum", FILTRA_F32, x->ndim, x->shape),
                            ft_axis_of(x, axis), reverse};
  if (!call.y) return NULL;
  emit_cumulative(g, "cumulative_sum", x, call.axis, reverse, call.y, false);
  return ft_record_op(g, "cumulative_sum", cumulative_backward, &call, sizeof call, 1, &x, 1,
                      &call.y);
}
