#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// Gradient of the largest along the middle axis of [outer, n, inner], onto what is there:
// dx[o, index[o, k], k] += dy[o, k].
FT_ARGUMENTS(reduce_chosen)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint outer = i / p.inner;
    const uint to = (outer * p.n + p.index.v[i]) * p.inner + (i - outer * p.inner);
    p.dx.v[to] += p.dy.v[i];
    i += step;
  } while (i < p.count);
}
