#version 450
#extension GL_GOOGLE_include_directive : require
//@variant plain -DPLAIN=1
//@variant uniform -DFILTRA_ROW_UNIFORM=1
//@variant plain_uniform -DPLAIN=1 -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "fused/contract.h"

// Elementwise steps, an element or a group of four after the other; in the variants "uniform" a
// block of two neighbours a lane. A block lies in one row of the last axis; if WHOLE, it may hold
// parts of several. The variants "plain" know no activations and compile sooner.
FT_CONSTANTS(fused_elements)
FT_ARGUMENTS(fused_elements)
#include "fused/steps.glsl"

void main() {
#if FILTRA_ROW_UNIFORM
  const uint block = 2 * gl_WorkGroupSize.x;
  uint i = gl_WorkGroupID.x * block;
  const uint stride = gl_NumWorkGroups.x * block;
#else
  uint i = gl_GlobalInvocationID.x;
  const uint stride = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
#endif
  if (i >= p.count) return;
  do {
    const uvec4 at = coordinates(i);
    compute(i, at);
    i += stride;
  } while (i < p.count);
}
