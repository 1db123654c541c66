/* Dropout, for runtime/ops/dropout.c. */
#ifndef FT_DROPOUT_CONTRACT_H
#define FT_DROPOUT_CONTRACT_H

#include "common/contract.h"

#define dropout_dropout_TENSORS(TENSOR)                                                            \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, y)                                                                                   \
  TENSOR(U32, state)
#define dropout_dropout_SCALARS(SCALAR)                                                            \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, op_id)                                                                              \
  SCALAR(float, rate)
#define dropout_dropout_CONSTANTS(CONSTANT)                                                        \
  CONSTANT(1, bool, accumulate, false)                                                             \
  CONSTANT(2, bool, WHOLE, false)
FT_CONTRACT(dropout_dropout)

#endif
