// dbias = dS, summed over the heads and samples that share an entry, in order. result_0: dbias. The
// including file defines head_gradients, which computes a tile of one head's dS.
// Grid: blocks of queries x blocks of keys x the bias's own heads and samples.

void main() {
  const uint query = gl_WorkGroupID.x * TILE_ROWS, key = gl_WorkGroupID.y * TILE_COLS;
  const uint own_heads = BIAS_PER_HEAD ? HEADS : 1;
  const uint b_first = gl_WorkGroupID.z / own_heads, h_first = gl_WorkGroupID.z % own_heads;
  const uint b_end = BIAS_PER_BATCH ? b_first + 1 : args.batches;
  const uint h_end = BIAS_PER_HEAD ? h_first + 1 : HEADS;
  const uint origin = bias_origin(b_first, h_first);

  float sum[OWN_ROWS][OWN_COLS];
  for_rows(r) for_cols(c) sum[r][c] = 0;
  uint b = b_first, h = h_first;
  if (key < keys_seen(min(query + TILE_ROWS, args.queries) - 1)) do {
      float ds[OWN_ROWS][OWN_COLS];
      head_gradients(ds, b, h, origin, query, key);
      for_rows(r) for_cols(c) sum[r][c] += ds[r][c];
      if (++h == h_end) {
        h = h_first;
        ++b;
      }
    } while (b < b_end);

  for_rows(r) for_cols(c) {
    const uint i = query + tile_row(r), j = key + tile_col(c);
    if (i < args.queries && j < args.keys) {
      const uint at = origin + i * args.keys + j;
      args.result_0.v[at] = ADD_0 ? args.result_0.v[at] + sum[r][c] : sum[r][c];
    }
  }
}
