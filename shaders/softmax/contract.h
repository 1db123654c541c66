/* Softmax along an axis, for runtime/ops/softmax.c. */
#ifndef FT_SOFTMAX_CONTRACT_H
#define FT_SOFTMAX_CONTRACT_H

#include "common/contract.h"

#define softmax_apply_TENSORS(TENSOR)                                                              \
  TENSOR(F32, x)   /* x, or y */                                                                   \
  TENSOR(F32, dy)  /* of the gradient */                                                           \
  TENSOR(F32, row) /* [outer, inner]: m, or dot */                                                 \
  TENSOR(F32, s)   /* of y */                                                                      \
  TENSOR(F32, y)   /* y, or dx */
#define softmax_apply_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of x */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, inner)
#define softmax_apply_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, gradient, false)                                                               \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(softmax_apply)

#define softmax_rows_TENSORS(TENSOR)                                                               \
  TENSOR(F32, x)  /* x, or y */                                                                    \
  TENSOR(F32, dy) /* of the gradient */                                                            \
  TENSOR(F32, y)  /* y, or dx */
#define softmax_rows_SCALARS(SCALAR)                                                               \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)
#define softmax_rows_own_CONSTANTS(CONSTANT)                                                       \
  CONSTANT(3, bool, gradient, false)                                                               \
  CONSTANT(4, bool, accumulate, false)
#define softmax_rows_CONSTANTS(CONSTANT)                                                           \
  ft_row_CONSTANTS(CONSTANT) softmax_rows_own_CONSTANTS(CONSTANT)
FT_CONTRACT(softmax_rows)

#define softmax_stats_TENSORS(TENSOR)                                                              \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, x_sum)                                                                               \
  TENSOR(F32, m) /* [outer, parts, inner] */                                                       \
  TENSOR(F32, s)
#define softmax_stats_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of m */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, parts)                                                                              \
  SCALAR(uint, inner)
#define softmax_stats_CONSTANTS(CONSTANT) CONSTANT(1, bool, merge, false)
FT_CONTRACT(softmax_stats)

#endif
