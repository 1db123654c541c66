#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#if FT_F16 || FT_BF16
#include "common/half.glsl"
#endif

// Copies words: integers pass through unchanged. The variants for 16-bit floats add words of two;
// other modes of theirs are those for words.
#define COPIED U32
#include "copy/copy.glsl"

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint from, to;
    find(i, from, to);
    if (mode == 0)
      p.y.v[to] = p.x.v[from];
    else if (mode == 1)
#if FT_F16 || FT_BF16
      p.y.v[to] = half_pack(half_unpack(p.y.v[to]) + half_unpack(p.x.v[from]));
#else
      p.y.v[to] = floatBitsToUint(uintBitsToFloat(p.y.v[to]) + uintBitsToFloat(p.x.v[from]));
#endif
    else
      p.y.v[to] = p.value;
    i += step;
  } while (i < p.count);
}
