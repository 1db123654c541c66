/* Layer normalization, for runtime/ops/layer_norm.c. */
#ifndef FT_LAYER_NORM_CONTRACT_H
#define FT_LAYER_NORM_CONTRACT_H

#include "common/contract.h"

#define layer_norm_backward_TENSORS(TENSOR)                                                        \
  TENSOR(F32, x)         /* [rows, columns] */                                                     \
  TENSOR(F32, y_grad)    /* [rows, columns], of the kernel's type */                               \
  TENSOR(F32, gain)      /* [columns] */                                                           \
  TENSOR(F32, mean)      /* [rows] */                                                              \
  TENSOR(F32, rstd)      /* [rows] */                                                              \
  TENSOR(F32, x_grad)    /* [rows, columns], or absent */                                          \
  TENSOR(F32, gain_sums) /* [workgroups, columns], or absent */                                    \
  TENSOR(F32, bias_sums) /* [workgroups, columns], or absent */
#define layer_norm_backward_SCALARS(SCALAR)                                                        \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)
#define layer_norm_backward_own_CONSTANTS(CONSTANT)                                                \
  CONSTANT(3, bool, accumulate, false)                                                             \
  CONSTANT(4, uint, SPACE, 0) /* columns that shared memory holds; 0: no sums */
#define layer_norm_backward_CONSTANTS(CONSTANT)                                                    \
  ft_row_CONSTANTS(CONSTANT) layer_norm_backward_own_CONSTANTS(CONSTANT)
FT_CONTRACT(layer_norm_backward)

#define layer_norm_columns_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)           /* [rows, columns] */                                                   \
  TENSOR(Elements, y_grad) /* [rows, columns] */                                                   \
  TENSOR(F32, mean)        /* [rows] */                                                            \
  TENSOR(F32, rstd)        /* [rows] */                                                            \
  TENSOR(F32, gain_sums)   /* [chunks, columns], or absent */                                      \
  TENSOR(F32, bias_sums)   /* [chunks, columns], or absent */
#define layer_norm_columns_SCALARS(SCALAR)                                                         \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, chunk)
#define layer_norm_columns_CONSTANTS(CONSTANT) CONSTANT(1, uint, held, 1)
FT_CONTRACT(layer_norm_columns)

#define layer_norm_forward_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)    /* [rows, columns] */                                                          \
  TENSOR(F32, gain) /* [columns] */                                                                \
  TENSOR(F32, bias) /* [columns] */                                                                \
  TENSOR(F32, y)    /* of the kernel's type */                                                     \
  TENSOR(F32, mean)                                                                                \
  TENSOR(F32, rstd)
#define layer_norm_forward_SCALARS(SCALAR)                                                         \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(float, eps)
#define layer_norm_forward_CONSTANTS(CONSTANT) ft_row_CONSTANTS(CONSTANT)
FT_CONTRACT(layer_norm_forward)

#endif
