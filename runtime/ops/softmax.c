/* Softmax along any axis: rows that a team holds whole in one call; else maximum and sum of each
 * row in steps, as in ops/reduce.c, then a pass over all elements. */
#include "ops/reduce.h"
#include "softmax/contract.h"

#include <filtra/ops.h>

struct softmax {
  filtra_tensor *x, *y;
  ft_axis axis;
};

/* Maximum of each row, and sum of exp(x - maximum). */
struct stats {
  const filtra_tensor *largest, *sum;
};

static struct stats emit_stats(filtra_graph *g, struct stats x, ft_axis axis, int64_t parts) {
  const int64_t shape[] = {axis.outer, parts, axis.inner};
  struct stats y = {ft_tensor_new(g, "softmax largest", FILTRA_F32, 3, shape),
                    ft_tensor_new(g, "softmax sum", FILTRA_F32, 3, shape)};
  const uint32_t count = (uint32_t)(axis.outer * parts * axis.inner);
  const double elements = (double)(axis.outer * axis.n * axis.inner);
  ft_record_call(
      g, &(ft_kernel_call){.label = "softmax",
                           .kernel = "softmax/stats",
                           FT_ARGUMENTS(softmax_stats, .x = FT_READ(x.largest),
                                        .x_sum = FT_READ(x.sum), .m = FT_WRITE(y.largest),
                                        .s = FT_WRITE(y.sum), .count = count, .n = (uint32_t)axis.n,
                                        .parts = (uint32_t)parts, .inner = (uint32_t)axis.inner),
                           FT_CONSTANTS(softmax_stats, .merge = x.sum != NULL),
                           FT_FLAT(g, count),
                           .flops = 2.0 * elements,
                           .bytes = 4.0 * elements + 8.0 * count});
  return y;
}

/* dy NULL: forward, `row` holds the maxima. Otherwise the gradient, `row` holds the sums of y dy.
 */
static void emit_apply(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *dy,
                       struct stats row, ft_axis axis, const filtra_tensor *y, bool accumulate) {
  const uint32_t count = (uint32_t)filtra_tensor_elements(y);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = dy ? "softmax.backward" : "softmax",
                     .kernel = "softmax/apply",
                     FT_ARGUMENTS(softmax_apply, .x = FT_READ(x), .dy = FT_READ(dy),
                                  .row = FT_READ(row.largest), .s = FT_READ(row.sum),
                                  .y = FT_TARGET(y, accumulate), .count = count,
                                  .n = (uint32_t)axis.n, .inner = (uint32_t)axis.inner),
                     FT_CONSTANTS(softmax_apply, .gradient = dy != NULL, .accumulate = accumulate),
                     FT_FLAT(g, count),
                     .flops = 3.0 * count,
                     .bytes = (dy ? 12.0 : 8.0) * count});
}

static void emit_steps(filtra_graph *g, const filtra_tensor *x, ft_axis axis,
                       const filtra_tensor *y) {
  struct stats stats = {x, NULL};
  ft_axis rest = axis;
  for (int64_t parts = 0; parts != 1; rest.n = parts) {
    parts = ft_axis_parts(rest);
    stats = emit_stats(g, stats, rest, parts);
  }
  emit_apply(g, x, NULL, stats, axis, y, false);
}

/* One call for rows that teams hold whole; false if they do not. dy as in emit_apply. */
static bool emit_rows(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *dy,
                      ft_axis axis, const filtra_tensor *y, bool accumulate) {
  filtra_device *dev = ft_graph_device(g);
  const bool in_pairs = ft_in_pairs(x) && ft_in_pairs(dy) && ft_in_pairs(y);
  const ft_row_part part = ft_f32_row_parts(dev, axis.outer, axis.n, in_pairs);
  if (axis.inner != 1 || !part.whole) return false;
  const double elements = (double)(axis.outer * axis.n);
  ft_record_call(
      g, &(ft_kernel_call){.label = dy ? "softmax.backward" : "softmax",
                           .kernel = ft_row_kernel(dev, "softmax/rows", FILTRA_F32, &part),
                           FT_ARGUMENTS(softmax_rows, .x = FT_READ(x), .dy = FT_READ(dy),
                                        .y = FT_TARGET(y, accumulate), .rows = (uint32_t)axis.outer,
                                        .columns = (uint32_t)axis.n),
                           FT_CONSTANTS(softmax_rows, .HELD = part.held, .WHOLE = part.whole,
                                        .gradient = dy != NULL, .accumulate = accumulate),
                           .workgroup = part.grid.workgroup,
                           .subgroup = part.subgroup,
                           .groups = {part.grid.groups},
                           .flops = 5.0 * elements,
                           .bytes = (dy ? 12.0 : 8.0) * elements});
  return true;
}

static void softmax_backward(filtra_graph *g, const void *context) {
  const struct softmax *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate), *dy = ft_grad(g, c->y);
  if (!dx || emit_rows(g, c->y, dy, c->axis, dx, accumulate)) return;
  filtra_tensor *dot = ft_tensor_new(g, "softmax.backward", FILTRA_F32, 2,
                                     (int64_t[]){c->axis.outer, c->axis.inner});
  if (!dot) return;
  ft_emit_axis_sum(g, "softmax.backward", c->y, dy, c->axis, 1, 0, dot, false);
  emit_apply(g, c->y, dy, (struct stats){dot, NULL}, c->axis, dx, accumulate);
}

filtra_tensor *filtra_softmax(filtra_graph *g, filtra_tensor *x, int axis) {
  if (!ft_usable_axis(g, x, axis, false, "softmax")) return NULL;
  struct softmax call = {x, ft_tensor_new(g, "softmax", FILTRA_F32, x->ndim, x->shape),
                         ft_axis_of(x, axis)};
  if (!call.y) return NULL;
  if (!emit_rows(g, x, NULL, call.axis, call.y, false)) emit_steps(g, x, call.axis, call.y);
  return ft_record_op(g, "softmax", softmax_backward, &call, sizeof call, 1, &x, 1, &call.y);
}
