/* Chains of rotations and recurrences, for runtime/ops/chain.c and givens.c. */
#ifndef FT_DHHP_CONTRACT_H
#define FT_DHHP_CONTRACT_H

#include "common/contract.h"

/* phased, permuted */
#define dhhp_side_VALUES(VALUE)                                                                    \
  VALUE(FT_CHAIN_NOWHERE, 0)                                                                       \
  VALUE(FT_CHAIN_INPUT, 1)                                                                         \
  VALUE(FT_CHAIN_OUTPUT, 2)
FT_DECLARE_VALUES(dhhp_side)

#define dhhp_chain_TENSORS(TENSOR)                                                                 \
  TENSOR(F32, coefficients) /* [B,steps,4,2]: ii, ij, ji, jj; affine: [B,steps+1,2] */             \
  TENSOR(Complex, phases)   /* [B,steps+1] */                                                      \
  TENSOR(Complex, in0)      /* [B,steps+1,F] */                                                    \
  TENSOR(Complex, in1)      /* [B,steps+1,F] */                                                    \
  /* A chunk, of all but the last, makes factor h + end of a carry h. */                           \
  TENSOR(Complex, ends)    /* [vectors,B,chunks-1,F] */                                            \
  TENSOR(Complex, factors) /* [B,chunks-1]: product of its c */                                    \
  TENSOR(Complex, out0)    /* [B,steps+1,F], or absent */                                          \
  TENSOR(Complex, out1)    /* [B,steps+1,F], or absent */                                          \
  TENSOR(F32, sums)        /* [blocks,B,steps,4,2] */
#define dhhp_chain_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, batch)                                                                              \
  SCALAR(uint, steps)                                                                              \
  SCALAR(uint, features)                                                                           \
  SCALAR(uint, blocks) /* of per_lane * lanes features */                                          \
  SCALAR(uint, chunks)                                                                             \
  SCALAR(uint, chunk)  /* steps of each */                                                         \
  SCALAR(uint, stride) /* of the permutation */                                                    \
  SCALAR(uint, shift)  /* affine: step k reads coefficient k + shift */
#define dhhp_walk_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, bool, up, false)      /* from the last token to the first */                         \
  CONSTANT(2, bool, adjoint, false) /* conjugate transposes of the rotations */                    \
  CONSTANT(3, bool, affine, false)  /* coefficients are the c_t alone */                           \
  CONSTANT(4, uint, vectors, 1)     /* walked together: 1 or 2 */                                  \
  CONSTANT(5, uint, per_lane, 1)    /* features of each */                                         \
  CONSTANT(6, uint, ahead, 1)       /* steps whose loads are in flight */                          \
  CONSTANT(7, uint, phased,                                                                        \
           FT_CHAIN_NOWHERE) /* input rows times conj(phase), output times phase */                \
  CONSTANT(8, uint, permuted, FT_CHAIN_NOWHERE) /* which side's rows are permuted */
#define dhhp_chain_own_CONSTANTS(CONSTANT)                                                         \
  CONSTANT(9, bool, summed, false)                                                                 \
  CONSTANT(10, bool, accumulate, false) /* onto the sums that are there */
#define dhhp_chain_CONSTANTS(CONSTANT)                                                             \
  dhhp_walk_CONSTANTS(CONSTANT) dhhp_chain_own_CONSTANTS(CONSTANT)
FT_DECLARE_ARGUMENTS(dhhp_chain)
FT_DECLARE_CONSTANTS(dhhp_walk)
FT_DECLARE_CONSTANTS(dhhp_chain)
FT_KERNEL(dhhp_summary, dhhp_chain, dhhp_walk)
FT_KERNEL(dhhp_chain, dhhp_chain, dhhp_chain)

#define dhhp_products_TENSORS(TENSOR)                                                              \
  TENSOR(Complex, x)       /* [B,N,F] */                                                           \
  TENSOR(Complex, y)       /* [B,N,F] */                                                           \
  TENSOR(Complex, phases)  /* [B,N], or absent: 1 */                                               \
  TENSOR(Complex, product) /* [B,N] */
#define dhhp_products_SCALARS(SCALAR)                                                              \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, features)                                                                           \
  SCALAR(int, shift)
#define dhhp_products_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, conjugated, false)                                                             \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(dhhp_products)

/* Angles of token t of sequence b, and their gradients, are at b * period + t * stride. */
#define dhhp_givens_TENSORS(TENSOR)                                                                \
  TENSOR(F32, alpha)                                                                               \
  TENSOR(F32, beta)                                                                                \
  TENSOR(F32, gamma)                                                                               \
  TENSOR(F32x4, rotations) /* [count,4,2], or its gradient */                                      \
  TENSOR(F32, alpha_grad)  /* or absent */                                                         \
  TENSOR(F32, beta_grad)   /* or absent */                                                         \
  TENSOR(F32, gamma_grad)  /* or absent */                                                         \
  TENSOR(F32, mask)        /* [.., steps + 1], or absent */
#define dhhp_givens_SCALARS(SCALAR)                                                                \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, steps) /* rotations of a sequence */                                                \
  SCALAR(uint, first) /* rotation k has the angles of token k + first */                           \
  SCALAR(uint, period)                                                                             \
  SCALAR(uint, stride)                                                                             \
  SCALAR(uint, accumulate) /* bits 0, 1, 2: add to the gradient of alpha, beta, gamma */
#define dhhp_givens_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(1, bool, backward, false)                                                               \
  CONSTANT(2, bool, spare, false) /* angles have steps + 1 tokens: the other one's gradient is 0 */
FT_CONTRACT(dhhp_givens)

#endif
