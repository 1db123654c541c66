/* Sorting, for runtime/ops/argsort.c. */
#ifndef FT_ARGSORT_CONTRACT_H
#define FT_ARGSORT_CONTRACT_H

#include "common/contract.h"

#define argsort_argsort_TENSORS(TENSOR)                                                            \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, mask) /* absent unless masked */                                                     \
  TENSOR(U32, y)
#define argsort_argsort_SCALARS(SCALAR)                                                            \
  SCALAR(uint, count) /* of x */                                                                   \
  SCALAR(uint, n)
#define argsort_argsort_CONSTANTS(CONSTANT)                                                        \
  CONSTANT(1, bool, masked, false)                                                                 \
  CONSTANT(2, bool, back, false) /* y: the place of each element; else the element at each place */
FT_CONTRACT(argsort_argsort)

#endif
