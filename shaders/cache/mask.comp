#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"

// mask[b, n] = 1 for the rows before position[b] and the last one, 0 for others.
layout(push_constant) uniform Push {
  I32 position;
  F32 mask;
  uint count, rows;
} p;

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
