#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#if FT_F16 || FT_BF16
#include "common/half.glsl"
#endif

// Copies words: integers pass through unchanged. The variants for 16-bit floats add the two numbers
// of each word; their other modes are those of the F32 variant.
#define COPIED U32
#include "copy/copy.glsl"
FT_CONSTANTS(copy_words)

layout(buffer_reference, std430, buffer_reference_align = 16) buffer U32x4 { uvec4 v[]; };

uint sum(uint a, uint b) {
#if FT_F16 || FT_BF16
  return half_pack(half_unpack(a) + half_unpack(b));
#else
  return floatBitsToUint(uintBitsToFloat(a) + uintBitsToFloat(b));
#endif
}

void move_four(uint from, uint to) {
  U32x4 x = U32x4(uvec2(p.x)), y = U32x4(uvec2(p.y));
  uvec4 r = uvec4(p.value);
  if (mode != COPY_FILL) r = x.v[from];
  if (mode == COPY_ADD) {
    const uvec4 old = y.v[to];
    [[unroll]] for (uint k = 0; k < 4; ++k) r[k] = sum(old[k], r[k]);
  }
  y.v[to] = r;
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint from, to;
    find(i, from, to);
    if (WHOLE)
      move_four(from, to);
    else if (mode == COPY_MOVE)
      p.y.v[to] = p.x.v[from];
    else if (mode == COPY_ADD)
      p.y.v[to] = sum(p.y.v[to], p.x.v[from]);
    else
      p.y.v[to] = p.value;
    i += step;
  } while (i < p.count);
}
