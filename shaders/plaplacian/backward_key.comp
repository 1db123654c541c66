#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// dk = scale dS^T q, and the part of dv in which v_y is the key's value: (A P)^T dy and
// sum_x pull (v_x - v_y). A workgroup takes TILE_ROWS keys and walks over the queries that see
// them. result_0: dk, result_1: dv; either may be absent. Tiles have keys as rows and queries as
// columns.
// Grid: blocks of keys x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "plaplacian/norms.glsl"
#include "plaplacian/backward.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint key = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), v = like_v(args.v, b, h), dy = like_y(args.dy, b, h);
  const uint origin = bias_origin(b, h);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  float dk[OWN_ROWS][OWN_WIDTH], dv[OWN_ROWS][OWN_WIDTH];
  Keys keys;
  clear(dk);
  clear(dv);
  OwnRows k, own;
  own_rows(k, like_k(args.k, b, h), key);
  own_rows(own, v, key);
  find_keys(keys, b, key);
  uint query = first_query_seeing(key);
  if (query < args.queries) do {
      float p[OWN_ROWS][OWN_COLS], ds[OWN_ROWS][OWN_COLS], f[OWN_ROWS][OWN_COLS], delta[OWN_COLS];
      float pull[OWN_ROWS][OWN_COLS];
      weights_keys_down(p, delta, q, k, keys, head, origin, query, key);
      factors_keys_down(f, head, key, query);
      if (WANT_0 || !attention) dot_tile(ds, own, dy, query);
      if (!attention) {
        float d[OWN_ROWS][OWN_COLS];
        distance_tile(d, own, v, token_of(query));
        for_cols(c) {
          const float base = own_product(head, query + tile_col(c));
          for_rows(r) ds[r][c] -= base;
        }
        differentiate_norms(f, pull, p, ds, d, exponent, key, token_of(query));
      }
      if (WANT_0) for_rows(r) for_cols(c) ds[r][c] = p[r][c] * (ds[r][c] * f[r][c] - delta[c]);
      if (WANT_1) for_rows(r) for_cols(c) p[r][c] *= f[r][c];
      if (WANT_0) add_weighted(dk, ds, q, query);
      if (WANT_1) add_weighted(dv, p, dy, query);
      if (WANT_1 && !attention) add_weighted_from(dv, own, pull, v, token_of(query));
      query += TILE_COLS;
    } while (query < args.queries);

  float factor[OWN_ROWS];
  for_rows(r) factor[r] = SCALE;
  if (WANT_0) store_rows(like_k(args.result_0, b, h), key, dk, factor, ADD_0);
  for_rows(r) factor[r] = 1;
  if (WANT_1) store_rows(like_v(args.result_1, b, h), key, dv, factor, ADD_1);
}
