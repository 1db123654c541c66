#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"

// y[o, k, i] = x[o, indices[k], i] of x [outer, n, inner]; zero for an index outside of [0, n).
layout(push_constant) uniform Push {
  F32 x;
  U32 indices; // negative ones are beyond n
  F32 y;       // [outer, taken, inner]
  uint count;  // of y
  uint n, taken, inner;
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / p.inner, index = p.indices.v[row % p.taken];
    float x = 0;
    if (index < p.n) x = p.x.v[(row / p.taken * p.n + index) * p.inner + i % p.inner];
    p.y.v[i] = x;
    i += step;
  } while (i < p.count);
}
