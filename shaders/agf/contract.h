/* The attentive graph filter, for runtime/ops/agf.c, agf_columns.c and agf_filter.c. */
#ifndef FT_AGF_CONTRACT_H
#define FT_AGF_CONTRACT_H

#include "common/contract.h"

#define agf_column_TENSORS(TENSOR)                                                                 \
  TENSOR(Elements, v)      /* view [B,H,N,D] */                                                    \
  TENSOR(F32, mask)        /* [B,N] or absent */                                                   \
  TENSOR(F32, stats)       /* [B,chunks,2,H*D]: largest, sum; softmax only */                      \
  TENSOR(Elements, factor) /* V [B,N,H*D], or the exponentials */                                  \
  TENSOR(F32, inverse)     /* [B,H*D]: 1 / sum of exponentials; 16-bit softmax only */
#define agf_column_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, width)                                                                              \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(uint, stride[3]) /* of v: batch, head, token */
#define agf_column_CONSTANTS(CONSTANT) CONSTANT(1, uint, rho, rho_softmax)
FT_CONTRACT(agf_column)

#define agf_column_backward_TENSORS(TENSOR)                                                        \
  TENSOR(Elements, factor)      /* V or E, [B,N,H*D] */                                            \
  TENSOR(Elements, factor_grad) /* the gradient of that */                                         \
  TENSOR(F32, mask)             /* [B,N] or absent */                                              \
  TENSOR(F32, stats)            /* [B,chunks,H*D]: sum of factor factor_grad; softmax only */      \
  TENSOR(F32, inverse)          /* [B,H*D]: 1 / sum E; 16-bit softmax only */                      \
  TENSOR(Elements, v_grad)      /* view [B,H,N,D] */
#define agf_column_backward_SCALARS(SCALAR)                                                        \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, width)                                                                              \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(uint, stride[3]) /* of v_grad: batch, head, token */
#define agf_column_backward_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(1, uint, rho, rho_softmax)                                                              \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(agf_column_backward)

#define agf_column_stats_TENSORS(TENSOR)                                                           \
  TENSOR(Elements, v) /* forward: view [B,H,N,D]; backward: V [B,N,H*D] */                         \
  TENSOR(F32, other)  /* forward: mask [B,N] or absent; backward: V's gradient, of V's type */     \
  TENSOR(F32, stats)  /* [B,chunks,2,H*D] or [B,chunks,H*D] */
#define agf_column_stats_SCALARS(SCALAR)                                                           \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, width)                                                                              \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(uint, stride[3]) /* of v: batch, head, token */
#define agf_column_stats_CONSTANTS(CONSTANT) CONSTANT(1, bool, backward, false)
FT_CONTRACT(agf_column_stats)

#define agf_filter_TENSORS(TENSOR)                                                                 \
  TENSOR(Elements, u)      /* view [B,H,N,D] */                                                    \
  TENSOR(Elements, s)      /* view [B,H,N,D] */                                                    \
  TENSOR(F32x4, table)     /* [K+1] */                                                             \
  TENSOR(Elements, w)      /* [B,N,H,D] */                                                         \
  TENSOR(Elements, factor) /* [B,N,H,D]: U, if wanted apart from W */                              \
  TENSOR(F32, mask)        /* [B,N], or absent: tokens whose row of the factor is not 0 */
#define agf_filter_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, heads)                                                                              \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, width)                                                                              \
  SCALAR(uint, u_stride[3])                                                                        \
  SCALAR(uint, s_stride[3])
#define agf_filter_CONSTANTS(CONSTANT)                                                             \
  CONSTANT(1, uint, order, 1) /* K */                                                              \
  CONSTANT(2, uint, rho, rho_softmax)                                                              \
  CONSTANT(3, bool, filtered, true)   /* false: all singular values 1 */                           \
  CONSTANT(4, bool, symmetric, false) /* basis argument 2 sigmoid(s) - 1 */                        \
  CONSTANT(5, bool, masked, false)    /* some tokens' rows of the factor are 0 */                  \
  CONSTANT(6, uint, WIDTH, 0)         /* the width, in the variant "uniform" */
FT_CONTRACT(agf_filter)

