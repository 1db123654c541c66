#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/columns.glsl"

// y[i] = sum over s of x[s, i], in order; y is as long as a slice or longer, and zero behind it.
layout(constant_id = 1) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x; // [slices, slice]
  F32 y; // [count]
  uint count, slice, slices;
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    float sum = 0;
    if (i < p.slice) sum = sum_down(p.x, i, p.slice, p.slices);
    if (accumulate) sum += p.y.v[i];
    p.y.v[i] = sum;
    i += step;
  } while (i < p.count);
}
