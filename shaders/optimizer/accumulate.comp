#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "optimizer/contract.h"

// sum = scale x, or sum += scale x: adds up gradients of several executions before one update.
FT_CONSTANTS(optimizer_accumulate)
FT_ARGUMENTS(optimizer_accumulate)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const float scale = p.scale.v[0];
  do {
    precise float term = scale * p.x.v[i];
    p.sum.v[i] = more ? p.sum.v[i] + term : term;
    i += step;
  } while (i < p.count);
}
