/* Constants, affine functions and activations, element by element, and sums over the first axis.
 * Called by programs, mixers, models and many ops' gradients. */
#include "elementwise/contract.h"
#include "fused/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>
#include <string.h>

/* ---- sum over the first axis ---- */

enum { SHARED_WORKGROUP = 128 };

/* Whether invocations share the slices of an element. With one invocation each, a few thousand
 * elements leave most of a GPU idle, and every slice's latency adds up: an H100 took 17 us for 512
 * slices of 64 elements. */
static bool is_shared(const filtra_graph *g, uint32_t count, uint32_t slices) {
  enum { FEW_ELEMENTS = 1 << 14, MANY_SLICES = 64 };
  const bool slow = count <= FEW_ELEMENTS && slices >= MANY_SLICES;
  return slow && !ft_caps_of(ft_graph_device(g))->cpu;
}

void ft_emit_sum_leading(filtra_graph *g, const char *label, const filtra_tensor *x,
                         const filtra_tensor *y, bool accumulate) {
  enum { FEW_SLICES = 8, BLOCKS = 8 }; /* blocks of a workgroup, where each takes little time */
  uint32_t slices = (uint32_t)x->shape[0], elements = (uint32_t)filtra_tensor_elements(x);
  const uint32_t count = (uint32_t)filtra_tensor_elements(y);
  const bool shared = is_shared(g, count, slices);
  filtra_device *dev = ft_graph_device(g);
  const uint32_t lanes =
      filtra_tensor_dtype(y) == FILTRA_F32 ? ft_uniform_lanes(ft_caps_of(dev)) : 0;
  /* As many groups as for a flat range, but at least one element of y per invocation. */
  const uint32_t workgroup = shared ? SHARED_WORKGROUP : lanes ? lanes : FT_FLAT_WORKGROUP;
  const uint32_t across = shared  ? SHARED_WORKGROUP / SUM_SHARING
                          : lanes ? 2 * lanes * (slices > FEW_SLICES ? 1 : BLOCKS)
                                  : FT_FLAT_WORKGROUP;
  uint32_t groups = ft_flat_groups(g, elements), most = ft_groups_for(count, across);
  ft_record_call(g, &(ft_kernel_call){
                        .label = label,
                        .kernel = lanes ? "elementwise/sum_leading.uniform"
                                        : ft_kernel_typed(dev, "elementwise/sum_leading",
                                                          filtra_tensor_dtype(y)),
                        .cheap = true,
                        .is_sum = true,
                        FT_ARGUMENTS(elementwise_sum_leading, .x0 = FT_READ(x),
                                     .y0 = FT_TARGET(y, accumulate), .count = {count},
                                     .slice = {slices ? elements / slices : 0}, .slices = {slices}),
                        FT_CONSTANTS(elementwise_sum_leading, .ACCUMULATE = accumulate,
                                     .SHARED = shared, .COUNT = 1),
                        .workgroup = workgroup,
                        .subgroup = lanes,
                        .groups = {shared || groups > most ? most : groups},
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
  const uint32_t count = (uint32_t)filtra_tensor_elements(y);
  ft_record_call(
      g, &(ft_kernel_call){.label = label,
                           .kernel = "elementwise/affine",
                           .cheap = true,
                           .step = {.operation = STEP_AFFINE, .scale = scale, .offset = offset},
                           FT_ARGUMENTS(elementwise_affine, .x = FT_READ(x),
                                        .y = FT_TARGET(y, accumulate), .count = count,
                                        .scale = scale, .offset = offset),
                           FT_CONSTANTS(elementwise_affine, .accumulate = accumulate,
                                        .WHOLE = ft_whole_quads(x) && ft_whole_quads(y)),
                           FT_FLAT(g, count),
                           .flops = 2.0 * count,
                           .bytes = 8.0 * count});
}

static void affine_backward(filtra_graph *g, const void *context) {
  const struct affine *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  if (c->scale == 1.0f) {
    ft_grad_give(g, c->x, dy);
    return;
  }
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_affine(g, "affine.backward", dy, dx, c->scale, 0, accumulate);
}

filtra_tensor *filtra_affine(filtra_graph *g, filtra_tensor *x, float scale, float offset) {
  if (!ft_usable_dense(g, x, "affine", "x")) return NULL;
  filtra_tensor *y = ft_tensor_like(g, x, "affine");
  if (!y) return NULL;
  emit_affine(g, "affine", x, y, scale, offset, false);
  const struct affine call = {x, y, scale};
  return ft_record_op(g, "affine", affine_backward, &call, sizeof call, 1, &x, 1, &y);
}

filtra_tensor *filtra_constant(filtra_graph *g, int ndim, const int64_t *shape, float value) {
  if (!ft_graph_accept(g, FILTRA_OK)) return NULL;
  filtra_tensor *y = ft_tensor_new(g, "constant", FILTRA_F32, ndim, shape);
  ft_emit_fill(g, y, value);
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
  bool whole = ft_whole_quads(c->x) && ft_whole_quads(dy) && ft_whole_quads(to);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = dy ? "activate.backward" : "activate",
          .kernel = "elementwise/activate",
          .cheap = true,
          .step = {.operation = dy ? STEP_DERIVATIVE : STEP_ACTIVATE, .activation = c->activation},
          FT_ARGUMENTS(elementwise_activate, .x = FT_READ(c->x), .dy = FT_READ(dy),
                       .y = FT_TARGET(to, accumulate), .count = count),
          FT_CONSTANTS(elementwise_activate, .activation = c->activation, .gradient = dy != NULL,
                       .accumulate = accumulate, .WHOLE = whole),
          FT_FLAT(g, count),
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
  return ft_record_op(g, "activate", activate_backward, &call, sizeof call, 1, &x, 1, &call.y);
}
