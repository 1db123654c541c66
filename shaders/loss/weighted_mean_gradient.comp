#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "loss/contract.h"

// dx[r] = dy w_r / sum w.
FT_CONSTANTS(loss_weighted_mean_gradient)
FT_ARGUMENTS(loss_weighted_mean_gradient)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const float each = p.dy.v[0] * p.scale.v[0];
  do {
    float r = present(p.weights) ? each * p.weights.v[i] : each;
    if (accumulate) r += p.dx.v[i];
    p.dx.v[i] = r;
    i += step;
  } while (i < p.count);
}
