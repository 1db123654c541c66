/* Sum, mean and maximum along an axis, in parts of 64 elements, so that long axes keep the device
 * busy and sums lose little to rounding. Up to 64 parts take one call. Called by programs, mixers,
 * and gradients of broadcasting. */
#include "ops/reduce.h"
#include "fused/contract.h"
#include "reduce/contract.h"

#include <filtra/ops.h>
#include <string.h>

enum {
  MOST_TERMS = 64,  /* terms that an invocation adds up */
  MOST_PARTS = 4,   /* parts that an invocation takes, one after the other */
  MOST_SHARED = 64, /* parts that a workgroup's invocations share */
  SHARED_WORKGROUP = 128
};

ft_axis ft_axis_of(const filtra_tensor *x, int axis) {
  ft_axis a = {1, x->shape[axis], 1};
  for (int i = 0; i < axis; i++)
    a.outer *= x->shape[i];
  for (int i = axis + 1; i < x->ndim; i++)
    a.inner *= x->shape[i];
  return a;
}

int64_t ft_axis_parts(ft_axis axis) {
  return axis.n > MOST_TERMS ? (axis.n + MOST_TERMS - 1) / MOST_TERMS : 1;
}

bool ft_usable_axis(filtra_graph *g, const filtra_tensor *x, int axis, bool empty, const char *op) {
  if (!ft_usable_dense(g, x, op, "x")) return false;
  if (axis < 0 || axis >= x->ndim) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: axis %d of %s %s, accepted are 0 to %d", op, axis,
                  x->name, ft_shape_text(x), x->ndim - 1);
    return false;
  }
  if (x->shape[axis] || empty) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: axis %d of %s %s is empty", op, axis, x->name,
                ft_shape_text(x));
  return false;
}

/* ---- sums ---- */

/* How x and z are read in groups of four; along a row, an invocation's terms keep their order. */
static uint32_t fours(const filtra_tensor *x, const filtra_tensor *z, ft_axis axis, int64_t parts,
                      const filtra_tensor *y) {
  if (!ft_begins_quad(x) || (z && !ft_begins_quad(z))) return AXIS_SINGLY;
  if (axis.inner % 4 == 0 && ft_begins_quad(y)) return AXIS_ACROSS;
  return axis.inner == 1 && parts == 1 && axis.n % 4 == 0 ? AXIS_ALONG : AXIS_SINGLY;
}

/* Parts that one call takes. A CPU driver's invocations do not share them; where there are enough
 * sums for its threads, an invocation takes all parts of one. */
static int64_t most_parts(const filtra_graph *g, ft_axis axis) {
  enum { MANY_SUMS = 1024 };
  const bool few = axis.outer * axis.inner < MANY_SUMS;
  return few && ft_caps_of(ft_graph_device(g))->cpu ? MOST_PARTS : MOST_SHARED;
}

/* Invocations that share that many parts. */
static uint32_t sharing(const filtra_graph *g, int64_t parts) {
  uint32_t count = 1;
  if (parts <= MOST_PARTS || ft_caps_of(ft_graph_device(g))->cpu) return count;
  while (count < parts)
    count *= 2;
  return count;
}

/* Members of a call that writes `elements`, as `items` of one or four. */
#define FT_SHARED(g, elements, items, shared)                                                      \
  .workgroup = (shared) > 1 ? SHARED_WORKGROUP : FT_FLAT_WORKGROUP,                                \
  .groups = {(shared) > 1 ? ft_groups_for(items, SHARED_WORKGROUP / (shared))                      \
                          : ft_flat_groups(g, elements)}

/* A short sum along the last axis may be fused with what comes before it; one of single elements is
 * none. CPU drivers are faster without workgroups whose invocations wait for one another. */
static ft_step step_of(const filtra_graph *g, const filtra_tensor *x, ft_axis axis, float scale,
                       float offset, const filtra_tensor *y) {
  const bool plain = scale == 1.0f && offset == 0.0f;
  ft_step step = {.scale = scale, .offset = offset};
  if (ft_caps_of(ft_graph_device(g))->cpu) return step;
  if (axis.n == 1 && ft_same_shape(x, y))
    step.operation = STEP_AFFINE;
  else if (axis.inner == 1 && axis.n > 1 && axis.n <= FUSED_ROW)
    step.operation = plain ? STEP_SUM : STEP_SUM_AFFINE;
  return step;
}

