/* Polynomials by the kernel polynomial method, for runtime/ops/kernel_polynomial.c. */
#ifndef FT_KERNEL_POLYNOMIAL_CONTRACT_H
#define FT_KERNEL_POLYNOMIAL_CONTRACT_H

#include "common/contract.h"

#define kernel_polynomial_coefficients_TENSORS(TENSOR)                                             \
  TENSOR(F32, x)    /* [count] */                                                                  \
  TENSOR(F32, dy)   /* [count] */                                                                  \
  TENSOR(F32, sums) /* [workgroups, terms] */
#define kernel_polynomial_coefficients_SCALARS(SCALAR)                                             \
  SCALAR(uint, count)                                                                              \
  SCALAR(float, damping[17])                                                           /* g */
#define kernel_polynomial_coefficients_CONSTANTS(CONSTANT) CONSTANT(1, uint, terms, 1) /* K + 1 */
FT_CONTRACT(kernel_polynomial_coefficients)

#define kernel_polynomial_loss_TENSORS(TENSOR)                                                     \
  TENSOR(F32, coefficients) /* [terms], w */                                                       \
  TENSOR(F32, dy)           /* [samples], for the gradient */                                      \
  TENSOR(F32, y)            /* [samples], or dw [terms] */
#define kernel_polynomial_loss_SCALARS(SCALAR)                                                     \
  SCALAR(uint, terms)                                                                              \
  SCALAR(uint, samples)
#define kernel_polynomial_loss_CONSTANTS(CONSTANT)                                                 \
  CONSTANT(1, bool, gradient, false)                                                               \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(kernel_polynomial_loss)

#define kernel_polynomial_polynomial_TENSORS(TENSOR)                                               \
  TENSOR(F32, x)            /* [count] */                                                          \
  TENSOR(F32, coefficients) /* [terms], w */                                                       \
  TENSOR(F32, dy)           /* [count], for the gradient */                                        \
  TENSOR(F32, y)            /* [count] */
#define kernel_polynomial_polynomial_SCALARS(SCALAR)                                               \
  SCALAR(uint, count)                                                                              \
  SCALAR(float, damping[17]) /* g */
#define kernel_polynomial_polynomial_CONSTANTS(CONSTANT)                                           \
  CONSTANT(1, uint, terms, 1) /* K + 1 */                                                          \
  CONSTANT(2, bool, gradient, false)                                                               \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(kernel_polynomial_polynomial)

#endif
