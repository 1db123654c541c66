/* The factor V of the attentive graph filter: a softmax over the tokens of each feature, in two
 * passes over chunks of tokens. Called by ops/agf.c. */
#include "agf/contract.h"
#include "ops/agf.h"

#include <math.h>

struct columns {
  filtra_tensor *v, *mask, *factor, *scale;
  filtra_rho rho;
};

/* Common arguments and grid of the column kernels. */
struct plan {
  uint32_t tokens, columns, width, chunk;
  uint32_t stride[3]; /* batch, head, token of the view */
  bool uniform;       /* kernels of the variant "uniform", for CPU drivers */
  uint32_t workgroup, subgroup;
  uint32_t groups[3];
  double elements, bytes; /* bytes of all elements */
};

/* view: [B,H,N,D], read or written beside `factor` [B,N,H,D]. */
static struct plan make_plan(const filtra_device *dev, const filtra_tensor *view,
                             const filtra_tensor *factor) {
  /* The kernel that writes V adds up the statistics of all chunks in each chunk, so there must be
   * few. */
  const int64_t shortest = 128, balance = 4;
  int64_t tokens = view->shape[2], columns = view->shape[1] * view->shape[3];
  int64_t chunk = balance * (int64_t)ceil(sqrt((double)tokens));
  if (chunk < shortest) chunk = shortest;
  ft_row_part part;
  const bool uniform = filtra_tensor_dtype(factor) == FILTRA_F32 &&
                       ft_take_uniform_rows(dev, tokens, view->shape[3],
                                            ft_in_pairs(view) && ft_in_pairs(factor), &part);
  const uint32_t workgroup = uniform ? part.grid.workgroup : ft_caps_of(dev)->row_workgroup;
  const int64_t together = uniform ? 2 * (int64_t)workgroup : workgroup; /* columns */
  return (struct plan){
      .tokens = (uint32_t)tokens,
      .columns = (uint32_t)columns,
      .width = (uint32_t)view->shape[3],
      .chunk = (uint32_t)chunk,
      .stride = {(uint32_t)view->stride[0], (uint32_t)view->stride[1], (uint32_t)view->stride[2]},
      .uniform = uniform,
      .workgroup = workgroup,
      .subgroup = uniform ? part.subgroup : 0,
      .groups = {(uint32_t)((columns + together - 1) / together),
                 (uint32_t)((tokens + chunk - 1) / chunk), (uint32_t)view->shape[0]},
      .elements = (double)filtra_tensor_elements(view),
      .bytes = (double)filtra_tensor_elements(view) *
               (double)filtra_dtype_bytes(filtra_tensor_dtype(view))};
}

/* Common scalars of these kernels. */
#define GRID(plan)                                                                                 \
  .tokens = (plan)->tokens, .columns = (plan)->columns, .width = (plan)->width,                    \
  .chunk = (plan)->chunk, .stride = {(plan)->stride[0], (plan)->stride[1], (plan)->stride[2]}

static void emit_columns(filtra_graph *g, const struct plan *plan, const struct columns *c,
                         ft_kernel_call call) {
  const filtra_dtype type = filtra_tensor_dtype(c->factor);
  call.kernel = plan->uniform ? ft_kernel_variant(call.kernel, type, "uniform")
                              : ft_kernel_typed(ft_graph_device(g), call.kernel, type);
  call.workgroup = plan->workgroup;
  call.subgroup = plan->subgroup;
  for (int i = 0; i < 3; i++)
    call.groups[i] = plan->groups[i];
  ft_record_call(g, &call);
}

static filtra_tensor *forward_stats(filtra_graph *g, const struct plan *plan,
                                    const struct columns *c) {
  int64_t shape[] = {plan->groups[2], plan->groups[1], 2, plan->columns};
  filtra_tensor *stats = ft_tensor_new(g, "column statistics", FILTRA_F32, 4, shape);
  emit_columns(
      g, plan, c,
      (ft_kernel_call){.label = "agf.columns",
                       .kernel = "agf/column_stats",
                       FT_ARGUMENTS(agf_column_stats, .v = FT_READ(c->v), .other = FT_READ(c->mask),
                                    .stats = FT_WRITE(stats), GRID(plan)),
                       FT_CONSTANTS(agf_column_stats, .backward = false),
                       .flops = 4 * plan->elements,
                       .bytes = plan->bytes});
  return stats;
}

