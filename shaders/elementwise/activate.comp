#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/quads.glsl"
#include "common/activation.glsl"
#include "elementwise/contract.h"

// y = activation(x), or dx = dy activation'(x); y += the same when accumulating.
FT_CONSTANTS(elementwise_activate)
FT_ARGUMENTS(elementwise_activate)

void main() {
  uint quad = gl_GlobalInvocationID.x;
  const uint quads = (p.count + 3) / 4;
  if (quad >= quads) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const vec4 x = load_quad(WHOLE, false, p.x, quad, p.count);
    precise vec4 r;
    [[unroll]] for (uint j = 0; j < 4; j++)
      r[j] = gradient ? activate_derivative(activation, x[j]) : activate(activation, x[j]);
    if (gradient) r *= load_quad(WHOLE, false, p.dy, quad, p.count);
    if (accumulate) r += load_quad(WHOLE, false, p.y, quad, p.count);
    store_quad(WHOLE, false, p.y, quad, p.count, r);
    quad += step;
  } while (quad < quads);
}
