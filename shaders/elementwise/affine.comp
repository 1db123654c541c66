#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/quads.glsl"
#include "elementwise/contract.h"

// y = scale * x + offset; y += the same when accumulating.
FT_CONSTANTS(elementwise_affine)
FT_ARGUMENTS(elementwise_affine)

void main() {
  uint quad = gl_GlobalInvocationID.x;
  const uint quads = (p.count + 3) / 4;
  if (quad >= quads) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    precise vec4 r = p.scale * load_quad(WHOLE, false, p.x, quad, p.count) + p.offset;
    if (accumulate) r += load_quad(WHOLE, false, p.y, quad, p.count);
    store_quad(WHOLE, false, p.y, quad, p.count, r);
    quad += step;
  } while (quad < quads);
}
