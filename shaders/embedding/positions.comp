#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "embedding/contract.h"

// y[b, n] = x[b, n] + table[n].
FT_ARGUMENTS(embedding_positions)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.period || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float position = p.table.v[i];
    uint b = gl_WorkGroupID.y;
    do {
      p.y.v[b * p.period + i] = p.x.v[b * p.period + i] + position;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    i += step;
  } while (i < p.period);
}
