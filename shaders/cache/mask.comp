#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "cache/contract.h"

// mask[b, n] = 1 for the rows before position[b] and the last one, 0 for others.
FT_ARGUMENTS(cache_mask)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint b = i / p.rows, n = i - b * p.rows;
    p.mask.v[i] = int(n) < p.position.v[b] || n == p.rows - 1 ? 1 : 0;
    i += step;
  } while (i < p.count);
}
