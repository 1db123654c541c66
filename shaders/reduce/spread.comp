#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// Gradient of sums and of the largest along the middle axis of [outer, n, inner]:
// dx[o, i, k] = scale * dy[o, k], or only where i is index[o, k]; dx += it when accumulating.
FT_CONSTANTS(reduce_spread)
FT_ARGUMENTS(reduce_spread)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / p.inner, from = row / p.n * p.inner + i % p.inner;
    float r = p.scale * p.dy.v[from];
    if (largest && p.index.v[from] != row % p.n) r = 0;
    if (accumulate) r += p.dx.v[i];
    p.dx.v[i] = r;
    i += step;
  } while (i < p.count);
}
