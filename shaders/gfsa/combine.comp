#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#if FILTRA_ROW_UNIFORM
#include "common/reduce.glsl"
#include "common/pairs.glsl"
#include "common/uniform_row.glsl"
#endif
#include "gfsa/contract.h"

// Computes y from v, u = A v and au = A u; an invocation per element or, in the variant "uniform",
// a team per row.
FT_CONSTANTS(gfsa_combine)
FT_ARGUMENTS(gfsa_combine)

uint v_row(uint token, uint h) {
  return token / p.tokens * p.v_batch + h * p.v_head + token % p.tokens * p.v_token;
}

vec2 filtered(uint h, vec2 v, vec2 u, vec2 au) {
  const float w0 = p.w0.v[h];
  const float w1 = p.w1.v[h];
  const float wK = p.wK.v[h];
  return w0 * v + (w1 + wK) * u + float(p.order - 1) * wK * (au - u);
}

#if FILTRA_ROW_UNIFORM

void main() {
  for (uint row = team_index(); team_goes_on(row, p.count / WIDTH); row += team_count()) {
    const uint start = row * WIDTH, h = row % HEADS, v_start = v_row(row / HEADS, h);
    for_pairs(i, WIDTH) {
      const vec2 v = load_pair(p.v, v_start, i), u = load_pair(p.u, start, i);
      store_pair(p.y, start, i, filtered(h, v, u, load_pair(p.au, start, i)));
    }
  }
}

#else

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint h = i / WIDTH % HEADS;
    const float v = load_one(NARROW_ELEMENTS, p.v, v_row(i / (WIDTH * HEADS), h) + i % WIDTH);
    const float u = load_one(NARROW_ELEMENTS, p.u, i), au = load_one(NARROW_ELEMENTS, p.au, i);
    store_one(NARROW_ELEMENTS, p.y, i, filtered(h, vec2(v), vec2(u), vec2(au)).x);
    i += step;
  } while (i < p.count);
}

#endif
