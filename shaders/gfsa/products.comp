#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "gfsa/filter.glsl"

// What each row adds to the gradients of its head's coefficients: <dy, v>, <dy, u> and
// <dy, A u - u>. One team per row of [B,N,H].
FT_ARGUMENTS(gfsa_products)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint token = row / HEADS, h = row % HEADS, first = row * WIDTH;
    const uint v_first = token / p.tokens * p.v_batch + h * p.v_head +
                         token % p.tokens * p.v_token;
    vec3 sum = vec3(0);
    uint c = team_lane();
    if (c < WIDTH && row < p.rows) do {
        const float dy = load_element(p.dy, first + c), u = load_element(p.u, first + c);
        const float v = load_element(p.v, v_first + c);
        sum += dy * vec3(v, u, load_element(p.au, first + c) - u);
        c += team_lanes();
      } while (c < WIDTH);
    sum = vec3(team_sum(sum.x), team_sum(sum.y), team_sum(sum.z));
    if (team_lane() == 0 && row < p.rows)
      [[unroll]] for (uint i = 0; i < 3; ++i) p.products.v[3 * row + i] = sum[i];
  }
}