static void emit_part_sums(filtra_graph *g, const char *label, const filtra_tensor *x,
                           const filtra_tensor *z, ft_axis axis, int64_t parts, int64_t together,
                           float scale, float offset, const filtra_tensor *y, bool accumulate) {
  const int64_t sums = axis.outer * parts * axis.inner;
  const double count = (double)(axis.outer * axis.n * axis.inner);
  const uint32_t how = fours(x, z, axis, parts * together, y), shared = sharing(g, together);
  const int64_t inner = how == AXIS_ACROSS ? axis.inner / 4 : axis.inner;
  const uint32_t items = (uint32_t)(axis.outer * parts * inner);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = label,
          .kernel = "reduce/axis",
          .step = z || parts * together > 1 ? (ft_step){0} : step_of(g, x, axis, scale, offset, y),
          FT_ARGUMENTS(reduce_axis, .x = FT_READ(x), .z = FT_READ(z), .y = FT_TARGET(y, accumulate),
                       .count = items, .n = (uint32_t)axis.n, .parts = (uint32_t)parts,
                       .together = (uint32_t)together, .inner = (uint32_t)inner, .scale = scale,
                       .offset = offset),
          FT_CONSTANTS(reduce_axis, .product = z != NULL, .accumulate = accumulate, .FOURS = how,
                       .SHARING = shared),
          FT_SHARED(g, sums, items, shared),
          .flops = z ? 2.0 * count : count,
          .bytes = 4.0 * ((double)sums + (z ? 2.0 * count : count))});
}

/* Records the sum as one call by uniform addresses; false where that does not fit. Along rows each
 * lane adds up few terms. */
static bool emit_blocks(filtra_graph *g, const char *label, const filtra_tensor *x,
                        const filtra_tensor *z, ft_axis axis, float scale, float offset,
                        const filtra_tensor *y, bool accumulate) {
  enum { ROWS = 4, STEPS = 4 }; /* of a workgroup's step; of a workgroup */
  const int64_t lanes = ft_uniform_lanes(ft_caps_of(ft_graph_device(g)));
  const int64_t parts = ft_axis_parts(axis), sums = axis.outer * axis.inner;
  const bool along = axis.inner == 1;
  if (!lanes || !axis.n || !sums) return false;
  if (along ? axis.n < lanes || axis.n > MOST_TERMS * lanes || sums < ROWS
            : axis.inner < lanes || parts > MOST_SHARED)
    return false;
  const int64_t count = along ? sums : axis.outer * ((axis.inner + lanes - 1) / lanes);
  const double terms = (double)(sums * axis.n);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = label,
             .kernel = "reduce/blocks.uniform",
             FT_ARGUMENTS(reduce_axis, .x = FT_READ(x), .z = FT_READ(z),
                          .y = FT_TARGET(y, accumulate), .count = (uint32_t)count,
                          .n = (uint32_t)axis.n, .parts = 1, .together = (uint32_t)parts,
                          .inner = (uint32_t)axis.inner, .scale = scale, .offset = offset),
             FT_CONSTANTS(reduce_blocks, .product = z != NULL, .accumulate = accumulate,
                          .ALONG = along, .STEP = (uint32_t)(along ? axis.n : parts * axis.inner)),
             .workgroup = (uint32_t)lanes,
             .subgroup = (uint32_t)lanes,
             .groups = {ft_groups_for(count, along ? ROWS * STEPS : STEPS)},
             .flops = z ? 2.0 * terms : terms,
             .bytes = 4.0 * ((double)sums + (z ? 2.0 * terms : terms))});
  return true;
}

void ft_emit_axis_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                      const filtra_tensor *z, ft_axis axis, float scale, float offset,
                      const filtra_tensor *y, bool accumulate) {
  int64_t parts;
  if (emit_blocks(g, label, x, z, axis, scale, offset, y, accumulate)) return;
  for (; (parts = ft_axis_parts(axis)) > most_parts(g, axis); axis.n = parts, z = NULL) {
    filtra_tensor *sums =
        ft_tensor_new(g, label, FILTRA_F32, 3, (int64_t[]){axis.outer, parts, axis.inner});
    if (!sums) return;
    emit_part_sums(g, label, x, z, axis, parts, 1, 1, 0, sums, false);
    x = sums;
  }
  emit_part_sums(g, label, x, z, axis, 1, parts, scale, offset, y, accumulate);
}

