#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "elementwise/contract.h"

// y = a op b; y += the same when accumulating. y is dense; a and b may be repeated along some of
// its axes, where their strides are 0.
FT_VALUES(elementwise_operation)
FT_CONSTANTS(elementwise_binary)
FT_ARGUMENTS(elementwise_binary)
#include "common/axes.glsl"

vec4 combine(vec4 a, vec4 b) {
  if (operation == BINARY_ADD) return a + b;
  if (operation == BINARY_MULTIPLY) return a * b;
  if (operation == BINARY_SUBTRACT) return a - b;
  if (operation == BINARY_DIVIDE) return a / b;
  return -(a * b);
}

vec4 group(F32 t, uint i, bool repeated) {
  return repeated ? vec4(t.v[i]) : by_fours(t).v[i];
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint ia, ib;
    find(i, ia, ib);
    if (WHOLE) {
      F32x4 y = by_fours(p.y);
      const vec4 a = group(p.a, ia, (REPEATED & 1) != 0), b = group(p.b, ib, (REPEATED & 2) != 0);
      precise vec4 r = combine(a, b);
      if (accumulate) r += y.v[i];
      y.v[i] = r;
    } else {
      precise float r = combine(vec4(p.a.v[ia]), vec4(p.b.v[ib])).x;
      if (accumulate) r += p.y.v[i];
      p.y.v[i] = r;
    }
    i += step;
  } while (i < p.count);
}
