// Gradient of the linear layer's epilogue: dz = dy * dropout factor * activation'(z), four elements
// (one block of random words) per invocation and step. dz has the kernel's type, dy and z have that
// or F32.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/activation.glsl"
#include "common/philox.glsl"
#include "common/quads.glsl"

layout(constant_id = 1) const uint ACTIVATION = 0;
layout(constant_id = 2) const bool DROPOUT = false;
layout(constant_id = 3) const bool WHOLE = false;
#if FT_F16 || FT_BF16
layout(constant_id = 4) const bool NARROW = false; // dy and z
#else
const bool NARROW = false;
#endif
layout(constant_id = 13) const uint SEQUENCE = 0; // as whole_element has it

layout(push_constant, std430) uniform Arguments {
  F32 dy, z, dz;
  U32 random; // ft_graph_random_state
  uint count, op_id;
  float rate;
} p;

void main() {
  uint quads = (p.count + 3) / 4, quad = gl_GlobalInvocationID.x;
  if (quad >= quads) return;
  uvec4 random = uvec4(0);
  if (DROPOUT) random = uvec4(p.random.v[0], p.random.v[1], p.random.v[2], p.random.v[3]);
  do {
    vec4 factor = vec4(1);
    if (DROPOUT) {
      uint block = SEQUENCE == 0 ? quad : whole_element(p.random, SEQUENCE, 4 * quad) / 4;
      uvec4 words = dropout_words(random, p.op_id, block);
      if (SEQUENCE % 4 != 0) // four neighbours need not be of one draw
        [[unroll]] for (uint j = 0; j < 4; j++) {
          uint whole = whole_element(p.random, SEQUENCE, 4 * quad + j);
          words[j] = dropout_words(random, p.op_id, whole / 4)[whole % 4];
        }
      [[unroll]] for (uint j = 0; j < 4; j++) factor[j] = dropout_factor(words[j], p.rate);
    }
    vec4 slope = vec4(1);
    if (ACTIVATION != ACTIVATION_NONE) {
      const vec4 z = load_quad(WHOLE, NARROW, p.z, quad, p.count);
      [[unroll]] for (uint j = 0; j < 4; j++) slope[j] = activate_derivative(ACTIVATION, z[j]);
    }
    const vec4 dy = load_quad(WHOLE, NARROW, p.dy, quad, p.count);
    store_quad(WHOLE, NARROW_ELEMENTS, p.dz, quad, p.count, dy * factor * slope);
    quad += gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  } while (quad < quads);
}
