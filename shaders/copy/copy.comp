#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#if FT_F16 || FT_BF16
#include "common/half.glsl"
#endif

// y = x, y += x or y = value. The two may store one shape differently (a piece of a wider tensor,
// heads stored token by token): up to four axes, each with its own stride.
// The variants for 16-bit floats add words of two; other modes of theirs are those for words.
layout(constant_id = 1) const uint mode = 0; // 0 copy, 1 add, 2 fill
layout(constant_id = 2) const bool strided = false;

layout(push_constant) uniform Push {
  U32 x; // words: integers pass through unchanged
  U32 y;
  uint count;
  uint value;
  uint shape[3]; // without the outermost axis
  uint x_stride[4];
  uint y_stride[4];
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint from = i, to = i;
    if (strided) {
      uint rest = i;
      from = to = 0;
      [[unroll]] for (int axis = 2; axis >= 0; --axis) {
        const uint k = rest % p.shape[axis];
        rest /= p.shape[axis];
        from += k * p.x_stride[axis + 1];
        to += k * p.y_stride[axis + 1];
      }
      from += rest * p.x_stride[0];
      to += rest * p.y_stride[0];
    }
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
