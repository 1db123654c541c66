#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/philox.glsl"
#include "common/elements.glsl"
#include "common/quads.glsl"
#include "dropout/contract.h"

// y = x where kept, scaled by 1/(1-rate), else 0; y += the same when accumulating. One draw of four
// words serves four elements; each element's factor is that of dropout_scale.
FT_CONSTANTS(dropout_dropout)
FT_SEQUENCE_CONSTANT(sequence)
FT_ARGUMENTS(dropout_dropout)

void main() {
  uint quad = gl_GlobalInvocationID.x;
  const uint quads = (p.count + 3) / 4;
  if (quad >= quads) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const uvec2 key = uvec2(p.state.v[0], p.state.v[1]);
  const uvec2 now = uvec2(p.state.v[2], p.state.v[3]);
  const float kept = 1.0 / (1.0 - p.rate);
  do {
    const uint block = sequence == 0 ? quad : whole_element(p.state, sequence, 4 * quad) / 4;
    uvec4 words = philox(uvec4(block, p.op_id, now), key);
    if (sequence % 4 != 0) // four neighbours may belong to two draws
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        const uint whole = whole_element(p.state, sequence, 4 * quad + k);
        words[k] = philox(uvec4(whole / 4, p.op_id, now), key)[whole % 4];
      }
    const vec4 x = load_quad(WHOLE, false, p.x, quad, p.count);
    vec4 y = vec4(0);
    if (accumulate) y = load_quad(WHOLE, false, p.y, quad, p.count);
    [[unroll]] for (uint k = 0; k < 4; ++k) {
      const float u = float(words[k] >> 8) * (1.0 / 16777216.0);
      const float r = u >= p.rate ? kept * x[k] : 0.0;
      y[k] = accumulate ? r + y[k] : r;
    }
    store_quad(WHOLE, false, p.y, quad, p.count, y);
    quad += step;
  } while (quad < quads);
}