/* Sums neighbouring axes together, from the innermost on: at most two groups. */
void ft_emit_sum_to(filtra_graph *g, const char *label, const filtra_tensor *x, float scale,
                    const filtra_tensor *y, bool accumulate) {
  ft_axis runs[FILTRA_MAX_DIMS];
  int count = 0, shift = x->ndim - y->ndim;
  int64_t inner = 1;
  for (int i = x->ndim; i-- > 0;) {
    bool kept = i >= shift && y->shape[i - shift] == x->shape[i];
    bool joined = count && inner == runs[count - 1].inner;
    int64_t outer = ft_axis_of(x, i).outer;
    if (kept)
      inner *= x->shape[i];
    else if (joined)
      runs[count - 1] = (ft_axis){outer, runs[count - 1].n * x->shape[i], inner};
    else
      runs[count++] = (ft_axis){outer, x->shape[i], inner};
  }
  if (!count) runs[count++] = (ft_axis){1, 1, inner};
  for (int i = 0; i + 1 < count; i++) {
    filtra_tensor *sums =
        ft_tensor_new(g, label, FILTRA_F32, 2, (int64_t[]){runs[i].outer, runs[i].inner});
    if (!sums) return;
    ft_emit_axis_sum(g, label, x, NULL, runs[i], 1, 0, sums, false);
    x = sums;
  }
  ft_emit_axis_sum(g, label, x, NULL, runs[count - 1], scale, 0, y, accumulate);
}

/* ---- maximum ---- */

static void emit_part_largest(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *x_index,
                              ft_axis axis, int64_t parts, const filtra_tensor *y,
                              const filtra_tensor *y_index) {
  const uint32_t count = (uint32_t)(axis.outer * parts * axis.inner);
  const uint32_t shared = parts == 1 ? sharing(g, ft_axis_parts(axis)) : 1;
  ft_record_call(g, &(ft_kernel_call){
                        .label = "max",
                        .kernel = "reduce/largest",
                        FT_ARGUMENTS(reduce_largest, .x = FT_READ(x), .x_index = FT_READ(x_index),
                                     .y = FT_WRITE(y), .y_index = FT_WRITE(y_index), .count = count,
                                     .n = (uint32_t)axis.n, .parts = (uint32_t)parts,
                                     .inner = (uint32_t)axis.inner),
                        FT_CONSTANTS(reduce_largest, .indexed = x_index != NULL, .SHARING = shared),
                        FT_SHARED(g, count, count, shared),
                        .bytes = 4.0 * (double)(axis.outer * axis.n * axis.inner) + 8.0 * count});
}

static void emit_largest(filtra_graph *g, const filtra_tensor *x, ft_axis axis,
                         const filtra_tensor *y, const filtra_tensor *y_index) {
  const filtra_tensor *x_index = NULL;
  for (int64_t parts; (parts = ft_axis_parts(axis)) > most_parts(g, axis); axis.n = parts) {
    const int64_t shape[] = {axis.outer, parts, axis.inner};
    filtra_tensor *values = ft_tensor_new(g, "max", FILTRA_F32, 3, shape);
    filtra_tensor *index = ft_tensor_new(g, "max index", FILTRA_I32, 3, shape);
    if (!values || !index) return;
    emit_part_largest(g, x, x_index, axis, parts, values, index);
    x = values;
    x_index = index;
  }
  emit_part_largest(g, x, x_index, axis, 1, y, y_index);
}

/* ---- the ops ---- */

struct reduce {
  filtra_tensor *x, *y, *index; /* index: of the maximum */
  ft_axis axis;
  float scale;
};

/* The number of an axis. */
static uint32_t number_of(const filtra_tensor *x, ft_axis axis) {
  uint32_t i = 0;
  for (int64_t outer = 1; outer != axis.outer || x->shape[i] != axis.n; i++)
    outer *= x->shape[i];
  return i;
}

static void sum_backward(filtra_graph *g, const void *context) {
  const struct reduce *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate), *dy = ft_grad(g, c->y);
  if (!dx) return;
  const int64_t shape[] = {c->axis.outer, c->axis.n, c->axis.inner};
  const int64_t there[] = {c->axis.inner, 0, 1};
  const bool quads = ft_begins_quad(dx) && ft_begins_quad(dy);
  const ft_axes axes = ft_axes_of(3, shape, there, there, quads, true);
  struct ft_reduce_spread_arguments given = {
      .dy = FT_READ(dy), .dx = FT_TARGET(dx, accumulate), .scale = c->scale};
  FT_SET_AXES(given, axes);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "sum.backward",
             .kernel = "reduce/spread",
             .step = {.operation = STEP_SCALE, .scale = c->scale, .axis = number_of(dx, c->axis)},
             FT_ARGUMENTS_AT(reduce_spread, &given),
             FT_CONSTANTS(reduce_spread, .accumulate = accumulate, .AXES = axes.axes,
                          .WHOLE = axes.whole, .REPEATED = axes.repeated != 0),
             FT_FLAT(g, filtra_tensor_elements(dx)),
             .bytes = 4.0 * (double)filtra_tensor_elements(dx)});
}

