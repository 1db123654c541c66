// Score tiles for CPU drivers that load once what all lanes load (lavapipe of Mesa 26): one
// subgroup per workgroup, no shared memory, no barrier. Each lane keeps whole rows, and the address
// of a streamed element is the same in all lanes, so a multiply-add takes it from memory: nothing
// is gathered but the kept rows, and nothing is exchanged between lanes.
#if FT_F16 || FT_BF16
#error "streamed elements would be converted one by one"
#endif
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common/pairs.glsl"
#include "common/uniform.glsl"

// Streamed rows of a step. At its end lavapipe copies every sum by a mask of lanes; a forward
// kernel of one row a lane has registers for the scores of more.
#if FILTRA_FORWARD
const uint OWN_COLS = OWN_ROWS == 1 ? 8 : 4;
#else
const uint OWN_COLS = 4;
#endif
const uint TILE_ROWS = OWN_ROWS * gl_WorkGroupSize.x, TILE_COLS = OWN_COLS;
const uint OWN_WIDTH = HEAD > VALUE ? HEAD : VALUE;
const uint UPSTREAM = PAIRED ? 2 * VALUE : VALUE;  // columns of dy and of its factor
const uint HELD_WIDTH = HEAD > UPSTREAM ? HEAD : UPSTREAM;

// The elements of a tile and of a block of row sums that this invocation holds.
uint tile_row(uint r) { return gl_SubgroupInvocationID * OWN_ROWS + r; }
uint tile_col(uint c) { return c; }
uint sum_column(uint n) { return n; }

bool any_invocation(bool x) { return subgroupAny(x); }

// Other tiles share a row among lanes, and combine the lanes' maxima and sums here.
void rows_max(float x[OWN_ROWS]) {}
void rows_sum(float x[OWN_ROWS]) {}

// A row of m, or the last one.
F32 row_of(Matrix m, uint row) {
  return after(F32(uvec2(m.base)), min(row, m.count - 1) * m.stride);
}

// Columns n, which is even, and n + 1 of a row of `width`; 0 past the last one. A gather or a
// scatter takes as long for a pair as for one element.
vec2 load_columns(F32 row, uint n, uint width) {
  if (WIDE && n < width) return load_two(false, row, n / 2);
  return vec2(n < width ? row.v[n] : 0, n + 1 < width ? row.v[n + 1] : 0);
}

// As store_rows, of WIDE matrices.
void store_pairs(Matrix m, uint first, float sum[OWN_ROWS][OWN_WIDTH], float factor[OWN_ROWS],
                 bool add) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
    if (first + tile_row(r) >= m.count) continue;
    F32 row = row_of(m, first + tile_row(r));
    [[unroll]] for (uint n = 0; n < m.width; n += 2) {
      vec2 x = factor[r] * vec2(sum[r][n], sum[r][n + 1]);
      if (add) x += load_two(false, row, n / 2);
      store_two(false, row, n / 2, x);
    }
  }
}

// The rows of m of the tile's rows.
struct OwnRows {
  float x[OWN_ROWS][HELD_WIDTH];
  uint width;
};
void own_rows(out OwnRows own, Matrix m, uint first) {
  own.width = m.width;
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
    F32 row = row_of(m, first + tile_row(r));
    [[unroll]] for (uint n = 0; n < HELD_WIDTH; n += 2) {
      const vec2 x = load_columns(row, n, m.width);
      own.x[r][n] = x.x;
      if (n + 1 < HELD_WIDTH) own.x[r][n + 1] = x.y;
    }
  }
}

// dot_tile or distance_tile.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], OwnRows a, Matrix b,
               uint b_first) {
  F32 row[OWN_COLS];
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
    row[c] = row_of(b, b_first + c);
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) t[r][c] = 0;
  }
  [[unroll]] for (uint n = 0; n < a.width; ++n)
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
        const float y = row[c].v[n], z = distances ? a.x[r][n] - y : a.x[r][n];
        t[r][c] = fma(z, distances ? z : y, t[r][c]);
      }
}

// add_weighted, or add_weighted_from.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  // 0, which the compiler does not know: of elements that it knows to be those of a pair_tile it
  // keeps copies for all lanes in memory. Where a lane has one row, loading each again is faster.
  const uint nothing = OWN_ROWS == 1 ? args.queries >> 31 : 0;
  F32 row[OWN_COLS];
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) row[c] = after(row_of(b, b_first + c), nothing);
  [[unroll]] for (uint n = 0; n < b.width; ++n)
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
        const float y = row[c].v[n];
        sum[r][n] = fma(t[r][c], from_own ? y - own.x[r][n] : y, sum[r][n]);
      }
}
