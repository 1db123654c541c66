/* Data of earlier tokens that decoding keeps, for runtime/ops/cache.c. */
#ifndef FT_CACHE_CONTRACT_H
#define FT_CACHE_CONTRACT_H

#include "common/contract.h"

#define cache_mask_TENSORS(TENSOR)                                                                 \
  TENSOR(I32, position)                                                                            \
  TENSOR(F32, mask)
#define cache_mask_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, rows)
FT_CONTRACT_PLAIN(cache_mask)

#define cache_state_TENSORS(TENSOR)                                                                \
  TENSOR(F32, state)                                                                               \
  TENSOR(I32, position) /* [B] */                                                                  \
  TENSOR(F32, y)
#define cache_state_SCALARS(SCALAR)                                                                \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, width)
FT_CONTRACT_PLAIN(cache_state)

#define cache_write_TENSORS(TENSOR)                                                                \
  TENSOR(F32, x)                                                                                   \
  TENSOR(I32, position)                                                                            \
  TENSOR(F32, cache)
#define cache_write_SCALARS(SCALAR)                                                                \
  SCALAR(uint, count)       /* elements of x */                                                    \
  SCALAR(uint, heads)       /* of x */                                                             \
  SCALAR(uint, tokens)      /* of x */                                                             \
  SCALAR(uint, rows)        /* of the cache, per head */                                           \
  SCALAR(uint, x_stride[3]) /* batch, head, token; columns are dense */                            \
  SCALAR(uint, cache_stride[3])
#define cache_write_CONSTANTS(CONSTANT)                                                            \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, placed, false)
FT_CONTRACT(cache_write)

#endif