static void max_backward(filtra_graph *g, const void *context) {
  const struct reduce *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate), *dy = ft_grad(g, c->y);
  if (!dx) return;
  if (!accumulate) ft_emit_fill(g, dx, 0);
  const uint32_t count = (uint32_t)filtra_tensor_elements(dy);
  ft_record_call(g, &(ft_kernel_call){.label = "max.backward",
                                      .kernel = "reduce/chosen",
                                      FT_ARGUMENTS(reduce_chosen, .dy = FT_READ(dy),
                                                   .index = FT_READ(c->index), .dx = FT_UPDATE(dx),
                                                   .count = count, .n = (uint32_t)c->axis.n,
                                                   .inner = (uint32_t)c->axis.inner),
                                      FT_FLAT(g, count),
                                      .flops = count,
                                      .bytes = 16.0 * count});
}

static bool known_mode(filtra_graph *g, filtra_reduced_axis mode, const char *op) {
  return ft_known_choice(g, (int)mode, FILTRA_KEEP_AXIS, op, "choice for the reduced axis");
}

/* Creates the result of reducing x along the axis: without the axis, or with length 1. */
static filtra_tensor *reduced(filtra_graph *g, const filtra_tensor *x, int axis,
                              filtra_reduced_axis mode, filtra_dtype dtype, const char *name) {
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_tensor_shape(x, shape);
  shape[axis] = 1;
  if (mode == FILTRA_DROP_AXIS && ndim > 1) {
    ndim--;
    memmove(shape + axis, shape + axis + 1, (size_t)(ndim - axis) * sizeof *shape);
  }
  return ft_tensor_new(g, name, dtype, ndim, shape);
}

static filtra_tensor *record(filtra_graph *g, const char *op, ft_backward_fn backward,
                             struct reduce call) {
  return ft_record_op(g, op, backward, &call, sizeof call, 1, &call.x, 1, &call.y);
}

static filtra_tensor *sum(filtra_graph *g, filtra_tensor *x, int axis, filtra_reduced_axis mode,
                          const char *op, bool mean, float offset) {
  if (!known_mode(g, mode, op) || !ft_usable_axis(g, x, axis, !mean, op)) return NULL;
  struct reduce call = {.x = x,
                        .y = reduced(g, x, axis, mode, FILTRA_F32, op),
                        .axis = ft_axis_of(x, axis),
                        .scale = mean ? 1.0f / (float)x->shape[axis] : 1.0f};
  if (!call.y) return NULL;
  ft_emit_axis_sum(g, op, x, NULL, call.axis, call.scale, offset, call.y, false);
  return record(g, op, sum_backward, call);
}

filtra_tensor *filtra_sum(filtra_graph *g, filtra_tensor *x, int axis, filtra_reduced_axis mode) {
  return sum(g, x, axis, mode, "sum", false, 0.0f);
}

filtra_tensor *ft_sum_plus(filtra_graph *g, filtra_tensor *x, int axis, float offset) {
  return sum(g, x, axis, FILTRA_KEEP_AXIS, "sum", false, offset);
}

filtra_tensor *filtra_mean(filtra_graph *g, filtra_tensor *x, int axis, filtra_reduced_axis mode) {
  return sum(g, x, axis, mode, "mean", true, 0.0f);
}

filtra_tensor *filtra_max(filtra_graph *g, filtra_tensor *x, int axis, filtra_reduced_axis mode) {
  if (!known_mode(g, mode, "max") || !ft_usable_axis(g, x, axis, false, "max")) return NULL;
  struct reduce call = {.x = x,
                        .y = reduced(g, x, axis, mode, FILTRA_F32, "max"),
                        .index = reduced(g, x, axis, mode, FILTRA_I32, "max index"),
                        .axis = ft_axis_of(x, axis),
                        .scale = 1.0f};
  if (!call.y || !call.index) return NULL;
  emit_largest(g, x, call.axis, call.y, call.index);
  return record(g, "max", max_backward, call);
}
