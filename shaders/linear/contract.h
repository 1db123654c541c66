/* The linear layer's epilogue, for runtime/ops/linear.c. */
#ifndef FT_LINEAR_CONTRACT_H
#define FT_LINEAR_CONTRACT_H

#include "common/contract.h"

#define linear_epilogue_CONSTANTS(CONSTANT)                                                        \
  CONSTANT(1, uint, ACTIVATION, 0)                                                                 \
  CONSTANT(2, bool, DROPOUT, false)                                                                \
  CONSTANT(3, bool, WHOLE, false)

#define linear_again_TENSORS(TENSOR)                                                               \
  TENSOR(F32, z)                                                                                   \
  TENSOR(F32, y)                                                                                   \
  TENSOR(U32, random) /* ft_graph_random_state */
#define linear_again_SCALARS(SCALAR)                                                               \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, op_id)                                                                              \
  SCALAR(float, rate)
#define linear_again_CONSTANTS(CONSTANT) linear_epilogue_CONSTANTS(CONSTANT)
FT_CONTRACT(linear_again)

/* The order is that of a fused step: z, dy and, last, the result. */
#define linear_backward_TENSORS(TENSOR)                                                            \
  TENSOR(F32, z)                                                                                   \
  TENSOR(F32, dy)                                                                                  \
  TENSOR(U32, random) /* ft_graph_random_state */                                                  \
  TENSOR(F32, dz)
#define linear_backward_SCALARS(SCALAR)                                                            \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, op_id)                                                                              \
  SCALAR(float, rate)
#define linear_backward_own_CONSTANTS(CONSTANT) CONSTANT(4, bool, NARROW, false) /* dy and z */
#define linear_backward_CONSTANTS(CONSTANT)                                                        \
  linear_epilogue_CONSTANTS(CONSTANT) linear_backward_own_CONSTANTS(CONSTANT)
FT_CONTRACT(linear_backward)

#endif
