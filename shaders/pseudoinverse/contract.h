/* Pseudoinverses by iteration, for runtime/ops/pseudoinverse.c. Matrices are [size, size]. */
#ifndef FT_PSEUDOINVERSE_CONTRACT_H
#define FT_PSEUDOINVERSE_CONTRACT_H

#include "common/contract.h"

#define PSEUDOINVERSE_TILE   4  /* rows and columns of an invocation's tile */
#define PSEUDOINVERSE_ACROSS 16 /* tiles side by side, and below one another */
#define PSEUDOINVERSE_MOST   (PSEUDOINVERSE_TILE * PSEUDOINVERSE_ACROSS) /* largest size */

#define pseudoinverse_forward_TENSORS(TENSOR)                                                      \
  TENSOR(F32, a)                                                                                   \
  TENSOR(F32, states) /* [iterations, count]: what each begins with; may be absent */              \
  TENSOR(F32, y)
#define pseudoinverse_forward_SCALARS(SCALAR)                                                      \
  SCALAR(uint, count) /* matrices */                                                               \
  SCALAR(uint, size)                                                                               \
  SCALAR(uint, iterations)
#define pseudoinverse_forward_CONSTANTS(CONSTANT)                                                  \
  CONSTANT(1, bool, WHOLE, false) /* rows are whole groups of four */
FT_CONTRACT(pseudoinverse_forward)

#define pseudoinverse_backward_TENSORS(TENSOR)                                                     \
  TENSOR(F32, a)                                                                                   \
  TENSOR(F32, states)                                                                              \
  TENSOR(F32, dy)                                                                                  \
  TENSOR(F32, scratch) /* three matrices for each workgroup */                                     \
  TENSOR(F32, da)
#define pseudoinverse_backward_SCALARS(SCALAR) pseudoinverse_forward_SCALARS(SCALAR)
#define pseudoinverse_backward_CONSTANTS(CONSTANT)                                                 \
  pseudoinverse_forward_CONSTANTS(CONSTANT) CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(pseudoinverse_backward)

#endif
