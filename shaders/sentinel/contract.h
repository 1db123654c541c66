/* The search for values that are not finite: runtime/graph/inspect.c. */
#ifndef FT_SENTINEL_CONTRACT_H
#define FT_SENTINEL_CONTRACT_H

#include "common/contract.h"

#define sentinel_nonfinite_TENSORS(TENSOR) TENSOR(U32, x) TENSOR(U32, flag)
/* Elements row * row_stride + column of x, row < rows, column < columns, from `first` on: the
 * address x is aligned to a word. */
#define sentinel_nonfinite_SCALARS(SCALAR)                                                         \
  SCALAR(uint, first)                                                                              \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, row_stride)                                                                         \
  SCALAR(uint, count) /* rows * columns */                                                         \
  SCALAR(uint, index)
FT_CONTRACT_PLAIN(sentinel_nonfinite)

#endif