#define agf_filter_backward_TENSORS(TENSOR)                                                        \
  TENSOR(Elements, u)           /* view [B,H,N,D] */                                               \
  TENSOR(Elements, s)           /* view [B,H,N,D] */                                               \
  TENSOR(F32x4, table)          /* [K+1] */                                                        \
  TENSOR(F32, w)                /* [B,N,H,D]; absent in 16 bits */                                 \
  TENSOR(Elements, w_grad)      /* [B,N,H,D] */                                                    \
  TENSOR(Elements, factor_grad) /* [B,N,H,D], or absent */                                         \
  TENSOR(Elements, u_grad)      /* strides of u, or absent */                                      \
  TENSOR(Elements, s_grad)      /* strides of s, or absent */                                      \
  TENSOR(F32, theta_sums)       /* [workgroups, K+1], or absent */                                 \
  TENSOR(F32, mask)             /* as in filter.comp */
#define agf_filter_backward_SCALARS(SCALAR)                                                        \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, heads)                                                                              \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, width)                                                                              \
  SCALAR(uint, u_stride[3])                                                                        \
  SCALAR(uint, s_stride[3])
#define agf_filter_backward_own_CONSTANTS(CONSTANT)                                                \
  CONSTANT(7, bool, accumulate_u, false)                                                           \
  CONSTANT(8, bool, accumulate_s, false)
#define agf_filter_backward_CONSTANTS(CONSTANT)                                                    \
  agf_filter_CONSTANTS(CONSTANT) agf_filter_backward_own_CONSTANTS(CONSTANT)
FT_CONTRACT(agf_filter_backward)

#define agf_ortho_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, u_gram)                                   /* [B,H,D,D] */                            \
  TENSOR(F32, v_gram)                                   /* [B,H,D,D] */                            \
  TENSOR(F32, v_scale)                                  /* [B,H,D], or absent: 1 */                \
  TENSOR(F32, loss)                                     /* [B], or its gradient */                 \
  TENSOR(F32, u_grad)                                   /* [B,H,D,D]; backward, or absent */       \
  TENSOR(F32, v_grad)                                   /* [B,H,D,D]; backward, or absent */
#define agf_ortho_SCALARS(SCALAR) SCALAR(uint, entries) /* H*D*D */
#define agf_ortho_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, bool, backward, false)                                                               \
  CONSTANT(2, uint, width, 1) /* D; numbers that no compiler knows are slow to divide by */
FT_CONTRACT(agf_ortho)

#define agf_singular_values_TENSORS(TENSOR)                                                        \
  TENSOR(F32, sigma)       /* [H,D] */                                                             \
  TENSOR(F32, matrix)      /* [B,H,D,D] */                                                         \
  TENSOR(F32, scaled)      /* [B,H,D,D]; backward: its gradient */                                 \
  TENSOR(F32, sigma_grad)  /* backward, or absent */                                               \
  TENSOR(F32, matrix_grad) /* backward, or absent */
#define agf_singular_values_SCALARS(SCALAR)                                                        \
  SCALAR(uint, rows)  /* H*D */                                                                    \
  SCALAR(uint, width) /* D */                                                                      \
  SCALAR(uint, batch) /* B */
#define agf_singular_values_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(1, bool, backward, false)                                                               \
  CONSTANT(2, bool, accumulate_sigma, false)                                                       \
  CONSTANT(3, bool, accumulate_matrix, false)
FT_CONTRACT(agf_singular_values)

#define agf_theta_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, raw)     /* [K+1] */                                                                 \
  TENSOR(F32x4, table) /* [K+1] */
#define agf_theta_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, first)                                                                              \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, mode)                                                                               \
  SCALAR(float, recurrence[24]) /* A, B, C of each order */
FT_CONTRACT_PLAIN(agf_theta)

#define agf_theta_backward_TENSORS(TENSOR)                                                         \
  TENSOR(F32, sums)     /* [parts, K+1] */                                                         \
  TENSOR(F32x4, table)  /* [K+1] */                                                                \
  TENSOR(F32, raw_grad) /* [K+1] */
#define agf_theta_backward_SCALARS(SCALAR)                                                         \
  SCALAR(uint, parts)                                                                              \
  SCALAR(uint, mode)                                                                               \
  SCALAR(uint, accumulate)
FT_CONTRACT_PLAIN(agf_theta_backward)

#endif
