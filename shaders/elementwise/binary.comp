#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "elementwise/contract.h"

// y = a op b; y += the same when accumulating. y is dense; a and b may be repeated along some of
// its up to four axes, where their strides are 0.
FT_VALUES(elementwise_operation)
FT_CONSTANTS(elementwise_binary)

FT_ARGUMENTS(elementwise_binary)

vec4 combine(vec4 a, vec4 b) {
  if (operation == BINARY_ADD) return a + b;
  if (operation == BINARY_MULTIPLY) return a * b;
  if (operation == BINARY_SUBTRACT) return a - b;
  if (operation == BINARY_DIVIDE) return a / b;
  return -(a * b);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint ia = i, ib = i;
    if (strided) {
      uint rest = i;
      ia = ib = 0;
      [[unroll]] for (int axis = 2; axis >= 0; --axis) {
        const uint k = rest % p.shape[axis];
        rest /= p.shape[axis];
        ia += k * p.a_stride[axis + 1];
        ib += k * p.b_stride[axis + 1];
      }
      ia += rest * p.a_stride[0];
      ib += rest * p.b_stride[0];
    }
    if (WHOLE) {
      F32x4 y = by_fours(p.y);
      vec4 r = combine(by_fours(p.a).v[ia], by_fours(p.b).v[ib]);
      if (accumulate) r += y.v[i];
      y.v[i] = r;
    } else {
      float r = combine(vec4(p.a.v[ia]), vec4(p.b.v[ib])).x;
      if (accumulate) r += p.y.v[i];
      p.y.v[i] = r;
    }
    i += step;
  } while (i < p.count);
}
