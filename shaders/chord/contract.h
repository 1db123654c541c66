/* Links of a ring, for runtime/ops/chord.c. */
#ifndef FT_CHORD_CONTRACT_H
#define FT_CHORD_CONTRACT_H

#include "common/contract.h"

#define chord_mix_TENSORS(TENSOR)                                                                  \
  TENSOR(F32, w) /* [batch, n, links] */                                                           \
  TENSOR(F32, x) /* [batch, n, inner] */                                                           \
  TENSOR(F32, lengths)                                                                             \
  TENSOR(F32, y) /* as x */
#define chord_mix_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, count) /* of y */                                                                   \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, links)                                                                              \
  SCALAR(uint, inner)
#define chord_mix_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, bool, transposed, false) /* y = W^T x */                                             \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(chord_mix)

#define chord_weights_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy)                                                                                  \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, lengths)                                                                             \
  TENSOR(F32, dw)
#define chord_weights_SCALARS(SCALAR)                                                              \
  SCALAR(uint, count) /* of dw */                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, links)                                                                              \
  SCALAR(uint, inner)
#define chord_weights_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_CONTRACT(chord_weights)

#endif
