#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/quads.glsl"

// y = scale * x + offset; y += the same when accumulating.
layout(constant_id = 1) const bool accumulate = false;
layout(constant_id = 2) const bool WHOLE = false;

layout(push_constant) uniform Push {
  F32 x;
  F32 y;
  uint count;
  float scale, offset;
} p;

void main() {
  uint quad = gl_GlobalInvocationID.x;
  const uint quads = (p.count + 3) / 4;
  if (quad >= quads) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    vec4 r = p.scale * load_quad(WHOLE, false, p.x, quad, p.count) + p.offset;
    if (accumulate) r += load_quad(WHOLE, false, p.y, quad, p.count);
    store_quad(WHOLE, false, p.y, quad, p.count, r);
    quad += step;
  } while (quad < quads);
}
