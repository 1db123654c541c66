/* Sums and the like along axes, for runtime/ops/reduce.c and column_sum.c. */
#ifndef FT_REDUCE_CONTRACT_H
#define FT_REDUCE_CONTRACT_H

#include "common/contract.h"

#define reduce_axis_TENSORS(TENSOR)                                                                \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, z)                                                                                   \
  TENSOR(F32, y) /* [outer, parts, inner] */
#define reduce_axis_SCALARS(SCALAR)                                                                \
  SCALAR(uint, count) /* of y */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, parts)                                                                              \
  SCALAR(uint, inner)                                                                              \
  SCALAR(float, scale)
#define reduce_axis_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(1, bool, product, false)                                                                \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(reduce_axis)

#define reduce_columns_TENSORS(TENSOR)                                                             \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, y)
#define reduce_columns_SCALARS(SCALAR)                                                             \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, chunk)
#define reduce_columns_CONSTANTS(CONSTANT) CONSTANT(1, bool, ACCUMULATE, false)
FT_CONTRACT(reduce_columns)

#define reduce_largest_TENSORS(TENSOR)                                                             \
  TENSOR(F32, x)                                                                                   \
  TENSOR(U32, x_index)                                                                             \
  TENSOR(F32, y) /* [outer, parts, inner] */                                                       \
  TENSOR(U32, y_index)
#define reduce_largest_SCALARS(SCALAR)                                                             \
  SCALAR(uint, count) /* of y */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, parts)                                                                              \
  SCALAR(uint, inner)
#define reduce_largest_CONSTANTS(CONSTANT)                                                         \
  CONSTANT(1, bool, indexed, false) /* x comes with indices, from a step before */
FT_CONTRACT(reduce_largest)

#define reduce_spread_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy) /* [outer, inner] */                                                             \
  TENSOR(U32, index)                                                                               \
  TENSOR(F32, dx)
#define reduce_spread_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of dx */                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, inner)                                                                              \
  SCALAR(float, scale)
#define reduce_spread_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, largest, false)                                                                \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(reduce_spread)

#endif
