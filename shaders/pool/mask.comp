#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/contract.h"

// Which tokens are real: those that are not 0, or those before each sample's length.
FT_CONSTANTS(pool_mask)
FT_ARGUMENTS(pool_mask)

void main() {
  uint t = gl_GlobalInvocationID.x;
  if (t >= p.n || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint b = gl_WorkGroupID.y;
    do {
      const uint i = b * p.n + t;
      const bool real = by_length ? int(t) < p.source.v[b] : p.source.v[i] != 0;
      p.mask.v[i] = real ? 1.0 : 0.0;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    t += step;
  } while (t < p.n);
}
