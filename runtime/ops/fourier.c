/* The discrete Fourier transform along an axis, for sequences of any length. Computed as sums: each
 * sequence of a batch has its own length, for which there may be no factorization. */
#include "fourier/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>

struct fourier {
  filtra_tensor *cosine, *sine, *lengths, *table, *y;
};

static void emit_table(filtra_graph *g, const struct fourier *c) {
  const uint32_t count = (uint32_t)(c->table->shape[0] * c->table->shape[1]);
  ft_record_call(g, &(ft_kernel_call){.label = "fourier.table",
                                      .kernel = "fourier/table",
                                      FT_ARGUMENTS(fourier_table, .lengths = FT_READ(c->lengths),
                                                   .table = FT_WRITE(c->table), .count = count,
                                                   .n = (uint32_t)c->table->shape[1]),
                                      FT_FLAT(g, count),
                                      .bytes = 8.0 * count});
}

static void emit_transform(filtra_graph *g, const char *label, const struct fourier *c,
                           const filtra_tensor *cosine, const filtra_tensor *sine,
                           const filtra_tensor *y, bool accumulate) {
  int64_t n = y->shape[1], quads = (n + 3) / 4, inner = y->shape[2];
  const uint32_t count = (uint32_t)(y->shape[0] * quads * inner);
  double elements = (double)filtra_tensor_elements(y), terms = (cosine != NULL) + (sine != NULL);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = label,
                     .kernel = "fourier/transform",
                     FT_ARGUMENTS(fourier_transform, .a = FT_READ(cosine), .b = FT_READ(sine),
                                  .lengths = FT_READ(c->lengths), .table = FT_READ(c->table),
                                  .y = FT_TARGET(y, accumulate), .count = count, .n = (uint32_t)n,
                                  .quads = (uint32_t)quads, .inner = (uint32_t)inner),
                     FT_CONSTANTS(fourier_transform, .has_a = cosine != NULL, .has_b = sine != NULL,
                                  .accumulate = accumulate),
                     .workgroup = FT_FLAT_WORKGROUP, /* each invocation takes n terms */
                     .groups = {ft_groups_for(count, FT_FLAT_WORKGROUP)},
                     .flops = 2.0 * terms * (double)n * elements,
                     .bytes = 4.0 * (terms + 1) * elements});
}

/* Both matrices are symmetric, so the gradient applies the same matrix. */
static void fourier_backward(filtra_graph *g, const void *context) {
  const struct fourier *c = context;
  const filtra_tensor *dy = ft_grad(g, c->y);
  bool accumulate;
  filtra_tensor *target = c->cosine ? ft_grad_target(g, c->cosine, &accumulate) : NULL;
  if (target) emit_transform(g, "fourier.backward", c, dy, NULL, target, accumulate);
  target = c->sine ? ft_grad_target(g, c->sine, &accumulate) : NULL;
  if (target) emit_transform(g, "fourier.backward", c, NULL, dy, target, accumulate);
}

static bool usable(filtra_graph *g, const filtra_tensor *cosine, const filtra_tensor *sine,
                   const filtra_tensor *lengths) {
  if (!ft_graph_accept(g, FILTRA_OK)) return false;
  const filtra_tensor *x = cosine ? cosine : sine;
  if (!x)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "fourier: cosine and sine are both NULL");
  else if (cosine && sine && !ft_same_shape(cosine, sine))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "fourier: cosine %s and sine %s must have one shape",
                  ft_shape_text(cosine), ft_shape_text(sine));
  else if (lengths && lengths->shape[0] != x->shape[0])
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "fourier: lengths %s must be [B] of %s",
                  ft_shape_text(lengths), ft_shape_text(x));
  else
    return true;
  return false;
}

filtra_tensor *filtra_fourier(filtra_graph *g, filtra_tensor *cosine, filtra_tensor *sine,
                              filtra_tensor *lengths) {
  if ((cosine && !ft_usable_floats(g, cosine, 3, "fourier", "cosine")) ||
      (sine && !ft_usable_floats(g, sine, 3, "fourier", "sine")) ||
      (lengths && !ft_usable_floats(g, lengths, 1, "fourier", "lengths")) ||
      !usable(g, cosine, sine, lengths))
    return NULL;
  filtra_tensor *inputs[2] = {cosine ? cosine : sine, cosine ? sine : NULL};
  const int64_t *shape = inputs[0]->shape, table[] = {shape[0], shape[1], 2};
  struct fourier call = {cosine, sine, lengths,
                         ft_tensor_new(g, "fourier table", FILTRA_F32, 3, table),
                         ft_tensor_new(g, "fourier", FILTRA_F32, 3, shape)};
  if (!call.table || !call.y) return NULL;
  emit_table(g, &call);
  emit_transform(g, "fourier", &call, cosine, sine, call.y, false);
  return ft_record_op(g, "fourier", fourier_backward, &call, sizeof call, inputs[1] ? 2 : 1, inputs,
                      1, &call.y);
}
