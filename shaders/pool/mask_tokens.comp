#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"

// y[t] = x[t] for kept tokens, else 0; y += the same when accumulating.
layout(constant_id = 1) const uint columns = 1;
layout(constant_id = 2) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x;    // [tokens, columns]
  F32 mask; // [tokens]
  F32 y;    // [tokens, columns]
  uint count;
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    float r = p.mask.v[i / columns] > 0 ? p.x.v[i] : 0;
    if (accumulate) r += p.y.v[i];
    p.y.v[i] = r;
    i += step;
  } while (i < p.count);
}
