#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "gfsa/filter.glsl"

// The gradients that reach the two uses of A in y = w0 v + c1 u + c2 (A u), u = A v:
// d(A u) = c2 dy and du = c1 dy + c2 A^T dy, where c1 = w1 + (2-K) wK and c2 = (K-1) wK. One team
// per row of [B,N,H].
layout(constant_id = 3) const bool ADD = false;

layout(push_constant, std430) uniform Arguments {
  F32 dy, ady;     // [B,N,H,D]: the gradient of y, and A^T of that
  F32 v;           // [B,H,N,D], any view with a dense last axis
  F32 u, au;       // [B,N,H,D]
  F32 w0, w1, wK;  // [H], or absent
  F32 pairs;       // [2,B,N,H,2D]: (du, d(A u)), then (v, u)
  F32 delta;       // [B,H,N]: <du, u> + <d(A u), A u>
  F32 dv;          // as v: w0 dy, written or added; or absent
  float fixed_w0, fixed_w1, fixed_wK;
  uint order, rows, tokens;
  uint v_batch, v_head, v_token;  // strides in elements
}
args;

void main() {
  for (uint row = team_index(); team_goes_on(row, args.rows); row += team_count()) {
    const uint token = row / HEADS, h = row % HEADS, b = token / args.tokens;
    const uint n = token % args.tokens, first = row * WIDTH;
    const uint v_first = b * args.v_batch + h * args.v_head + n * args.v_token;
    const float w0 = coefficient(args.w0, args.fixed_w0, h);
    const float w1 = coefficient(args.w1, args.fixed_w1, h);
    const float wK = coefficient(args.wK, args.fixed_wK, h);
    const float c2 = float(args.order - 1) * wK, c1 = w1 + wK - c2;
    float delta = 0;
    uint c = team_lane();
    if (c < WIDTH && row < args.rows) do {
        const float dy = args.dy.v[first + c], u = args.u.v[first + c];
        const float du = c1 * dy + c2 * args.ady.v[first + c], dau = c2 * dy;
        const uint pair = 2 * first + c, values = pair + 2 * WIDTH * args.rows;
        args.pairs.v[pair] = du;
        args.pairs.v[pair + WIDTH] = dau;
        args.pairs.v[values] = args.v.v[v_first + c];
        args.pairs.v[values + WIDTH] = u;
        delta += du * u + dau * args.au.v[first + c];
        if (present(args.dv)) {
          const float old = ADD ? args.dv.v[v_first + c] : 0;
          args.dv.v[v_first + c] = old + w0 * dy;
        }
        c += team_lanes();
      } while (c < WIDTH);
    delta = team_sum(delta);
    if (team_lane() == 0 && row < args.rows)
      args.delta.v[(b * HEADS + h) * args.tokens + n] = delta;
  }
}
