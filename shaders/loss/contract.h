/* Losses and scores, for runtime/ops/loss.c. */
#ifndef FT_LOSS_CONTRACT_H
#define FT_LOSS_CONTRACT_H

#include "common/contract.h"

#define loss_accuracy_TENSORS(TENSOR)                                                              \
  TENSOR(F32, logits) /* [rows, columns], at most 2^24 columns */                                  \
  TENSOR(I32, labels) /* [rows] */                                                                 \
  TENSOR(F32, hit)    /* [rows] */
#define loss_accuracy_SCALARS(SCALAR)                                                              \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)
FT_CONTRACT_PLAIN(loss_accuracy)

#define loss_cross_entropy_TENSORS(TENSOR)                                                         \
  TENSOR(F32, logits) /* [rows, columns] */                                                        \
  TENSOR(I32, labels) /* [rows] */                                                                 \
  TENSOR(F32, loss)   /* [rows] */                                                                 \
  TENSOR(F32,                                                                                      \
         scale) /* [rows, 2]: largest logit, 1 / sum of exp(logit - largest), for the gradient */
#define loss_cross_entropy_SCALARS(SCALAR)                                                         \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(float, smoothing)
FT_CONTRACT_PLAIN(loss_cross_entropy)

#define loss_cross_entropy_gradient_TENSORS(TENSOR)                                                \
  TENSOR(F32, logits)  /* [rows, columns] */                                                       \
  TENSOR(I32, labels)  /* [rows] */                                                                \
  TENSOR(F32, scale)   /* [rows, 2] */                                                             \
  TENSOR(F32, dloss)   /* [rows] */                                                                \
  TENSOR(F32, dlogits) /* [rows, columns] */
#define loss_cross_entropy_gradient_SCALARS(SCALAR)                                                \
  SCALAR(uint, count)                                                                              \
  SCALAR(float, smoothing)
#define loss_cross_entropy_gradient_CONSTANTS(CONSTANT)                                            \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(loss_cross_entropy_gradient)

#define loss_error_TENSORS(TENSOR)                                                                 \
  TENSOR(F32, x) /* [rows, columns] */                                                             \
  TENSOR(F32, y)                                                                                   \
  TENSOR(F32, loss) /* [rows] */
#define loss_error_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)
#define loss_error_CONSTANTS(CONSTANT) CONSTANT(1, bool, absolute, false)
FT_CONTRACT(loss_error)

#define loss_error_gradient_TENSORS(TENSOR)                                                        \
  TENSOR(F32, x) /* [rows, columns] */                                                             \
  TENSOR(F32, y)                                                                                   \
  TENSOR(F32, dloss) /* [rows] */                                                                  \
  TENSOR(F32, dx)
#define loss_error_gradient_SCALARS(SCALAR) SCALAR(uint, count)
#define loss_error_gradient_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, absolute, false)                                                               \
  CONSTANT(3, bool, accumulate, false)
FT_CONTRACT(loss_error_gradient)

#define loss_top_k_accuracy_TENSORS(TENSOR)                                                        \
  TENSOR(F32, logits) /* [rows, columns], at most 2^24 columns */                                  \
  TENSOR(I32, labels) /* [rows] */                                                                 \
  TENSOR(F32, hit)    /* [rows] */
#define loss_top_k_accuracy_SCALARS(SCALAR)                                                        \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, columns)                                                                            \
  SCALAR(uint, k)
FT_CONTRACT_PLAIN(loss_top_k_accuracy)

#define loss_weighted_mean_TENSORS(TENSOR)                                                         \
  TENSOR(F32, x)       /* [count] */                                                               \
  TENSOR(F32, weights) /* [count], or none: all ones */                                            \
  TENSOR(F32, y)       /* [1] */                                                                   \
  TENSOR(F32, scale)   /* [1]: 1 / sum w, for the gradient */
#define loss_weighted_mean_SCALARS(SCALAR)     SCALAR(uint, count)
#define loss_weighted_mean_CONSTANTS(CONSTANT) CONSTANT(1, bool, given, false)
FT_CONTRACT(loss_weighted_mean)

#define loss_weighted_mean_gradient_TENSORS(TENSOR)                                                \
  TENSOR(F32, dy)      /* [1] */                                                                   \
  TENSOR(F32, scale)   /* [1] */                                                                   \
  TENSOR(F32, weights) /* [count], or none: all ones */                                            \
  TENSOR(F32, dx)      /* [count] */
#define loss_weighted_mean_gradient_SCALARS(SCALAR)     SCALAR(uint, count)
#define loss_weighted_mean_gradient_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_CONTRACT(loss_weighted_mean_gradient)

#endif
