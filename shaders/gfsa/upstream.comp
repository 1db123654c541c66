#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "gfsa/filter.glsl"

// The gradients that reach the two uses of A in y = w0 v + c1 u + c2 (A u), u = A v:
// d(A u) = c2 dy and du = c1 dy + c2 A^T dy, where c1 = w1 + (2-K) wK and c2 = (K-1) wK. One team
// per row of [B,N,H].
// delta is computed from du and d(A u) as they are stored (rounded), since the scores' gradients
// read them so.
FT_CONSTANTS(gfsa_upstream_own)
FT_ARGUMENTS(gfsa_upstream)

void store(F32 t, uint start, uint first, const uint i, vec2 x) {
  store_columns(NARROW_ELEMENTS, t, start, first, i, x);
}

vec2 rounded(vec2 x) { return vec2(rounded_element(x.x), EACH == 2 ? rounded_element(x.y) : 0); }

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint at = min(row, p.rows - 1), token = at / HEADS, h = at % HEADS, b = token / p.tokens;
    const uint n = token % p.tokens, start = at * WIDTH;
    const uint v_start = b * p.v_batch + h * p.v_head + n * p.v_token;
    const uint pair = 2 * start, values = pair + 2 * WIDTH * p.rows;
    const float w0 = p.w0.v[h];
    const float w1 = p.w1.v[h];
    const float wK = p.wK.v[h];
    const float c2 = float(p.order - 1) * wK, c1 = w1 + wK - c2;
    vec2 delta = vec2(0);
    uint first = 0;
    do {
      [[unroll]] for (uint i = 0; i < HELD; i += EACH) {
        if (!row_has(row_column(first, i), WIDTH) || !team_has(row, p.rows)) continue;
        const vec2 dy = load(p.dy, start, first, i), u = load(p.u, start, first, i);
        const vec2 ady = load(p.ady, start, first, i);
        const vec2 du = rounded(c1 * dy + c2 * ady), dau = rounded(c2 * dy);
        store(p.pairs, pair, first, i, du);
        store(p.pairs, pair + WIDTH, first, i, dau);
        store(p.pairs, values, first, i, load(p.v, v_start, first, i));
        store(p.pairs, values + WIDTH, first, i, u);
        delta += du * u + dau * load(p.au, start, first, i);
        if (present(p.dv)) {
          const vec2 old = ADD ? load(p.dv, v_start, first, i) : vec2(0);
          store(p.dv, v_start, first, i, old + w0 * dy);
        }
      }
    } while (row_goes_on(first, WIDTH));
    const float sum = team_sum(both(delta));
    if (team_lane() == 0 && team_has(row, p.rows)) p.delta.v[(b * HEADS + h) * p.tokens + n] = sum;
  }
}
