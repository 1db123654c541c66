/* The optimizer, for runtime/ops/optimizer.c. */
#ifndef FT_OPTIMIZER_CONTRACT_H
#define FT_OPTIMIZER_CONTRACT_H

#include "common/contract.h"

#define optimizer_accumulate_TENSORS(TENSOR)                                                       \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, scale) /* [1] */                                                                     \
  TENSOR(F32, sum)
#define optimizer_accumulate_SCALARS(SCALAR)     SCALAR(uint, count)
#define optimizer_accumulate_CONSTANTS(CONSTANT) CONSTANT(1, bool, more, false)
FT_CONTRACT(optimizer_accumulate)

#define optimizer_adam_TENSORS(TENSOR)                                                             \
  TENSOR(F32, values)                                                                              \
  TENSOR(F32, gradients)                                                                           \
  TENSOR(F32, first)                                                                               \
  TENSOR(F32, second)                                                                              \
  TENSOR(Inputs, inputs)                                                                           \
  TENSOR(Metrics, metrics)
#define optimizer_adam_SCALARS(SCALAR)                                                             \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, decayed) /* number of first elements, which have weight decay */
FT_CONTRACT_PLAIN(optimizer_adam)

#define optimizer_square_sums_TENSORS(TENSOR)                                                      \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, sums) /* [workgroups] */
#define optimizer_square_sums_SCALARS(SCALAR) SCALAR(uint, count)
FT_CONTRACT_PLAIN(optimizer_square_sums)

#define optimizer_watch_TENSORS(TENSOR)                                                            \
  TENSOR(F32, sums) /* of squares */                                                               \
  TENSOR(F32, loss) /* [1] */                                                                      \
  TENSOR(Inputs, inputs)                                                                           \
  TENSOR(U32, state) /* {halt, step low, step high} */                                             \
  TENSOR(Metrics, metrics)                                                                         \
  TENSOR(Scaling, scaling) /* may be absent */
#define optimizer_watch_SCALARS(SCALAR) SCALAR(uint, count)
FT_CONTRACT_PLAIN(optimizer_watch)

#endif
