// Gradient of the linear layer's epilogue: dz = dy * dropout factor * activation'(z), or, without
// ACTIVATION, times z, which is that derivative, or absent; four elements per invocation and step.
// dz has the kernel's type, dy and z have that or F32.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "linear/epilogue.glsl"

#if FT_F16 || FT_BF16
FT_CONSTANTS(linear_backward_own)
#else
const bool NARROW = false;
#endif

FT_ARGUMENTS(linear_backward)

void main() {
  uint quads = (p.count + 3) / 4, quad = gl_GlobalInvocationID.x;
  if (quad >= quads) return;
  const uvec4 random = random_words(p.random);
  do {
    const vec4 factor = dropout_factors(p.random, random, p.op_id, p.rate, quad);
    vec4 slope = vec4(1);
    if (present(p.z)) {
      slope = load_quad(WHOLE, NARROW, p.z, quad, p.count);
      if (ACTIVATION != ACTIVATION_NONE) {
        [[unroll]] for (uint j = 0; j < 4; j++)
          slope[j] = activate_derivative(ACTIVATION, slope[j]);
      }
    }
    const vec4 dy = load_quad(WHOLE, NARROW, p.dy, quad, p.count);
    store_quad(WHOLE, NARROW_ELEMENTS, p.dz, quad, p.count, dy * factor * slope);
    quad += gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  } while (quad < quads);
}
