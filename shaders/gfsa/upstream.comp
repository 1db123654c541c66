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
// delta is computed from du and d(A u) as they are stored (rounded), since the scores' gradients
// read them so.
FT_CONSTANTS(gfsa_upstream_own)
FT_ARGUMENTS(gfsa_upstream)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint token = row / HEADS, h = row % HEADS, b = token / p.tokens;
    const uint n = token % p.tokens, first = row * WIDTH;
    const uint v_first = b * p.v_batch + h * p.v_head + n * p.v_token;
    const float w0 = p.w0.v[h];
    const float w1 = p.w1.v[h];
    const float wK = p.wK.v[h];
    const float c2 = float(p.order - 1) * wK, c1 = w1 + wK - c2;
    float delta = 0;
    uint c = team_lane();
    if (c < WIDTH && row < p.rows) do {
        const float dy = load_element(p.dy, first + c), u = load_element(p.u, first + c);
        const float ady = load_element(p.ady, first + c);
        const float du = rounded_element(c1 * dy + c2 * ady), dau = rounded_element(c2 * dy);
        const uint pair = 2 * first + c, values = pair + 2 * WIDTH * p.rows;
        store_element(p.pairs, pair, du);
        store_element(p.pairs, pair + WIDTH, dau);
        store_element(p.pairs, values, load_element(p.v, v_first + c));
        store_element(p.pairs, values + WIDTH, u);
        delta += du * u + dau * load_element(p.au, first + c);
        if (present_elements(p.dv)) {
          const float old = ADD ? load_element(p.dv, v_first + c) : 0;
          store_element(p.dv, v_first + c, old + w0 * dy);
        }
        c += team_lanes();
      } while (c < WIDTH);
    delta = team_sum(delta);
    if (team_lane() == 0 && row < p.rows)
      p.delta.v[(b * HEADS + h) * p.tokens + n] = delta;
  }
}
