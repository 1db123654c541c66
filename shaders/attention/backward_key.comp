#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// dk = scale dS^T q and dv = (dropout * P)^T dy: a workgroup takes TILE_ROWS keys and walks over
// the queries that see them, recomputing the scores (Dao et al. 2022). result_0: dk, result_1: dv;
// either may be absent. Tiles have keys as rows and queries as columns.
// Grid: blocks of keys x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "attention/tile.glsl"
#include "attention/backward.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint key = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), dy = upstream(b, h);
  OwnRows k, v;
  own_rows(k, like_k(args.k, b, h), key);
  own_rows(v, values(b, h), key);
  const uint origin = bias_origin(b, h);

  float dk[OWN_ROWS][OWN_WIDTH], dv[OWN_ROWS][OWN_WIDTH];
  Keys keys;
  clear(dk);
  clear(dv);
  find_keys(keys, b, key);
  uint query = first_query_seeing(key);
  if (query < args.queries) do {
      float p[OWN_ROWS][OWN_COLS], ds[OWN_ROWS][OWN_COLS], f[OWN_ROWS][OWN_COLS], delta[OWN_COLS];
      weights_keys_down(p, delta, q, k, keys, head, origin, query, key);
      factors_keys_down(f, head, key, query);
      if (WANT_0) {
        dot_tile(ds, v, dy, query);
        for_rows(r) for_cols(c) ds[r][c] = p[r][c] * (ds[r][c] * f[r][c] - delta[c]);
        add_weighted(dk, ds, q, query);
      }
      if (WANT_1) {
        for_rows(r) for_cols(c) p[r][c] *= f[r][c];
        add_weighted(dv, p, Matrix(dy.base, dy.count, VALUE, dy.stride), query);
      }
      query += TILE_COLS;
    } while (query < args.queries);

  float factor[OWN_ROWS];
  for_rows(r) factor[r] = SCALE;
  if (WANT_0) store_rows(like_k(args.result_0, b, h), key, dk, factor, ADD_0);
  for_rows(r) factor[r] = 1;
  if (WANT_1) store_rows(like_v(args.result_1, b, h), key, dv, factor, ADD_1);
}
