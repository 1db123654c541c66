#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "gfsa/filter.glsl"

// Computes y from v, u = A v and au = A u.
FT_ARGUMENTS(gfsa_combine)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint token = i / (WIDTH * HEADS), h = i / WIDTH % HEADS;
    const float w0 = p.w0.v[h];
    const float w1 = p.w1.v[h];
    const float wK = p.wK.v[h];
    const float v = load_element(p.v, token / p.tokens * p.v_batch + h * p.v_head +
                                             token % p.tokens * p.v_token + i % WIDTH);
    const float u = load_element(p.u, i);
    const float y = w0 * v + (w1 + wK) * u +
                    float(p.order - 1) * wK * (load_element(p.au, i) - u);
    store_element(p.y, i, y);
    i += step;
  } while (i < p.count);
}
