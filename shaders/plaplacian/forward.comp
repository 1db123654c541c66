#version 450
//@types f32 f16 bf16
//@variant lanes -DFILTRA_LANES=1
//@variant pairs -DFILTRA_LANES=1 -DFILTRA_PAIRS=1
//@variant f32:uniform -DFILTRA_UNIFORM=1
// y_x = sum_y A_xy P_xy v_y, or v_x + sum_y A_xy P_xy (v_y - v_x) with `euler`: attention/forward
// with each tile of weights times its p-norm weights (p-LaT, equation 12). result_0: y. lse
// [B,H,Nq]: log-sum-exp of each query's scores, 0 where it sees no key.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#define FILTRA_STREAMED 8 // as attention/forward, with which a head of p = 2 agrees bit for bit
#include "common/types.glsl"
#include "plaplacian/norms.glsl"
#include "attention/online.glsl"

void main() {
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS, token = token_of(query);
  Matrix k = like_k(args.k, b, h), v = like_v(args.v, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  float sum[OWN_ROWS][OWN_WIDTH], top[OWN_ROWS], total[OWN_ROWS];
  OwnRows q, own;
  own_rows(q, like_q(args.q, b, h), query);
  own_rows(own, v, token);
  clear(sum);
  start_rows(top, total, head, query);
  uint key = 0;
  if (key_end > 0) do {
      float t[OWN_ROWS][OWN_COLS];
      dot_tile(t, q, k, key);
      weigh_tile(t, sum, top, total, b, h, origin, query, key);
      if (!attention) {
        float d[OWN_ROWS][OWN_COLS];
        distance_tile(d, own, v, key);
        for_rows(r) for_cols(c) t[r][c] *=
            norm_weight(d[r][c], exponent, token + tile_row(r) == key + tile_col(c));
      }
      if (EULER && !attention)
        add_weighted_from(sum, own, t, v, key);
      else
        add_weighted(sum, t, v, key);
      key += TILE_COLS;
    } while (key < key_end);

  finish_rows(top, total, head, query);
  if (EULER && !attention) {
    float start[OWN_ROWS][OWN_WIDTH];
    load_rows(start, v, token);
    for_rows(r) {
      for_width(n) sum[r][n] = total[r] * sum[r][n] + start[r][n];
      total[r] = 1;
    }
  }
  store_rows(like_y(args.result_0, b, h), query, sum, total, false);
}
