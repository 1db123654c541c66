/* Rows by index, for runtime/ops/axes.c. */
#ifndef FT_GATHER_CONTRACT_H
#define FT_GATHER_CONTRACT_H

#include "common/contract.h"

#define gather_gather_TENSORS(TENSOR)                                                              \
  TENSOR(F32, x)                                                                                   \
  TENSOR(U32, indices) /* negative ones are past n */                                              \
  TENSOR(F32, y)       /* [outer, taken, inner] */
#define gather_gather_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of y */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, taken)                                                                              \
  SCALAR(uint, inner)
FT_CONTRACT_PLAIN(gather_gather)

#endif
