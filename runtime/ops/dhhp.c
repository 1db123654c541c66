/* The Converter's unitary transform Phi = D H_l H_u P: two chains of Givens rotations, one walked
 * up and one walked down, a diagonal of phases, and a fixed permutation. Phi^H undoes the four in
 * the opposite order, so both transforms are a walk up followed by a walk down:
 *   Phi   = D . down(lower) . up(upper) . P        Phi^H = P^T . down(upper^H) . up(lower^H) . D^H
 * The gradient of one is the other, applied to the upstream gradient. The same two walks, applied
 * also to the output, restore each pair of rows that a rotation has mixed, which the rotation's
 * gradient needs: no state of the forward walks is kept. Called by nn/converter.c and programs. */
#include "ops/chain.h"

#include <filtra/ops.h>

struct dhhp {
  filtra_tensor *x, *lower, *upper, *phases, *y;
  int64_t permutation;
  bool inverse;
};

/* ---- the two walks ---- */

/* The first or second walk of Phi or Phi^H; the caller sets inputs and outputs. */
static ft_chain make_walk(const struct dhhp *c, const char *label, bool inverse, bool second) {
  ft_chain walk = {.label = label,
                   .coefficients = inverse == second ? c->upper : c->lower,
                   .up = !second,
                   .adjoint = inverse,
                   .permutation = c->permutation};
  if (inverse == second)
    walk.permuted = inverse ? FT_CHAIN_OUTPUT : FT_CHAIN_INPUT;
  else {
    walk.phases = c->phases;
    walk.phased = inverse ? FT_CHAIN_INPUT : FT_CHAIN_OUTPUT;
  }
  return walk;
}

static void transform(filtra_graph *g, const struct dhhp *c, const char *label, bool inverse,
                      const filtra_tensor *from, const filtra_tensor *to) {
  filtra_tensor *between = ft_tensor_like(g, from, "dhhp between");
  if (!between) return;
  ft_chain first = make_walk(c, label, inverse, false), second = make_walk(c, label, inverse, true);
  first.vectors = second.vectors = 1;
  first.in[0] = from;
  first.out[0] = second.in[0] = between;
  second.out[0] = to;
  ft_emit_chain(g, &first);
  ft_emit_chain(g, &second);
}

/* ---- gradients ---- */

/* Walks back with the gradient and, while a gradient of rotations is wanted, also with the state.
 * `to` (may be NULL) receives the gradient of x. */
static void walk_back(filtra_graph *g, const struct dhhp *c, const filtra_tensor *dy,
                      const filtra_tensor *to) {
  static const char label[] = "dhhp.backward";
  const bool inverse = !c->inverse;
  filtra_tensor *rotations[2] = {inverse ? c->lower : c->upper, inverse ? c->upper : c->lower};
  filtra_tensor *target[2];
  bool add[2];
  for (int i = 0; i < 2; i++)
    target[i] = ft_grad_target(g, rotations[i], &add[i]);
  const bool state = target[0] || target[1];

  ft_chain first = make_walk(c, label, inverse, false), second = make_walk(c, label, inverse, true);
  first.vectors = state ? 2 : 1;
  first.in[0] = dy;
  first.in[1] = c->y;
  first.gradient = target[0];
  first.accumulate = add[0];
  second.vectors = target[1] ? 2 : 1;
  second.gradient = target[1];
  second.accumulate = add[1];
  if (to || target[1]) {
    first.out[0] = second.in[0] = ft_tensor_like(g, dy, "dhhp gradient between");
    if (!second.in[0]) return;
  }
  if (target[1]) {
    first.out[1] = second.in[1] = ft_tensor_like(g, dy, "dhhp between");
    if (!second.in[1]) return;
  }
  second.out[0] = to;
  if (to || state) ft_emit_chain(g, &first);
  if (to || target[1]) ft_emit_chain(g, &second);
}

/* If y = D w, the gradient of D is the sum over features of conj(w) dy, and conj(w) = D conj(y). If
 * w = D^H x, it is the sum of x conj(dw), and dw = D^H dx. */
static void phases_backward(filtra_graph *g, const struct dhhp *c, const filtra_tensor *dy,
                            const filtra_tensor *dx) {
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, c->phases, &accumulate);
  if (!target) return;
  ft_emit_token_products(g, &(ft_token_products){.label = "dhhp.backward",
                                                 .x = c->inverse ? c->x : c->y,
                                                 .y = c->inverse ? dx : dy,
                                                 .phases = c->phases,
                                                 .out = target,
                                                 .conjugated = c->inverse,
                                                 .accumulate = accumulate});
}

static void dhhp_backward(filtra_graph *g, const void *context) {
  const struct dhhp *c = context;
  const filtra_tensor *dy = ft_grad(g, c->y);
  if (!dy) return;
  const bool through_phases = c->phases && c->phases->requires_grad;
  filtra_tensor *dx = NULL;
  if (c->x->requires_grad || (c->inverse && through_phases)) {
    dx = ft_tensor_like(g, c->x, "dhhp gradient");
    if (!dx) return;
  }
  walk_back(g, c, dy, dx);
  if (through_phases) phases_backward(g, c, dy, dx);
  ft_grad_give(g, c->x, dx);
}

/* ---- the op ---- */

static bool check_dhhp(filtra_graph *g, const struct dhhp *c) {
  if (!ft_usable_features(g, c->x, "dhhp", "x")) return false;
  const int64_t batch = c->x->shape[0], tokens = c->x->shape[1];
  const int64_t rotations[] = {batch, tokens - 1, 4, 2}, phases[] = {batch, tokens, 2};
  if (!ft_usable_shape(g, c->lower, 4, rotations, "dhhp", "lower") ||
      !ft_usable_shape(g, c->upper, 4, rotations, "dhhp", "upper") ||
      (c->phases && !ft_usable_shape(g, c->phases, 3, phases, "dhhp", "phases")))
    return false;
  if (c->permutation >= 0 && c->permutation <= INT32_MAX) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "dhhp: permutation %lld; it must be 0 (none) or a stride of tokens",
                (long long)c->permutation);
  return false;
}

filtra_tensor *filtra_dhhp(filtra_graph *g, filtra_tensor *x, filtra_tensor *lower,
                           filtra_tensor *upper, filtra_tensor *phases,
                           const filtra_dhhp_options *options) {
  const filtra_dhhp_options defaults = {0}, *o = options ? options : &defaults;
  struct dhhp call = {x, lower, upper, phases, NULL, o->permutation, o->inverse};
  if (!check_dhhp(g, &call) || !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_dhhp_options, o)))
    return NULL;
  call.y = ft_tensor_like(g, x, "dhhp");
  if (!ft_record_op(g, "dhhp", dhhp_backward, &call, sizeof call, 4,
                    (filtra_tensor *[]){x, lower, upper, phases}, 1, &call.y))
    return NULL;
  transform(g, &call, "dhhp", call.inverse, x, call.y);
  return call.y;
}
