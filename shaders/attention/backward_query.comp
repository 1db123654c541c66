#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// dq = scale dS k, where dS = P * (dP - delta), dP = dropout * (dy v^T): a workgroup takes
// TILE_ROWS queries and walks over the keys, recomputing the scores (Dao et al. 2022). result_0:
// dq.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#define FILTRA_STREAMED (OWN_ROWS == 1 ? 8 : 4)
#include "common/types.glsl"
#include "attention/tile.glsl"
#include "attention/backward.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix k = like_k(args.k, b, h), v = values(b, h);
  OwnRows q, dy;
  own_rows(q, like_q(args.q, b, h), query);
  own_rows(dy, upstream(b, h), query);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);

  float sum[OWN_ROWS][OWN_WIDTH], lse[OWN_ROWS], delta[OWN_ROWS];
  clear(sum);
  load_statistics(lse, delta, head, query);
  uint key = 0;
  if (key_end > 0) do {
      float ds[OWN_ROWS][OWN_COLS];
      score_gradients(ds, q, k, v, dy, lse, delta, b, h, origin, query, key);
      add_weighted(sum, ds, k, key);
      key += TILE_COLS;
    } while (key < key_end);

  float factor[OWN_ROWS];
  for_rows(r) factor[r] = SCALE;
  store_rows(like_q(args.result_0, b, h), query, sum, factor, ADD_0);
}
