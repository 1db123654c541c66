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
layout(push_constant, std430) uniform Arguments {
  Elements dy;     // [B,N,H,D]
  Elements v;      // [B,H,N,D], any view with a dense last axis
  Elements u, au;  // [B,N,H,D]
  F32 products;    // [B,N,H,3]
  uint rows, tokens;
  uint v_batch, v_head, v_token;  // strides in elements
}
args;

void main() {
  for (uint row = team_index(); team_goes_on(row, args.rows); row += team_count()) {
    const uint token = row / HEADS, h = row % HEADS, first = row * WIDTH;
    const uint v_first = token / args.tokens * args.v_batch + h * args.v_head +
                         token % args.tokens * args.v_token;
    vec3 sum = vec3(0);
    uint c = team_lane();
    if (c < WIDTH && row < args.rows) do {
        const float dy = load_element(args.dy, first + c), u = load_element(args.u, first + c);
        const float v = load_element(args.v, v_first + c);
        sum += dy * vec3(v, u, load_element(args.au, first + c) - u);
        c += team_lanes();
      } while (c < WIDTH);
    sum = vec3(team_sum(sum.x), team_sum(sum.y), team_sum(sum.z));
    if (team_lane() == 0 && row < args.rows)
      [[unroll]] for (uint i = 0; i < 3; ++i) args.products.v[3 * row + i] = sum[i];
  }
}
