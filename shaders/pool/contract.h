/* Pooling and masks, for runtime/ops/pool.c. */
#ifndef FT_POOL_CONTRACT_H
#define FT_POOL_CONTRACT_H

#include "common/contract.h"

/* From [rows, channels] to [rows, bins]; for the gradient, from bins to channels. */
#define pool_bins_TENSORS(TENSOR) TENSOR(F32, from) TENSOR(F32, to)
#define pool_bins_SCALARS(SCALAR) SCALAR(uint, count) /* elements of `to` */
#define pool_bins_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, uint, channels, 1)                                                                   \
  CONSTANT(2, uint, bins, 1)                                                                       \
  CONSTANT(3, bool, accumulate, false)
FT_DECLARE_ARGUMENTS(pool_bins)
FT_DECLARE_CONSTANTS(pool_bins)
FT_KERNEL(pool_channels, pool_bins, pool_bins)
FT_KERNEL(pool_channels_gradient, pool_bins, pool_bins)

#define pool_mask_TENSORS(TENSOR)                                                                  \
  TENSOR(I32, source) /* tokens [batch, n] or lengths [batch] */                                   \
  TENSOR(F32, mask)   /* [batch, n] */
#define pool_mask_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, batch)
#define pool_mask_CONSTANTS(CONSTANT) CONSTANT(1, bool, by_length, false)
FT_CONTRACT(pool_mask)

#define pool_mask_tokens_TENSORS(TENSOR)                                                           \
  TENSOR(Elements, x) /* [tokens, columns] */                                                      \
  TENSOR(F32, mask)   /* [tokens] */                                                               \
  TENSOR(Elements, y) /* [tokens, columns] */
#define pool_mask_tokens_SCALARS(SCALAR) SCALAR(uint, count)
#define pool_mask_tokens_CONSTANTS(CONSTANT)                                                       \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(pool_mask_tokens)

#define pool_mean_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, sums)  /* [batch, ranges, columns + 1] */                                            \
  TENSOR(F32, y)     /* [batch, columns] */                                                        \
  TENSOR(F32, scale) /* [batch], for the gradient */
#define pool_mean_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, count) /* elements of y */                                                          \
  SCALAR(uint, ranges)                                                                             \
  SCALAR(uint, all) /* 0: divide by the number kept */
#define pool_mean_CONSTANTS(CONSTANT) CONSTANT(1, uint, columns, 1)
FT_CONTRACT(pool_mean)

#define pool_mean_gradient_TENSORS(TENSOR)                                                         \
  TENSOR(F32, dy)    /* [batch, columns] */                                                        \
  TENSOR(F32, scale) /* [batch] */                                                                 \
  TENSOR(F32, mask)  /* [batch, n] */                                                              \
  TENSOR(F32, dx)    /* [batch, n, columns] */
#define pool_mean_gradient_SCALARS(SCALAR)                                                         \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, batch)
#define pool_mean_gradient_CONSTANTS(CONSTANT)                                                     \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, masked, false)                                                                 \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(pool_mean_gradient)

#define pool_sums_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, x)    /* [batch, n, columns] */                                                      \
  TENSOR(F32, mask) /* [batch, n] */                                                               \
  TENSOR(F32, sums) /* [batch, ranges, columns + 1] */
#define pool_sums_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, count) /* elements of sums */                                                       \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, range)                                                                              \
  SCALAR(uint, ranges)
#define pool_sums_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, masked, false)
FT_CONTRACT(pool_sums)

#endif
