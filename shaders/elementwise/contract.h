/* Elementwise kernels, for runtime/ops/elementwise.c and binary.c. */
#ifndef FT_ELEMENTWISE_CONTRACT_H
#define FT_ELEMENTWISE_CONTRACT_H

#include "common/axes.h"
#include "common/contract.h"

#define elementwise_activate_TENSORS(TENSOR)                                                       \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, dy) /* for the gradient */                                                           \
  TENSOR(F32, y)
#define elementwise_activate_SCALARS(SCALAR) SCALAR(uint, count)
#define elementwise_activate_CONSTANTS(CONSTANT)                                                   \
  CONSTANT(1, uint, activation, 0) /* filtra_activation */                                         \
  CONSTANT(2, bool, gradient, false)                                                               \
  CONSTANT(3, bool, accumulate, false)                                                             \
  CONSTANT(4, bool, WHOLE, false)
FT_CONTRACT(elementwise_activate)

#define elementwise_affine_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, y)
#define elementwise_affine_SCALARS(SCALAR)                                                         \
  SCALAR(uint, count)                                                                              \
  SCALAR(float, scale)                                                                             \
  SCALAR(float, offset)
#define elementwise_affine_CONSTANTS(CONSTANT)                                                     \
  CONSTANT(1, bool, accumulate, false)                                                             \
  CONSTANT(2, bool, WHOLE, false)
FT_CONTRACT(elementwise_affine)

/* operation */
#define elementwise_operation_VALUES(VALUE)                                                        \
  VALUE(BINARY_ADD, 0)                                                                             \
  VALUE(BINARY_MULTIPLY, 1)                                                                        \
  VALUE(BINARY_SUBTRACT, 2)                                                                        \
  VALUE(BINARY_DIVIDE, 3)                                                                          \
  VALUE(BINARY_MINUS_PRODUCT, 4)
FT_DECLARE_VALUES(elementwise_operation)

#define elementwise_binary_TENSORS(TENSOR)                                                         \
  TENSOR(F32, a)                                                                                   \
  TENSOR(F32, b)                                                                                   \
  TENSOR(F32, y)
#define elementwise_binary_SCALARS(SCALAR) ft_axes_SCALARS(SCALAR)
#define elementwise_binary_CONSTANTS(CONSTANT)                                                     \
  CONSTANT(1, uint, operation, 0)                                                                  \
  CONSTANT(2, bool, accumulate, false)                                                             \
  CONSTANT(3, uint, AXES, 0)                                                                       \
  CONSTANT(4, bool, WHOLE, false)                                                                  \
  CONSTANT(5, uint, REPEATED, 0) /* WHOLE: tensors (1: a, 2: b) with one element for each group */
FT_CONTRACT(elementwise_binary)

/* A call has up to SUMS sums, y_i of x_i, each with workgroups of its own: the first `end[0]` are
 * those of the first, and so on. Constants have a bit for each sum. */
#define SUMS        4
#define SUM_SHARING 16 /* invocations that share the slices of an element of y */
#define elementwise_sum_leading_TENSORS(TENSOR)                                                    \
  TENSOR(F32, x0) /* [slices, slice] */                                                            \
  TENSOR(F32, x1)                                                                                  \
  TENSOR(F32, x2)                                                                                  \
  TENSOR(F32, x3)                                                                                  \
  TENSOR(Elements, y0) /* [count] */                                                               \
  TENSOR(Elements, y1)                                                                             \
  TENSOR(Elements, y2)                                                                             \
  TENSOR(Elements, y3)
#define elementwise_sum_leading_SCALARS(SCALAR)                                                    \
  SCALAR(uint, count[SUMS])                                                                        \
  SCALAR(uint, slice[SUMS])                                                                        \
  SCALAR(uint, slices[SUMS])                                                                       \
  SCALAR(uint, end[SUMS - 1])
#define elementwise_sum_leading_CONSTANTS(CONSTANT)                                                \
  CONSTANT(1, uint, ACCUMULATE, 0)                                                                 \
  CONSTANT(2, uint, SHARED, 0)                                                                     \
  CONSTANT(3, uint, COUNT, 1) /* of sums */
FT_CONTRACT(elementwise_sum_leading)

#endif
