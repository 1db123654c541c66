#version 450
#extension GL_GOOGLE_include_directive : require
//@variant plain -DPLAIN=1
#include "common/types.glsl"
#include "fused/contract.h"

// Elementwise steps, an element or a group of four after the other. The variant `plain` knows no
// activations and compiles sooner.
FT_CONSTANTS(fused_elements)
FT_ARGUMENTS(fused_elements)
#include "fused/steps.glsl"

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uvec4 at = coordinates(i);
    compute(i, at);
    i += stride;
  } while (i < p.count);
}
