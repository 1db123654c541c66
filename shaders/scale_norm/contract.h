/* Scale normalization, for runtime/ops/scale_norm.c. */
#ifndef FT_SCALE_NORM_CONTRACT_H
#define FT_SCALE_NORM_CONTRACT_H

#include "common/contract.h"

#define scale_norm_backward_TENSORS(TENSOR)                                                        \
  TENSOR(F32, x)         /* [rows, columns], columns = features * parts */                         \
  TENSOR(F32, y_grad)    /* [rows, columns], columns = features * parts */                         \
  TENSOR(F32, gain)      /* [features], or absent: 1 */                                            \
  TENSOR(F32, norm)      /* [rows], |x| */                                                         \
  TENSOR(F32, x_grad)    /* [rows, columns] */                                                     \
  TENSOR(F32, gain_sums) /* [workgroups, features], where summed */
#define scale_norm_backward_SCALARS(SCALAR)                                                        \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(float, eps)
#define scale_norm_backward_own_CONSTANTS(CONSTANT)                                                \
  CONSTANT(3, uint, parts, 1) /* numbers per feature: 2 for complex ones */                        \
  CONSTANT(4, bool, accumulate, false)                                                             \
  CONSTANT(5, bool, summed, false) /* "lanes" and "uniform" only */
#define scale_norm_backward_CONSTANTS(CONSTANT)                                                    \
  ft_row_CONSTANTS(CONSTANT) scale_norm_backward_own_CONSTANTS(CONSTANT)
FT_CONTRACT(scale_norm_backward)

#define scale_norm_columns_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)      /* [rows, features * parts] */                                               \
  TENSOR(F32, y_grad) /* [rows, features * parts] */                                               \
  TENSOR(F32, norm)   /* [rows], |x| */                                                            \
  TENSOR(F32, sums)   /* [chunks, features] */
#define scale_norm_columns_SCALARS(SCALAR)                                                         \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, features)                                                                           \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(float, eps)
#define scale_norm_columns_CONSTANTS(CONSTANT)                                                     \
  CONSTANT(1, uint, parts, 1) /* numbers per feature: 2 for complex ones */
FT_CONTRACT(scale_norm_columns)

#define scale_norm_forward_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)    /* [rows, columns], columns = features * parts */                              \
  TENSOR(F32, gain) /* [features], or absent: 1 */                                                 \
  TENSOR(F32, y)                                                                                   \
  TENSOR(F32, norm) /* [rows], |x| */
#define scale_norm_forward_SCALARS(SCALAR)                                                         \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(float, eps)
#define scale_norm_forward_own_CONSTANTS(CONSTANT)                                                 \
  CONSTANT(3, uint, parts, 1) /* numbers per feature: 2 for complex ones */
#define scale_norm_forward_CONSTANTS(CONSTANT)                                                     \
  ft_row_CONSTANTS(CONSTANT) scale_norm_forward_own_CONSTANTS(CONSTANT)
FT_CONTRACT(scale_norm_forward)

#endif
