#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "loss/contract.h"

// dx[r, k] = dloss[r] / K times 2 (x - y), or the sign of x - y (0 where they agree).
FT_CONSTANTS(loss_error_gradient)
FT_ARGUMENTS(loss_error_gradient)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float d = p.x.v[i] - p.y.v[i];
    float r = p.dloss.v[i / columns] / float(columns) * (absolute ? sign(d) : 2 * d);
    if (accumulate) r += p.dx.v[i];
    p.dx.v[i] = r;
    i += step;
  } while (i < p.count);
}
