/* Cumulative sums, for runtime/ops/cumulative.c. */
#ifndef FT_CUMULATIVE_CONTRACT_H
#define FT_CUMULATIVE_CONTRACT_H

#include "common/contract.h"

#define cumulative_sum_TENSORS(TENSOR)                                                             \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, before) /* [outer, chunks, inner]: prefix sums over chunks; absent for one chunk */  \
  TENSOR(F32, y)      /* [outer, n, inner]; sums: [outer, chunks, inner] */
#define cumulative_sum_SCALARS(SCALAR)                                                             \
  SCALAR(uint, count) /* outer * chunks * inner */                                                 \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, inner)                                                                              \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(uint, chunks)
#define cumulative_sum_CONSTANTS(CONSTANT)                                                         \
  CONSTANT(1, bool, sums, false)                                                                   \
  CONSTANT(2, bool, reversed, false)                                                               \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(cumulative_sum)

#endif
