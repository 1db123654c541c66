// Tiles of scores: a workgroup keeps TILE_ROWS rows of one matrix and streams the other matrix,
// TILE_COLS rows at a time. dot_tile computes the tile, add_weighted sums the streamed rows with
// the tile's weights. There are three implementations, one for GPUs and two for CPU drivers; a
// kernel computes the same with each.
#include "attention/problem.glsl"
#if FILTRA_UNIFORM
#include "attention/uniform.glsl"
#elif FILTRA_LANES
#include "attention/lanes.glsl"
#else
#include "attention/tiled.glsl"
#endif

#define for_rows(r) [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
#define for_cols(c) [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
#define for_width(n) [[unroll]] for (uint n = 0; n < OWN_WIDTH; ++n)

void clear(out float sum[OWN_ROWS][OWN_WIDTH]) {
  for_rows(r) for_width(n) sum[r][n] = 0;
}

// t[r][c] = <row r of a, row b_first + c of b>, where r and c count over the whole tile.
void dot_tile(out float t[OWN_ROWS][OWN_COLS], OwnRows a, Matrix b, uint b_first) {
  pair_tile(false, t, a, b, b_first);
}

// t[r][c] = the squared distance of the same rows, summed from differences: 0 for equal rows.
void distance_tile(out float t[OWN_ROWS][OWN_COLS], OwnRows a, Matrix b, uint b_first) {
  pair_tile(true, t, a, b, b_first);
}

// sum[r] += sum over c of t[r][c] times row b_first + c of b.
void add_weighted(inout float sum[OWN_ROWS][OWN_WIDTH], float t[OWN_ROWS][OWN_COLS], Matrix b,
                  uint b_first) {
  OwnRows none;
  add_rows(false, sum, none, t, b, b_first);
}

// Rows `first` + r of m. Past the last row or column, unspecified elements.
void load_rows(out float x[OWN_ROWS][OWN_WIDTH], Matrix m, uint first) {
  for_rows(r) for_width(n) x[r][n] =
      load_element(m.base, min(first + tile_row(r), m.count - 1) * m.stride +
                               min(sum_column(n), m.width - 1));
}

// sum[r] += sum over c of t[r][c] times (row b_first + c of b - own row r). Rows close to the own
// row, with large weights, lose no digits to cancellation.
void add_weighted_from(inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
                       float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  add_rows(true, sum, own, t, b, b_first);
}

// Rows `first` + r of m = factor[r] sum[r], or += it.
void store_rows(Matrix m, uint first, float sum[OWN_ROWS][OWN_WIDTH], float factor[OWN_ROWS],
                bool add) {
#if FILTRA_UNIFORM
  if (WIDE) {
    store_pairs(m, first, sum, factor, add);
    return;
  }
#endif
  for_rows(r) for_width(n) {
    const uint row = first + tile_row(r), column = sum_column(n);
    if (row < m.count && column < m.width) {
      const uint i = row * m.stride + column;
      float x = factor[r] * sum[r][n];
      if (add) x += load_element(m.base, i);
      store_element(m.base, i, x);
    }
  }
}

// Dropout factors of a tile with queries from `query` on as rows and keys from `key` on as columns;
// head = b * HEADS + h.
void factors_keys_across(out float f[OWN_ROWS][OWN_COLS], uint head, uint query, uint key) {
  const uint first = key + tile_col(0);
  const uint STEP = OWN_COLS < 4 ? OWN_COLS : 4;  // a block of random words covers them
  for_rows(r) [[unroll]] for (uint c = 0; c < OWN_COLS; c += STEP) {
    const vec4 x = dropout_factors(head * args.queries + query + tile_row(r), (first + c) / 4);
    [[unroll]] for (uint i = 0; i < STEP; ++i) f[r][c + i] = x[first % 4 + i];
  }
}

// The same for a tile with keys as rows and queries as columns.
void factors_keys_down(out float f[OWN_ROWS][OWN_COLS], uint head, uint key, uint query) {
  const uint STEP = OWN_ROWS < 4 ? OWN_ROWS : 4;
  for_cols(c) [[unroll]] for (uint r = 0; r < OWN_ROWS; r += STEP) {
    const uint first = key + tile_row(r);
    const vec4 x = dropout_factors(head * args.queries + query + tile_col(c), first / 4);
    [[unroll]] for (uint i = 0; i < STEP; ++i) f[r + i][c] = x[first % 4 + i];
  }
}
