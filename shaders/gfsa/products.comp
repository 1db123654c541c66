#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "gfsa/filter.glsl"

// What each row adds to the gradients of its head's coefficients: <dy, v>, <dy, u> and
// <dy, A u - u>. One team per row of [B,N,H].
FT_ARGUMENTS(gfsa_products)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint at = min(row, p.rows - 1), token = at / HEADS, h = at % HEADS, start = at * WIDTH;
    const uint v_start = token / p.tokens * p.v_batch + h * p.v_head + token % p.tokens * p.v_token;
    vec2 of_v = vec2(0), of_u = vec2(0), of_more = vec2(0);
    uint first = 0;
    do {
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        if (!row_has(row_column(first, i), WIDTH) || !team_has(row, p.rows)) continue;
        const vec2 dy = load(p.dy, start, first, i), u = load(p.u, start, first, i);
        of_v += dy * load(p.v, v_start, first, i);
        of_u += dy * u;
        of_more += dy * (load(p.au, start, first, i) - u);
      }
    } while (row_goes_on(first, WIDTH));
    const vec3 sum = vec3(team_sum(both(of_v)), team_sum(both(of_u)), team_sum(both(of_more)));
    const uint lane = team_lane();
    if (lane < 3 && team_has(row, p.rows))
      p.products.v[3 * at + lane] = lane == 0 ? sum.x : lane == 1 ? sum.y : sum.z;
  }
}
