// Gradients of scores and of the values in the norms. Include plaplacian/norms.glsl first.
#include "attention/backward.glsl"

// <dy_x, v_x> with `euler`, which <dy_x, v_y - v_x> needs; else 0.
float own_product(uint head, uint query) {
  if (!EULER) return 0;
  const uint rows = args.batches * HEADS * args.queries;
  return args.delta.v[rows + head * args.queries + min(query, args.queries - 1)];
}

// dS = A * (f P g - delta), where A are the attention weights, f dropout's factors and
// g_xy = <dy_x, z_xy>; z_xy = v_y, or v_y - v_x with `euler`. Also returns A in p, f P in f, and
// pull as in differentiate_norms.
void score_gradients(out float ds[OWN_ROWS][OWN_COLS], out float p[OWN_ROWS][OWN_COLS],
                     out float f[OWN_ROWS][OWN_COLS], out float pull[OWN_ROWS][OWN_COLS], OwnRows q,
                     Matrix k, OwnRows own, Matrix v, OwnRows dy, float lse[OWN_ROWS],
                     float delta[OWN_ROWS], uint b, uint h, uint origin, uint query, uint key,
                     float exponent, bool attention) {
  weights_keys_across(p, q, k, lse, b, origin, query, key);
  dot_tile(ds, dy, v, key);
  factors_keys_across(f, b * HEADS + h, query, key);
  for_rows(r) for_cols(c) pull[r][c] = 0;
  if (!attention) {
    float d[OWN_ROWS][OWN_COLS];
    const uint token = token_of(query);
    distance_tile(d, own, v, key);
    for_rows(r) {
      const float base = own_product(b * HEADS + h, query + tile_row(r));
      for_cols(c) ds[r][c] -= base;
    }
    differentiate_norms(f, pull, p, ds, d, exponent, token, key);
  }
  for_rows(r) for_cols(c) ds[r][c] = p[r][c] * (ds[r][c] * f[r][c] - delta[r]);
}
