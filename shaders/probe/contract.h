/* What measures a device, for apps/filtra/bench. */
#ifndef FT_PROBE_CONTRACT_H
#define FT_PROBE_CONTRACT_H

#include "common/contract.h"

#define probe_copy_TENSORS(TENSOR)                                                                 \
  TENSOR(ITEMS, x)                                                                                 \
  TENSOR(ITEMS, y)
#define probe_copy_SCALARS(SCALAR) SCALAR(uint, count) /* of items */
FT_CONTRACT_PLAIN(probe_copy)

#define probe_fma_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, sums) /* one for each invocation, so that nothing can be left out */
#define probe_fma_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, rounds)                                                                             \
  SCALAR(float, a) /* of all links together some 1, so that sums grow e-fold */
FT_CONTRACT_PLAIN(probe_fma)

#define probe_matrix_TENSORS(TENSOR)                                                               \
  TENSOR(F32, sums) /* one for each invocation, so that nothing can be left out */
#define probe_matrix_SCALARS(SCALAR)                                                               \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, rounds)
#define probe_matrix_CONSTANTS(CONSTANT)                                                           \
  CONSTANT(1, uint, ROWS, 2)                                                                       \
  CONSTANT(2, uint, COLUMNS, 2)                                                                    \
  CONSTANT(3, uint, LANES, 32) /* of a subgroup */                                                 \
  CONSTANT(4, uint, MATRIX_M, 16)                                                                  \
  CONSTANT(5, uint, MATRIX_N, 16)                                                                  \
  CONSTANT(6, uint, MATRIX_K, 16)
FT_CONTRACT(probe_matrix)

#endif
