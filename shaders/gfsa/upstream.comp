#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "gfsa/filter.glsl"

// The gradients that reach the two uses of A in y = w0 v + c1 u + c2 (A u), u = A v:
// d(A u) = c2 dy and du = c1 dy + c2 A^T dy, where c1 = w1 + (2-K) wK and c2 = (K-1) wK. One team
// per row of [B,N,H].
// delta is made of du and d(A u) as they are stored, as the scores' gradients are.
layout(constant_id = 3) const bool ADD = false;

layout(push_constant, std430) uniform Arguments {
  Elements dy, ady;  // [B,N,H,D]: the gradient of y, and A^T of that
  Elements v;        // [B,H,N,D], any view with a dense last axis
  Elements u, au;    // [B,N,H,D]
  F32 w0, w1, wK;    // [H]
  Elements pairs;    // [2,B,N,H,2D]: (du, d(A u)), then (v, u)
  F32 delta;         // [B,H,N]: <du, u> + <d(A u), A u>
  Elements dv;       // as v: w0 dy, written or added; or absent
  uint order, rows, tokens;
  uint v_batch, v_head, v_token;  // strides in elements
}
args;

void main() {
  for (uint row = team_index(); team_goes_on(row, args.rows); row += team_count()) {
    const uint token = row / HEADS, h = row % HEADS, b = token / args.tokens;
    const uint n = token % args.tokens, first = row * WIDTH;
    const uint v_first = b * args.v_batch + h * args.v_head + n * args.v_token;
    const float w0 = args.w0.v[h];
    const float w1 = args.w1.v[h];
    const float wK = args.wK.v[h];
    const float c2 = float(args.order - 1) * wK, c1 = w1 + wK - c2;
    float delta = 0;
    uint c = team_lane();
    if (c < WIDTH && row < args.rows) do {
        const float dy = load_element(args.dy, first + c), u = load_element(args.u, first + c);
        const float ady = load_element(args.ady, first + c);
        const float du = rounded_element(c1 * dy + c2 * ady), dau = rounded_element(c2 * dy);
        const uint pair = 2 * first + c, values = pair + 2 * WIDTH * args.rows;
        store_element(args.pairs, pair, du);
        store_element(args.pairs, pair + WIDTH, dau);
        store_element(args.pairs, values, load_element(args.v, v_first + c));
        store_element(args.pairs, values + WIDTH, u);
        delta += du * u + dau * load_element(args.au, first + c);
        if (present_elements(args.dv)) {
          const float old = ADD ? load_element(args.dv, v_first + c) : 0;
          store_element(args.dv, v_first + c, old + w0 * dy);
        }
        c += team_lanes();
      } while (c < WIDTH);
    delta = team_sum(delta);
    if (team_lane() == 0 && row < args.rows)
      args.delta.v[(b * HEADS + h) * args.tokens + n] = delta;
  }
}
