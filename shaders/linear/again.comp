// Recomputes a linear layer's result from the argument of its activation: y = activation(z) *
// dropout factor, as the products' epilogue does. z and y have the kernel's type.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "linear/epilogue.glsl"

FT_ARGUMENTS(linear_again)

void main() {
  uint quads = (p.count + 3) / 4, quad = gl_GlobalInvocationID.x;
  if (quad >= quads) return;
  const uvec4 random = random_words(p.random);
  do {
    vec4 y = load_quad(WHOLE, NARROW_ELEMENTS, p.z, quad, p.count);
    [[unroll]] for (uint j = 0; j < 4; j++) y[j] = activate(ACTIVATION, y[j]);
    if (DROPOUT) y *= dropout_factors(p.random, random, p.op_id, p.rate, quad);
    store_quad(WHOLE, NARROW_ELEMENTS, p.y, quad, p.count, y);
    quad += gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  } while (quad < quads);
}
