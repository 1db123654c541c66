#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// Gradient of sums along the middle axis of [outer, n, inner]: dx[o, i, k] = scale * dy[o, k];
// dx += it when accumulating.
FT_CONSTANTS(reduce_spread)
FT_ARGUMENTS(reduce_spread)
#include "common/axes.glsl"

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint from, same;
    find(i, from, same);
    if (WHOLE) {
      F32x4 dx = by_fours(p.dx);
      precise vec4 r = p.scale * (REPEATED ? vec4(p.dy.v[from]) : by_fours(p.dy).v[from]);
      if (accumulate) r += dx.v[i];
      dx.v[i] = r;
    } else {
      precise float r = p.scale * p.dy.v[from];
      if (accumulate) r += p.dx.v[i];
      p.dx.v[i] = r;
    }
    i += step;
  } while (i < p.count);
}
