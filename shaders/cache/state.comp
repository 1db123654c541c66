#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "cache/contract.h"

// y = the state [B, width] that earlier executions left; zeros for sequences without a token so
// far.
FT_ARGUMENTS(cache_state)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    p.y.v[i] = p.position.v[i / p.width] > 0 ? p.state.v[i] : 0;
    i += step;
  } while (i < p.count);
}
