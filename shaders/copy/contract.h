/* y = x, y += x or y = value, for runtime/graph/copy.c. x and y may store one shape differently (a
 * slice of a wider tensor, heads stored token by token): up to four axes, each with a stride of its
 * own. */
#ifndef FT_COPY_CONTRACT_H
#define FT_COPY_CONTRACT_H

#include "common/axes.h"
#include "common/contract.h"

/* mode */
#define copy_mode_VALUES(VALUE)                                                                    \
  VALUE(COPY_MOVE, 0)                                                                              \
  VALUE(COPY_ADD, 1)                                                                               \
  VALUE(COPY_FILL, 2)
FT_DECLARE_VALUES(copy_mode)

/* COPIED: a buffer of the unit that is copied. */
#define copy_TENSORS(TENSOR)           TENSOR(COPIED, x) TENSOR(COPIED, y)
#define copy_SCALARS(SCALAR)           ft_axes_SCALARS(SCALAR) SCALAR(uint, value)
#define copy_axes_CONSTANTS(CONSTANT)  CONSTANT(1, uint, mode, 0) CONSTANT(2, uint, AXES, 0)
#define copy_words_CONSTANTS(CONSTANT) CONSTANT(3, bool, WHOLE, false)
#define copy_CONSTANTS(CONSTANT)       copy_axes_CONSTANTS(CONSTANT) copy_words_CONSTANTS(CONSTANT)
FT_DECLARE_ARGUMENTS(copy)
FT_DECLARE_CONSTANTS(copy)
FT_KERNEL(copy_copy, copy, copy)
FT_KERNEL(copy_elements, copy, copy)

#endif
