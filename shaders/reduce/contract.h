/* Sums and maxima along axes, for runtime/ops/reduce.c and column_sum.c. */
#ifndef FT_REDUCE_CONTRACT_H
#define FT_REDUCE_CONTRACT_H

#include "common/axes.h"
#include "common/contract.h"

#define reduce_axis_TENSORS(TENSOR)                                                                \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, z)                                                                                   \
  TENSOR(F32, y) /* [outer, parts, inner] */
#define reduce_axis_SCALARS(SCALAR)                                                                \
  SCALAR(uint, count) /* of y */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, parts)                                                                              \
  SCALAR(uint, together) /* 1, or the number of parts of which y, then with one, has the sum */    \
  SCALAR(uint, inner)                                                                              \
  SCALAR(float, scale)                                                                             \
  SCALAR(float, offset)
#define reduce_axis_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(1, bool, product, false)                                                                \
  CONSTANT(2, bool, accumulate, false)                                                             \
  CONSTANT(3, uint, FOURS, 0)                                                                      \
  CONSTANT(4, uint, SHARING, 1) /* invocations that share a sum, `together` or more; or 1 */
/* FOURS: how elements are read in groups of four; AXIS_ACROSS: count and inner are in groups of
 * four. */
#define reduce_fours_VALUES(VALUE)                                                                 \
  VALUE(AXIS_SINGLY, 0)                                                                            \
  VALUE(AXIS_ACROSS, 1)                                                                            \
  VALUE(AXIS_ALONG, 2) /* inner and parts are 1 */
FT_DECLARE_VALUES(reduce_fours)
FT_CONTRACT(reduce_axis)

#define reduce_blocks_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, product, false)                                                                \
  CONSTANT(2, bool, accumulate, false)                                                             \
  CONSTANT(3, bool, ALONG, false)                                                                  \
  CONSTANT(4, uint, STEP, 0) /* n, else together * inner */
FT_DECLARE_CONSTANTS(reduce_blocks)
FT_KERNEL(reduce_blocks, reduce_axis, reduce_blocks)

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
  CONSTANT(1, bool, indexed, false) /* x comes with indices, from an earlier step */               \
  CONSTANT(2, uint, SHARING, 1)     /* invocations that share an element of y, with one part */
FT_CONTRACT(reduce_largest)

#define reduce_chosen_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy)    /* [outer, inner] */                                                          \
  TENSOR(U32, index) /* [outer, inner] */                                                          \
  TENSOR(F32, dx)    /* [outer, n, inner] */
#define reduce_chosen_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of dy */                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, inner)
FT_CONTRACT_PLAIN(reduce_chosen)

#define reduce_spread_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy) /* [outer, inner]: a, and b */                                                   \
  TENSOR(F32, dx)
#define reduce_spread_SCALARS(SCALAR)                                                              \
  ft_axes_SCALARS(SCALAR) /* of dx */                                                              \
      SCALAR(float, scale)
#define reduce_spread_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, accumulate, false)                                                             \
  CONSTANT(2, uint, AXES, 0)                                                                       \
  CONSTANT(3, bool, WHOLE, false)                                                                  \
  CONSTANT(4, bool, REPEATED, false) /* WHOLE: dy has one element for each group of four */
FT_CONTRACT(reduce_spread)

#endif
