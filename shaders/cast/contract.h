/* Casts between F32 and 16-bit floats, for runtime/ops/cast.c. */
#ifndef FT_CAST_CONTRACT_H
#define FT_CAST_CONTRACT_H

#include "common/contract.h"

/* CAST_FROM, CAST_TO: F32, or U32 for words of two elements. */
#define cast_TENSORS(TENSOR)     TENSOR(CAST_FROM, x) TENSOR(CAST_TO, y)
#define cast_SCALARS(SCALAR)     SCALAR(uint, count)
#define cast_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
FT_DECLARE_ARGUMENTS(cast)
FT_DECLARE_CONSTANTS(cast)
FT_KERNEL(cast_narrow, cast, cast)
FT_KERNEL(cast_widen, cast, cast)

#endif
