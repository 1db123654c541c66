#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"

// y = the state [B, width] that earlier runs left, zeros for sequences that had no token yet.
layout(push_constant) uniform Push {
  F32 state;
  I32 position; // [B]
  F32 y;
  uint count, width;
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    p.y.v[i] = p.position.v[i / p.width] > 0 ? p.state.v[i] : 0;
    i += step;
  } while (i < p.count);
}
