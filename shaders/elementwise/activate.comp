#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/quads.glsl"
#include "common/activation.glsl"

// y = activation(x), or dx = dy activation'(x); y += the same when accumulating.
layout(constant_id = 1) const uint activation = 0; // filtra_activation
layout(constant_id = 2) const bool gradient = false;
layout(constant_id = 3) const bool accumulate = false;
layout(constant_id = 4) const bool WHOLE = false;

layout(push_constant) uniform Push {
  F32 x;
  F32 dy; // for the gradient
  F32 y;
  uint count;
} p;

// Called four times and not in a loop, since glslc forgets `precise` where it unrolls one.
float apply(float x) {
  return gradient ? activate_derivative(activation, x) : activate(activation, x);
}

void main() {
  uint quad = gl_GlobalInvocationID.x;
  const uint quads = (p.count + 3) / 4;
  if (quad >= quads) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const vec4 x = load_quad(WHOLE, false, p.x, quad, p.count);
    vec4 r = vec4(apply(x.x), apply(x.y), apply(x.z), apply(x.w));
    if (gradient) r *= load_quad(WHOLE, false, p.dy, quad, p.count);
    if (accumulate) r += load_quad(WHOLE, false, p.y, quad, p.count);
    store_quad(WHOLE, false, p.y, quad, p.count, r);
    quad += step;
  } while (quad < quads);
}
