#version 450
#extension GL_GOOGLE_include_directive : require
//@variant scalar -DITEMS=F32
#include "common/types.glsl"
#include "probe/contract.h"

// Measures memory bandwidth: y = x, with neighbouring elements per neighbouring invocation.
#ifndef ITEMS
#define ITEMS F32x4
#endif

FT_ARGUMENTS(probe_copy)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x, count = p.count;
  ITEMS x = p.x, y = p.y;
  do {
    y.v[i] = x.v[i];
    i += step;
  } while (i < count);
}
