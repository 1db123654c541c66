#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/contract.h"

// dx[b, n] = scale[b] dy[b] for kept tokens, else 0.
FT_CONSTANTS(pool_mean_gradient)
FT_ARGUMENTS(pool_mean_gradient)

void main() {
  const uint period = p.n * columns;
  uint i = gl_GlobalInvocationID.x;
  if (i >= period || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint t = i / columns;
    const uint column = i - t * columns;
    uint b = gl_WorkGroupID.y;
    do {
      float r = 0;
      if (!masked || p.mask.v[b * p.n + t] > 0) r = p.scale.v[b] * p.dy.v[b * columns + column];
      const uint to = b * period + i;
      if (accumulate) r += p.dx.v[to];
      p.dx.v[to] = r;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    i += step;
  } while (i < period);
}
