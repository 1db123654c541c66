#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// dq = scale dS k, and the part of dv in which v_x is the query's value: sum_y pull (v_y - v_x),
// with `euler` also (1 - sum_y A P) dy_x. A workgroup takes TILE_ROWS queries and walks over the
// keys. result_0: dq, result_1: dv; either may be absent.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "plaplacian/norms.glsl"
#include "plaplacian/backward.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS, token = token_of(query);
  Matrix k = like_k(args.k, b, h), v = like_v(args.v, b, h), dy = like_y(args.dy, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  float dq[OWN_ROWS][OWN_WIDTH], dv[OWN_ROWS][OWN_WIDTH];
  float lse[OWN_ROWS], delta[OWN_ROWS], factor[OWN_ROWS];
  clear(dq);
  clear(dv);
  OwnRows q, own, slopes;
  own_rows(q, like_q(args.q, b, h), query);
  own_rows(own, v, token);
  own_rows(slopes, dy, query);
  load_statistics(lse, delta, head, query);
  for_rows(r) factor[r] = 0;
  uint key = 0;
  if (key_end > 0) do {
      float ds[OWN_ROWS][OWN_COLS], p[OWN_ROWS][OWN_COLS], f[OWN_ROWS][OWN_COLS],
          pull[OWN_ROWS][OWN_COLS];
      score_gradients(ds, p, f, pull, q, k, own, v, slopes, lse, delta, b, h, origin, query, key,
                      exponent, attention);
      if (WANT_0) add_weighted(dq, ds, k, key);
      if (WANT_1 && !attention) add_weighted_from(dv, own, pull, v, key);
      if (EULER) for_rows(r) for_cols(c) factor[r] += p[r][c] * f[r][c];
      key += TILE_COLS;
    } while (key < key_end);

  if (WANT_1 && EULER && !attention) {
    float slope[OWN_ROWS][OWN_WIDTH];
    rows_sum(factor);
    load_rows(slope, dy, query);
    for_rows(r) for_width(n) dv[r][n] += (1 - factor[r]) * slope[r][n];
  }
  for_rows(r) factor[r] = SCALE;
  if (WANT_0) store_rows(like_q(args.result_0, b, h), query, dq, factor, ADD_0);
  for_rows(r) factor[r] = 1;
  if (WANT_1 && !attention) store_rows(like_v(args.result_1, b, h), token, dv, factor, ADD_1);
}
