/* Gated recurrent units, for runtime/ops/gru.c. */
#ifndef FT_GRU_CONTRACT_H
#define FT_GRU_CONTRACT_H

#include "common/contract.h"

#define gru_step_CONSTANTS(CONSTANT)                                                               \
  CONSTANT(1, uint, hidden, 1)                                                                     \
  CONSTANT(2, uint, rows, 1)                                                                       \
  CONSTANT(3, uint, units, 1)  /* outputs side by side */                                          \
  CONSTANT(4, uint, held, 1)   /* outputs per invocation, `units` apart */                         \
  CONSTANT(5, uint, slices, 1) /* parts of LENGTH, summed by different invocations */
#define gru_keep_CONSTANTS(CONSTANT)                                                               \
  CONSTANT(6, bool, keep, false) /* forward: store what the backward pass reads */
#define gru_resident_CONSTANTS(CONSTANT)                                                           \
  CONSTANT(7, bool, resident, false) /* all weights stay in registers */
#define gru_CONSTANTS(CONSTANT)                                                                    \
  gru_step_CONSTANTS(CONSTANT) gru_keep_CONSTANTS(CONSTANT) gru_resident_CONSTANTS(CONSTANT)
FT_DECLARE_CONSTANTS(gru)

#define GRU_TOGETHER 16 /* lines of weights that are loaded together: a divisor of their number */
#define gru_uniform_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(1, uint, hidden, 1)                                                                     \
  CONSTANT(2, uint, rows, 1)                                                                       \
  CONSTANT(3, bool, keep, false)                                                                   \
  CONSTANT(4, uint, blocks, 1) /* backward: of units, whose sums are made together */
FT_DECLARE_CONSTANTS(gru_uniform)

#define gru_backward_TENSORS(TENSOR)                                                               \
  TENSOR(F32, dh)      /* [batch, n, hidden], from outside */                                      \
  TENSOR(F32, h)       /* [batch, n, hidden] */                                                    \
  TENSOR(F32, weights) /* W_h [3 hidden, hidden] */                                                \
  TENSOR(F32, gates)   /* [batch, n, 3 hidden]: r, z, n */                                         \
  TENSOR(F32, inner)   /* [batch, n, hidden]: W_hn h + b_hn */                                     \
  TENSOR(F32, dinputs) /* [batch, n, 3 hidden]: d(W_i x + b_i), or absent */                       \
  TENSOR(F32, carry)   /* [batch, hidden]: gradient of h from later steps */
#define gru_backward_SCALARS(SCALAR)                                                               \
  SCALAR(uint, batch)                                                                              \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, first)                                                                              \
  SCALAR(uint, end)
FT_DECLARE_ARGUMENTS(gru_backward)
FT_KERNEL(gru_backward, gru_backward, gru)
FT_KERNEL(gru_backward_uniform, gru_backward, gru_uniform)

#define gru_forward_TENSORS(TENSOR)                                                                \
  TENSOR(F32, gates)   /* [batch, n, 3 hidden]: W_i x + b_i; replaced by r, z and n when kept */   \
  TENSOR(F32, weights) /* W_h^T [hidden, 3 hidden] */                                              \
  TENSOR(F32, bias)    /* b_h [3 hidden] */                                                        \
  TENSOR(F32, h)       /* [batch, n, hidden] */                                                    \
  TENSOR(F32, inner)   /* W_hn h + b_hn [batch, n, hidden], when kept */
#define gru_forward_SCALARS(SCALAR)                                                                \
  SCALAR(uint, batch)                                                                              \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, first)                                                                              \
  SCALAR(uint, end)
FT_DECLARE_ARGUMENTS(gru_forward)
FT_KERNEL(gru_forward, gru_forward, gru)
FT_KERNEL(gru_forward_uniform, gru_forward, gru_uniform)

#endif
