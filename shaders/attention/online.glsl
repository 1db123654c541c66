// The online softmax of forward kernels, with queries as rows and keys as columns. Include
// attention/tile.glsl first.

// A row's running maximum is updated only when a score exceeds it by this much. The weights stay
// below e^8, the quotient is the same, and most tiles need no rescaling.
const float HEADROOM = 8;

// head = b * HEADS + h.
void start_rows(out float top[OWN_ROWS], out float total[OWN_ROWS], uint head, uint query) {
  for_rows(r) {
    top[r] = LOWEST / 2;
    if (KNOWN)
      top[r] = args.lse.v[head * args.queries + min(query + tile_row(r), args.queries - 1)];
    total[r] = 0;
  }
}

// Turns a tile of products <q, k> into weights times dropout, not yet divided by the total, which
// is accumulated. When a row's maximum changes, its total and sums are rescaled. origin:
// bias_origin.
void weigh_tile(inout float t[OWN_ROWS][OWN_COLS], inout float sum[OWN_ROWS][OWN_WIDTH],
                inout float top[OWN_ROWS], inout float total[OWN_ROWS], uint b, uint h, uint origin,
                uint query, uint key) {
  float f[OWN_ROWS][OWN_COLS], largest[OWN_ROWS];
  float above = LOWEST;
  for_rows(r) largest[r] = LOWEST;
  for_cols(c) {
    const uint j = key + tile_col(c);
    const bool kept = key_kept(b, j);
    for_rows(r) {
      const uint i = query + tile_row(r);
      t[r][c] = score(kept && causally_seen(i, j), t[r][c], origin, i, j);
      largest[r] = max(largest[r], t[r][c]);
    }
  }
  if (!KNOWN) for_rows(r) above = max(above, largest[r] - top[r]);
  if (!KNOWN && any_invocation(above > HEADROOM)) {
    rows_max(largest);
    for_rows(r) {
      const float next = max(top[r], largest[r]), shrink = exp(top[r] - next);
      top[r] = next;
      total[r] *= shrink;
      for_width(n) sum[r][n] *= shrink;
    }
  }
  for_rows(r) for_cols(c) {
    t[r][c] = weight(t[r][c], top[r]);
    total[r] += t[r][c];
  }
  factors_keys_across(f, b * HEADS + h, query, key);
  for_rows(r) for_cols(c) t[r][c] *= f[r][c];
}

// Stores each row's log-sum-exp, 0 if it saw no key, and replaces its total by the factor for its
// sums: 1 / total, or 1 if KNOWN, since weights are then already divided.
void finish_rows(float top[OWN_ROWS], inout float total[OWN_ROWS], uint head, uint query) {
  if (!KNOWN) rows_sum(total);
  for_rows(r) {
    if (KNOWN) {
      total[r] = 1;
      continue;
    }
    const uint i = query + tile_row(r);
    if (tile_col(0) == 0 && i < args.queries)
      args.lse.v[head * args.queries + i] = total[r] > 0 ? top[r] + log(total[r]) : 0;
    total[r] = total[r] > 0 ? 1 / total[r] : 0;
  }
}
