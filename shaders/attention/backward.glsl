// Recomputed attention weights, and the gradients of scores. Include attention/tile.glsl first.

#include "attention/upstream.glsl"

// Per row: log-sum-exp of the scores and <dy, y>.
void load_statistics(out float lse[OWN_ROWS], out float delta[OWN_ROWS], uint head, uint query) {
  for_rows(r) {
    const uint row = head * args.queries + min(query + tile_row(r), args.queries - 1);
    lse[r] = args.lse.v[row];
    delta[r] = args.delta.v[row];
  }
}

// A tile of weights, with queries as rows and keys as columns. origin: bias_origin.
void weights_keys_across(out float p[OWN_ROWS][OWN_COLS], OwnRows q, Matrix k,
                         float lse[OWN_ROWS], uint b, uint origin, uint query, uint key) {
  dot_tile(p, q, k, key);
  for_cols(c) {
    const uint j = key + tile_col(c);
    const bool kept = key_kept(b, j);
    for_rows(r) {
      const uint i = query + tile_row(r);
      p[r][c] = weight(score(kept && causally_seen(i, j), p[r][c], origin, i, j), lse[r]);
    }
  }
}

// Which rows of a tile of keys are real tokens. PAIRED kernels have few registers left, so they
// keep a bit for each key; with a bool for each key, compilers wait less often.
const bool BITS = PAIRED && OWN_ROWS < 4;
struct Keys {
  bool kept[OWN_ROWS];
  uint bits;
};
void find_keys(out Keys keys, uint b, uint key) {
  keys.bits = 0;
  for_rows(r) {
    keys.kept[r] = key_kept(b, key + tile_row(r));
    keys.bits |= uint(keys.kept[r]) << r;
  }
}
bool row_kept(Keys keys, uint r) { return BITS ? (keys.bits >> r & 1) != 0 : keys.kept[r]; }

// A tile of weights, with keys as rows and queries as columns. delta: per query, <dy, y>.
void weights_keys_down(out float p[OWN_ROWS][OWN_COLS], out float delta[OWN_COLS], Matrix q,
                       OwnRows k, Keys keys, uint head, uint origin, uint query, uint key) {
  dot_tile(p, k, q, query);
  for_cols(c) {
    const uint i = query + tile_col(c), row = head * args.queries + min(i, args.queries - 1);
    const float lse = args.lse.v[row];
    delta[c] = args.delta.v[row];
    for_rows(r) {
      const uint j = key + tile_row(r);
      const bool seen = row_kept(keys, r) && i < args.queries && causally_seen(i, j);
      p[r][c] = weight(score(seen, p[r][c], origin, i, j), lse);
    }
  }
}

// dS = P * (dropout * (dy v^T) - delta), with queries as rows and keys as columns.
void score_gradients(out float ds[OWN_ROWS][OWN_COLS], OwnRows q, Matrix k, Matrix v, OwnRows dy,
                     float lse[OWN_ROWS], float delta[OWN_ROWS], uint b, uint h, uint origin,
                     uint query, uint key) {
  float p[OWN_ROWS][OWN_COLS], f[OWN_ROWS][OWN_COLS];
  weights_keys_across(p, q, k, lse, b, origin, query, key);
  dot_tile(ds, dy, v, key);
  factors_keys_across(f, b * HEADS + h, query, key);
  for_rows(r) for_cols(c) ds[r][c] = p[r][c] * (ds[r][c] * f[r][c] - delta[r]);
}
