#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "softmax/contract.h"

// y = exp(x - m) / s along the middle axis of [outer, n, inner], m and s from stats.comp; or its
// gradient, dx = y (dy - dot) with dot the sum of y dy along the axis; dx += it when accumulating.
FT_CONSTANTS(softmax_apply)
FT_ARGUMENTS(softmax_apply)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint from = i / p.inner / p.n * p.inner + i % p.inner;
    const float x = p.x.v[i], row = p.row.v[from];
    float r;
    if (gradient) {
      r = x * (p.dy.v[i] - row);
    } else {
      const float s = p.s.v[from];
      r = s == 0.0 ? 0.0 : exp(x - row) / s; // all elements are -inf
    }
    if (accumulate) r += p.y.v[i];
    p.y.v[i] = r;
    i += step;
  } while (i < p.count);
}
