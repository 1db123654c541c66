/* Pseudoinverses of small matrices by iteration, all products of one in a workgroup. The backward
 * rule gets what each iteration began with and computes its products again. Called by
 * nn/mixer/nystrom.c. */
#include "ops/pseudoinverse.h"

#include "pseudoinverse/contract.h"

enum {
  INVOCATIONS = PSEUDOINVERSE_ACROSS * PSEUDOINVERSE_ACROSS,
  SHARED_BYTES = 2 * PSEUDOINVERSE_MOST * PSEUDOINVERSE_MOST * 4
};

struct pseudoinverse {
  filtra_tensor *a, *states, *y;
  int64_t count, size, iterations;
};

bool ft_pseudoinverse_runs(const filtra_device *dev) {
  const filtra_device_info *info = &ft_caps_of(dev)->info;
  return info->max_workgroup_invocations >= INVOCATIONS &&
         info->shared_memory_bytes >= SHARED_BYTES;
}

bool ft_pseudoinverse_pays(const filtra_graph *g, const filtra_tensor *a) {
  const filtra_device *dev = ft_graph_device(g);
  return !ft_caps_of(dev)->cpu && ft_pseudoinverse_runs(dev) &&
         filtra_tensor_dtype(a) == FILTRA_F32 && ft_columns(a) <= PSEUDOINVERSE_MOST;
}

static uint32_t groups_of(const filtra_graph *g, const struct pseudoinverse *c) {
  const uint32_t busy = ft_busy_groups(ft_caps_of(ft_graph_device(g)));
  return c->count < busy ? (uint32_t)c->count : busy;
}

/* Whether rows of all of them can be read by groups of four. */
static bool by_fours(const struct pseudoinverse *c, const filtra_tensor *x,
                     const filtra_tensor *y) {
  return c->size % 4 == 0 && ft_begins_quad(c->a) && (!c->states || ft_begins_quad(c->states)) &&
         ft_begins_quad(x) && ft_begins_quad(y);
}

static double flops_of(const struct pseudoinverse *c, int products) {
  const double cube = (double)c->size * (double)c->size * (double)c->size;
  return 2.0 * products * cube * (double)c->count * (double)c->iterations;
}

static void pseudoinverse_backward(filtra_graph *g, const void *context) {
  const struct pseudoinverse *c = context;
  bool accumulate;
  filtra_tensor *da = ft_grad_target(g, c->a, &accumulate), *dy = ft_grad(g, c->y);
  if (!da || !filtra_tensor_elements(da)) return;
  const uint32_t groups = groups_of(g, c);
  filtra_tensor *scratch = ft_tensor_new(g, "pseudoinverse scratch", FILTRA_F32, 3,
                                         (int64_t[]){3 * (int64_t)groups, c->size, c->size});
  if (!scratch) return;
  const ft_arg updated = FT_UPDATE(da), written = FT_WORK(da);
  const ft_arg target = accumulate ? updated : written;
  const double elements = (double)filtra_tensor_elements(da);
  ft_record_call(
      g, &(ft_kernel_call){.label = "pseudoinverse.backward",
                           .kernel = "pseudoinverse/backward",
                           FT_ARGUMENTS(pseudoinverse_backward, .a = FT_READ(c->a),
                                        .states = FT_READ(c->states), .dy = FT_READ(dy),
                                        .scratch = FT_WORK(scratch), .da = target,
                                        .count = (uint32_t)c->count, .size = (uint32_t)c->size,
                                        .iterations = (uint32_t)c->iterations),
                           FT_CONSTANTS(pseudoinverse_backward,
                                        .WHOLE = by_fours(c, dy, da) && ft_begins_quad(scratch),
                                        .accumulate = accumulate),
                           .workgroup = INVOCATIONS,
                           .groups = {groups},
                           .flops = flops_of(c, 11),
                           .bytes = 4.0 * elements * (3.0 + (double)c->iterations)});
}

static void emit_forward(filtra_graph *g, const struct pseudoinverse *c) {
  const double elements = (double)filtra_tensor_elements(c->a);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "pseudoinverse",
             .kernel = "pseudoinverse/forward",
             FT_ARGUMENTS(pseudoinverse_forward, .a = FT_READ(c->a), .states = FT_WRITE(c->states),
                          .y = FT_WRITE(c->y), .count = (uint32_t)c->count,
                          .size = (uint32_t)c->size, .iterations = (uint32_t)c->iterations),
             FT_CONSTANTS(pseudoinverse_forward, .WHOLE = by_fours(c, c->y, c->y)),
             .workgroup = INVOCATIONS,
             .groups = {groups_of(g, c)},
             .flops = flops_of(c, 4),
             .bytes = 4.0 * elements * (2.0 + (c->states ? (double)c->iterations : 0.0))});
}

filtra_tensor *ft_pseudoinverse(filtra_graph *g, filtra_tensor *a, int64_t iterations) {
  if (!ft_usable_dense(g, a, "pseudoinverse", "a")) return NULL;
  const int64_t size = a->shape[a->ndim - 1];
  if (a->ndim < 2 || a->shape[a->ndim - 2] != size || size > PSEUDOINVERSE_MOST || iterations < 1)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "pseudoinverse: a %s must be [.., m, m], m at most %d, and the iterations "
                         "%lld at least 1",
                         ft_shape_text(a), PSEUDOINVERSE_MOST, (long long)iterations);
  if (!ft_pseudoinverse_runs(ft_graph_device(g)))
    return ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                         "pseudoinverse: the device has no workgroups of %d invocations with %d "
                         "bytes of shared memory",
                         INVOCATIONS, SHARED_BYTES);
  struct pseudoinverse call = {
      .a = a, .count = ft_rows(a) / (size ? size : 1), .size = size, .iterations = iterations};
  call.y = ft_tensor_new(g, "pseudoinverse", FILTRA_F32, a->ndim, a->shape);
  if (a->requires_grad)
    call.states = ft_tensor_new(g, "pseudoinverse states", FILTRA_F32, 4,
                                (int64_t[]){iterations, call.count, size, size});
  if (!call.y || (a->requires_grad && !call.states)) return NULL;
  if (filtra_tensor_elements(a)) emit_forward(g, &call);
  return ft_record_op(g, "pseudoinverse", pseudoinverse_backward, &call, sizeof call, 1, &call.a, 1,
                      &call.y);
}
