/* Rotations from angles. */
#include "dhhp/contract.h"
#include "ops/chain.h"

#include <filtra/ops.h>

enum { ANGLES = 3 };

struct givens {
  filtra_tensor *angle[ANGLES]; /* alpha, beta, gamma: [B,N-1], or [B,N] of all tokens */
  filtra_tensor *mask;          /* or NULL */
  filtra_tensor *rotations;
  int64_t first; /* token whose angles the first rotation has */
};

/* Angles whose gradients are wanted; all NULL in the forward pass. */
struct targets {
  filtra_tensor *angle[ANGLES];
  bool add[ANGLES];
};

/* A sequence of one token has no rotation that reads its angles. */
static void clear_unused(filtra_graph *g, const struct targets *t) {
  for (int i = 0; i < ANGLES; i++)
    if (t->angle[i] && !t->add[i]) ft_emit_fill(g, t->angle[i], 0.0f);
}

static void emit_givens(filtra_graph *g, const struct givens *c, ft_arg rotations,
                        const struct targets *t) {
  const bool backward = rotations.mode == FT_ACCESS_READ;
  const filtra_tensor *alpha = c->angle[0];
  const int64_t steps = c->rotations->shape[1];
  const uint32_t count = (uint32_t)(c->rotations->shape[0] * steps);
  if (!count) {
    clear_unused(g, t);
    return;
  }
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = backward ? "givens.backward" : "givens",
          .kernel = "dhhp/givens",
          FT_ARGUMENTS(dhhp_givens, .alpha = FT_READ(c->angle[0]), .beta = FT_READ(c->angle[1]),
                       .gamma = FT_READ(c->angle[2]), .rotations = rotations,
                       .alpha_grad = FT_TARGET(t->angle[0], t->add[0]),
                       .beta_grad = FT_TARGET(t->angle[1], t->add[1]),
                       .gamma_grad = FT_TARGET(t->angle[2], t->add[2]), .mask = FT_READ(c->mask),
                       .count = count, .steps = (uint32_t)steps, .first = (uint32_t)c->first,
                       .period = (uint32_t)alpha->stride[0], .stride = (uint32_t)alpha->stride[1],
                       .accumulate = (uint32_t)(t->add[0] | t->add[1] << 1 | t->add[2] << 2)),
          FT_FLAT(g, count),
          FT_CONSTANTS(dhhp_givens, .backward = backward, .spare = alpha->shape[1] > steps),
          .flops = 100.0 * count,
          .bytes = (backward ? 56.0 : 44.0) * count});
}

static void givens_backward(filtra_graph *g, const void *context) {
  const struct givens *c = context;
  const ft_arg rotations = FT_READ(ft_grad(g, c->rotations));
  const filtra_tensor *a = c->angle[0]->owner, *b = c->angle[1]->owner, *d = c->angle[2]->owner;
  const bool shared = a == b || b == d || a == d; /* one tensor as two angles: one dispatch each */
  struct targets all = {0};
  for (int i = 0; i < ANGLES; i++) {
    struct targets one = {0};
    struct targets *t = shared ? &one : &all;
    t->angle[i] = ft_grad_target(g, c->angle[i], &t->add[i]);
    if (shared && t->angle[i]) emit_givens(g, c, rotations, t);
  }
  if (!shared) emit_givens(g, c, rotations, &all);
}

static filtra_tensor *record(filtra_graph *g, struct givens *call, int64_t steps) {
  const int64_t shape[] = {call->angle[0]->shape[0], steps, 4, 2};
  const int64_t tokens[] = {shape[0], steps + 1};
  if (call->mask && !ft_usable_shape(g, call->mask, 2, tokens, "givens", "mask")) return NULL;
  call->rotations = ft_tensor_new(g, "rotations", FILTRA_F32, 4, shape);
  if (!ft_record_op(g, "givens", givens_backward, call, sizeof *call, ANGLES, call->angle, 1,
                    &call->rotations))
    return NULL;
  emit_givens(g, call, (ft_arg)FT_WRITE(call->rotations), &(struct targets){0});
  return call->rotations;
}

filtra_tensor *filtra_givens(filtra_graph *g, filtra_tensor *alpha, filtra_tensor *beta,
                             filtra_tensor *gamma, filtra_tensor *mask) {
  if (!ft_usable_floats(g, alpha, 2, "givens", "alpha") ||
      !ft_usable_shape(g, beta, 2, alpha->shape, "givens", "beta") ||
      !ft_usable_shape(g, gamma, 2, alpha->shape, "givens", "gamma"))
    return NULL;
  return record(g, &(struct givens){.angle = {alpha, beta, gamma}, .mask = mask}, alpha->shape[1]);
}

filtra_tensor *ft_givens_of_tokens(filtra_graph *g, filtra_tensor *const angles[3], int64_t first,
                                   filtra_tensor *mask) {
  for (int i = 0; i < ANGLES; i++)
    if (!ft_usable(g, angles[i])) return NULL;
  struct givens call = {.angle = {angles[0], angles[1], angles[2]}, .mask = mask, .first = first};
  return record(g, &call, angles[0]->shape[1] - 1);
}