static filtra_tensor *backward_stats(filtra_graph *g, const struct plan *plan,
                                     const struct columns *c, filtra_tensor *grad) {
  int64_t shape[] = {plan->groups[2], plan->groups[1], plan->columns};
  filtra_tensor *stats = ft_tensor_new(g, "column statistics", FILTRA_F32, 3, shape);
  emit_columns(
      g, plan, c,
      (ft_kernel_call){.label = "agf.columns.backward",
                       .kernel = "agf/column_stats",
                       FT_ARGUMENTS(agf_column_stats, .v = FT_READ(c->factor),
                                    .other = FT_READ(grad), .stats = FT_WRITE(stats), GRID(plan)),
                       FT_CONSTANTS(agf_column_stats, .backward = true),
                       .flops = 2 * plan->elements,
                       .bytes = 2 * plan->bytes});
  return stats;
}

static void columns_backward(filtra_graph *g, const void *context) {
  const struct columns *c = context;
  filtra_tensor *grad = ft_grad(g, c->factor);
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, c->v, &accumulate);
  if (!grad || !target) return;
  struct plan plan = make_plan(ft_graph_device(g), target, c->factor);
  filtra_tensor *stats = c->rho == FILTRA_RHO_SOFTMAX ? backward_stats(g, &plan, c, grad) : NULL;
  emit_columns(
      g, &plan, c,
      (ft_kernel_call){.label = "agf.columns.backward",
                       .kernel = "agf/column_backward",
                       FT_ARGUMENTS(agf_column_backward, .factor = FT_READ(c->factor),
                                    .factor_grad = FT_READ(grad), .mask = FT_READ(c->mask),
                                    .stats = FT_READ(stats), .inverse = FT_READ(c->scale),
                                    .v_grad = FT_TARGET(target, accumulate), GRID(&plan)),
                       FT_CONSTANTS(agf_column_backward, .rho = c->rho, .accumulate = accumulate),
                       .flops = 3 * plan.elements,
                       .bytes = 3 * plan.bytes});
}

filtra_tensor *ft_agf_columns(filtra_graph *g, filtra_tensor *v, filtra_tensor *mask,
                              filtra_rho rho, filtra_tensor **scale) {
  const filtra_dtype type = filtra_tensor_dtype(v);
  const int64_t columns[] = {v->shape[0], v->shape[1], v->shape[3], 1};
  filtra_tensor *factor = ft_tensor_token_major(g, "agf V", type, v->shape);
  *scale = type != FILTRA_F32 && rho == FILTRA_RHO_SOFTMAX
               ? ft_tensor_new(g, "agf V scale", FILTRA_F32, 4, columns)
               : NULL;
  const struct columns call = {v, mask, factor, *scale, rho};
  if (!ft_record_op(g, "agf.columns", columns_backward, &call, sizeof call, 1, &v, 1, &factor))
    return NULL;
  struct plan plan = make_plan(ft_graph_device(g), v, factor);
  filtra_tensor *stats = rho == FILTRA_RHO_SOFTMAX ? forward_stats(g, &plan, &call) : NULL;
  emit_columns(g, &plan, &call,
               (ft_kernel_call){.label = "agf.columns",
                                .kernel = "agf/column",
                                FT_ARGUMENTS(agf_column, .v = FT_READ(v), .mask = FT_READ(mask),
                                             .stats = FT_READ(stats), .factor = FT_WRITE(factor),
                                             .inverse = FT_WRITE(*scale), GRID(&plan)),
                                FT_CONSTANTS(agf_column, .rho = rho),
                                .flops = 3 * plan.elements,
                                .bytes = 2 * plan.bytes});
  return factor;
}
