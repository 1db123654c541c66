/* Fourier transforms, for runtime/ops/fourier.c. */
#ifndef FT_FOURIER_CONTRACT_H
#define FT_FOURIER_CONTRACT_H

#include "common/contract.h"

#define fourier_table_TENSORS(TENSOR)                                                              \
  TENSOR(F32, lengths)                                                                             \
  TENSOR(F32, table) /* [batch, n, 2] */
#define fourier_table_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* batch * n */                                                              \
  SCALAR(uint, n)
FT_CONTRACT_PLAIN(fourier_table)

#define fourier_transform_TENSORS(TENSOR)                                                          \
  TENSOR(F32, a)                                                                                   \
  TENSOR(F32, b)                                                                                   \
  TENSOR(F32, lengths)                                                                             \
  TENSOR(F32, table) /* [batch, n, 2] */                                                           \
  TENSOR(F32, y)
#define fourier_transform_SCALARS(SCALAR)                                                          \
  SCALAR(uint, count) /* batch * quads * inner */                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, quads)                                                                              \
  SCALAR(uint, inner)
#define fourier_transform_CONSTANTS(CONSTANT)                                                      \
  CONSTANT(1, bool, has_a, true)                                                                   \
  CONSTANT(2, bool, has_b, true)                                                                   \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(fourier_transform)

#endif
