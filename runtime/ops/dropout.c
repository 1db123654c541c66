/* Dropout. Masks are not kept: the backward pass draws them again. */
#include "dropout/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>

struct dropout {
  filtra_tensor *x, *y;
  uint32_t op_id;
  float rate;
};

static void emit_dropout(filtra_graph *g, const char *label, const struct dropout *c,
                         const filtra_tensor *from, const filtra_tensor *to, bool accumulate) {
  const uint32_t count = (uint32_t)filtra_tensor_elements(to);
  ft_kernel_call call = {.label = label,
                         .kernel = "dropout/dropout",
                         .cheap = true,
                         FT_ARGUMENTS(dropout_dropout, .x = FT_READ(from),
                                      .y = FT_TARGET(to, accumulate),
                                      .state = FT_READ(ft_graph_random_state(g)), .count = count,
                                      .op_id = c->op_id, .rate = c->rate),
                         FT_CONSTANTS(dropout_dropout, .accumulate = accumulate,
                                      .WHOLE = ft_whole_quads(from) && ft_whole_quads(to)),
                         .sequence_elements = ft_graph_sequence_elements(g, to),
                         FT_FLAT(g, count),
                         .flops = count,
                         .bytes = 8.0 * count};
  ft_record_call(g, &call);
}

static void dropout_backward(filtra_graph *g, const void *context) {
  const struct dropout *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_dropout(g, "dropout.backward", c, ft_grad(g, c->y), dx, accumulate);
}

filtra_tensor *filtra_dropout(filtra_graph *g, filtra_tensor *x, float rate) {
  if (!ft_usable_dense(g, x, "dropout", "x")) return NULL;
  if (!(rate >= 0 && rate < 1))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "dropout: rate %g must lie in [0,1)",
                         (double)rate);
  if (rate == 0 || !ft_graph_training(g)) return x;
  struct dropout call = {x, ft_tensor_like(g, x, "dropout"), ft_graph_random_id(g), rate};
  if (!call.y) return NULL;
  emit_dropout(g, "dropout", &call, x, call.y, false);
  return ft_record_op(g, "dropout", dropout_backward, &call, sizeof call, 1, &x, 1, &call.y);
}
