#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "gather/contract.h"

// y[o, k, i] = x[o, indices[k], i] of x [outer, n, inner]; zero for an index outside of [0, n).
FT_ARGUMENTS(gather_gather)

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
