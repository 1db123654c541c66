#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// y = softmax(scale q k^T + bias) v with an online softmax (Milakov & Gimelshein 2018): a workgroup
// takes TILE_ROWS queries and walks over the keys once. result_0: y. lse [B,H,Nq]: log-sum-exp of
// each query's scores, 0 where it sees no key; written, or read if KNOWN.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#define FILTRA_STREAMED 8
#include "common/types.glsl"
#include "attention/tile.glsl"
#include "attention/online.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), k = like_k(args.k, b, h), v = like_v(args.v, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);

  OwnRows own;
  own_rows(own, q, query);
  float sum[OWN_ROWS][OWN_WIDTH], top[OWN_ROWS], total[OWN_ROWS];
  clear(sum);
  start_rows(top, total, head, query);
  uint key = 0;
  if (key_end > 0) do {
      float t[OWN_ROWS][OWN_COLS];
      dot_tile(t, own, k, key);
      weigh_tile(t, sum, top, total, b, h, origin, query, key);
      add_weighted(sum, t, v, key);
      key += TILE_COLS;
    } while (key < key_end);

  finish_rows(top, total, head, query);
  store_rows(like_y(args.result_0, b, h), query, sum, total, false);
}
