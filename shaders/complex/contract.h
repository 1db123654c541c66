/* Complex numbers, real and imaginary part side by side, for runtime/ops/complex.c. */
#ifndef FT_COMPLEX_CONTRACT_H
#define FT_COMPLEX_CONTRACT_H

#include "common/contract.h"

#define complex_blend_TENSORS(TENSOR)                                                              \
  TENSOR(F32, z)      /* [count, 2], or dz */                                                      \
  TENSOR(F32, weight) /* [1] */                                                                    \
  TENSOR(F32, y)      /* [count], or dy */
#define complex_blend_SCALARS(SCALAR) SCALAR(uint, count)
#define complex_blend_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, gradient, false)                                                               \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(complex_blend)

#define complex_blend_weight_TENSORS(TENSOR)                                                       \
  TENSOR(F32, z)      /* [count, 2] */                                                             \
  TENSOR(F32, weight) /* [1] */                                                                    \
  TENSOR(F32, dy)     /* [count] */                                                                \
  TENSOR(F32, sums)   /* [workgroups] */
#define complex_blend_weight_SCALARS(SCALAR) SCALAR(uint, count)
FT_CONTRACT_PLAIN(complex_blend_weight)

#define complex_join_TENSORS(TENSOR)                                                               \
  TENSOR(F32, re) /* [count] */                                                                    \
  TENSOR(F32, im) /* [count] */                                                                    \
  TENSOR(F32, z)  /* [count, 2] */
#define complex_join_SCALARS(SCALAR)     SCALAR(uint, count)
#define complex_join_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_CONTRACT(complex_join)

#define complex_multiply_TENSORS(TENSOR)                                                           \
  TENSOR(F32, a)                                             /* [rows, 2] */                       \
  TENSOR(F32, z)                                             /* [rows, columns, 2] */              \
  TENSOR(F32, y)                                             /* [rows, columns, 2] */
#define complex_multiply_SCALARS(SCALAR) SCALAR(uint, count) /* rows * columns */
#define complex_multiply_CONSTANTS(CONSTANT)                                                       \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, conjugate, false)                                                              \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(complex_multiply)

#define complex_multiply_gradient_TENSORS(TENSOR)                                                  \
  TENSOR(F32, z)  /* [rows, columns, 2] */                                                         \
  TENSOR(F32, dy) /* [rows, columns, 2] */                                                         \
  TENSOR(F32, da) /* [rows, 2] */
#define complex_multiply_gradient_SCALARS(SCALAR)                                                  \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)
#define complex_multiply_gradient_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_CONTRACT(complex_multiply_gradient)

#define complex_parts_TENSORS(TENSOR)                                                              \
  TENSOR(F32, z)  /* [count, 2] */                                                                 \
  TENSOR(F32, re) /* [count] */                                                                    \
  TENSOR(F32, im) /* [count] */
#define complex_parts_SCALARS(SCALAR) SCALAR(uint, count)
#define complex_parts_CONSTANTS(CONSTANT)                                                          \
  CONSTANT(1, bool, accumulate_re, false)                                                          \
  CONSTANT(2, bool, accumulate_im, false)
FT_CONTRACT(complex_parts)

#define complex_unit_phase_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x) /* [count] */                                                                     \
  TENSOR(F32, y) /* [count, 2] */
#define complex_unit_phase_SCALARS(SCALAR)     SCALAR(uint, count)
#define complex_unit_phase_CONSTANTS(CONSTANT) CONSTANT(1, bool, turns, false)
FT_CONTRACT(complex_unit_phase)

#define complex_unit_phase_gradient_TENSORS(TENSOR)                                                \
  TENSOR(F32, y)  /* [count, 2] */                                                                 \
  TENSOR(F32, dy) /* [count, 2] */                                                                 \
  TENSOR(F32, dx) /* [count] */
#define complex_unit_phase_gradient_SCALARS(SCALAR)                                                \
  SCALAR(uint, count)                                                                              \
  SCALAR(float, rate)
#define complex_unit_phase_gradient_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_CONTRACT(complex_unit_phase_gradient)

#endif
