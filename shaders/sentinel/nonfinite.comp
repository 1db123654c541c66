#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "sentinel/contract.h"

// Lowers flag[0] to `index` if x holds a NaN or an infinity; x is `count` elements from `first` on,
// in rows of `columns` that are `row_stride` apart. Tests bits, since compilers may assume that
// isnan() is false for floats that they believe finite. A word holds two 16-bit floats.
#if FT_F16
const uint PER_WORD = 2, BITS = 16, EXPONENT = 0x7c00u;
#elif FT_BF16
const uint PER_WORD = 2, BITS = 16, EXPONENT = 0x7f80u;
#else
const uint PER_WORD = 1, BITS = 0, EXPONENT = 0x7f800000u;
#endif

FT_ARGUMENTS(sentinel_nonfinite)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  bool found = false;
  do {
    const uint at = p.first + i / p.columns * p.row_stride + i % p.columns;
    const uint bits = p.x.v[at / PER_WORD] >> at % PER_WORD * BITS;
    found = found || (bits & EXPONENT) == EXPONENT;
    i += step;
  } while (i < p.count);
  if (found) atomicMin(p.flag.v[0], p.index);
}
