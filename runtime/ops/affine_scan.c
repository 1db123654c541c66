/* First-order recurrences over the tokens, with complex coefficients shared by all features. */
#include "ops/chain.h"

#include <filtra/ops.h>

struct affine_scan {
  filtra_tensor *c, *d, *h;
  bool reverse;
};

/* R_t = dh_t + conj(c_{t+1}) R_{t+1} is the gradient of d_t; the gradient of c_t is the sum over
 * features of conj(h_{t-1}) R_t. With `reverse`, the other way round. */
static void affine_scan_backward(filtra_graph *g, const void *context) {
  const struct affine_scan *s = context;
  const filtra_tensor *dh = ft_grad(g, s->h);
  filtra_tensor *r = ft_tensor_like(g, s->d, "affine_scan gradient");
  if (!dh || !r) return;
  ft_emit_chain(g, &(ft_chain){.label = "affine_scan.backward",
                               .coefficients = s->c,
                               .affine = true,
                               .shift = s->reverse ? 0 : 1,
                               .up = !s->reverse,
                               .adjoint = true,
                               .vectors = 1,
                               .in = {dh},
                               .out = {r}});
  bool accumulate;
  filtra_tensor *dc = ft_grad_target(g, s->c, &accumulate);
  if (dc)
    ft_emit_token_products(g, &(ft_token_products){.label = "affine_scan.backward",
                                                   .x = s->h,
                                                   .y = r,
                                                   .out = dc,
                                                   .shift = s->reverse ? -1 : 1,
                                                   .accumulate = accumulate});
  ft_grad_give(g, s->d, r);
}

filtra_tensor *filtra_affine_scan(filtra_graph *g, filtra_tensor *c, filtra_tensor *d,
                                  filtra_direction direction) {
  const bool reverse = direction == FILTRA_BACKWARD;
  if (!ft_known_choice(g, (int)direction, FILTRA_BACKWARD, "affine_scan", "direction") ||
      !ft_usable_features(g, d, "affine_scan", "d") ||
      !ft_usable_shape(g, c, 3, (const int64_t[]){d->shape[0], d->shape[1], 2}, "affine_scan", "c"))
    return NULL;
  filtra_tensor *h = ft_tensor_like(g, d, "affine_scan");
  const struct affine_scan call = {c, d, h, reverse};
  if (!ft_record_op(g, "affine_scan", affine_scan_backward, &call, sizeof call, 2,
                    (filtra_tensor *[]){c, d}, 1, &h))
    return NULL;
  ft_emit_chain(g, &(ft_chain){.label = "affine_scan",
                               .coefficients = c,
                               .affine = true,
                               .shift = reverse ? 0 : 1,
                               .up = reverse,
                               .vectors = 1,
                               .in = {d},
                               .out = {h}});
  return h;
}
