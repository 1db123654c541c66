/* A sparse matrix of tokens by tokens that links each token to those 0, 1, 2, 4, .. further in a
 * ring. */
#include "ops/chord.h"

#include "chord/contract.h"

enum { MOST_LINKS = 32 };

struct chord {
  filtra_tensor *w, *x, *lengths, *y;
};

/* y = W x, or W^T x. */
static void emit_mix(filtra_graph *g, const char *label, const struct chord *c,
                     const filtra_tensor *x, const filtra_tensor *y, bool transposed,
                     bool accumulate) {
  const double elements = (double)filtra_tensor_elements(y), links = (double)c->w->shape[2];
  const uint32_t count = (uint32_t)filtra_tensor_elements(y);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = label,
             .kernel = "chord/mix",
             FT_ARGUMENTS(chord_mix, .w = FT_READ(c->w), .x = FT_READ(x),
                          .lengths = FT_READ(c->lengths), .y = FT_TARGET(y, accumulate),
                          .count = count, .n = (uint32_t)y->shape[1],
                          .links = (uint32_t)c->w->shape[2], .inner = (uint32_t)y->shape[2]),
             FT_CONSTANTS(chord_mix, .transposed = transposed, .accumulate = accumulate),
             FT_FLAT(g, count),
             .flops = 2.0 * links * elements,
             .bytes = 8.0 * elements + 4.0 * (double)filtra_tensor_elements(c->w)});
}

static void emit_weights(filtra_graph *g, const struct chord *c, const filtra_tensor *dw,
                         bool accumulate) {
  const uint32_t count = (uint32_t)filtra_tensor_elements(dw);
  const double elements = (double)count, inner = (double)c->x->shape[2];
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "chord.backward",
             .kernel = "chord/weights",
             FT_ARGUMENTS(chord_weights, .dy = FT_READ(ft_grad(g, c->y)), .x = FT_READ(c->x),
                          .lengths = FT_READ(c->lengths), .dw = FT_TARGET(dw, accumulate),
                          .count = count, .n = (uint32_t)c->x->shape[1],
                          .links = (uint32_t)dw->shape[2], .inner = (uint32_t)c->x->shape[2]),
             FT_CONSTANTS(chord_weights, .accumulate = accumulate),
             FT_FLAT(g, count),
             .flops = 2.0 * inner * elements,
             .bytes = 4.0 * elements + 8.0 * (double)filtra_tensor_elements(c->x)});
}

static void chord_backward(filtra_graph *g, const void *context) {
  const struct chord *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_mix(g, "chord.backward", c, ft_grad(g, c->y), dx, true, accumulate);
  filtra_tensor *dw = ft_grad_target(g, c->w, &accumulate);
  if (dw) emit_weights(g, c, dw, accumulate);
}

filtra_tensor *ft_chord(filtra_graph *g, filtra_tensor *w, filtra_tensor *x,
                        filtra_tensor *lengths) {
  if (!ft_usable_floats(g, w, 3, "chord", "w") || !ft_usable_floats(g, x, 3, "chord", "x") ||
      (lengths && !ft_usable_floats(g, lengths, 1, "chord", "lengths")))
    return NULL;
  const int64_t links = w->shape[2];
  if (w->shape[0] != x->shape[0] || w->shape[1] != x->shape[1] || links < 1 || links > MOST_LINKS)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "chord: w %s must be [B,N,K] of x %s, K from 1 to %d", ft_shape_text(w),
                         ft_shape_text(x), MOST_LINKS);
  if (lengths && lengths->shape[0] != x->shape[0])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "chord: lengths %s must be [B] of x %s",
                         ft_shape_text(lengths), ft_shape_text(x));
  struct chord call = {w, x, lengths, ft_tensor_new(g, "chord", FILTRA_F32, 3, x->shape)};
  if (!call.y) return NULL;
  emit_mix(g, "chord", &call, x, call.y, false, false);
  return ft_record_op(g, "chord", chord_backward, &call, sizeof call, 2, (filtra_tensor *[]){w, x},
                      1, &call.y);
}
