// Score tiles for CPU drivers that load once what all lanes load (lavapipe of Mesa 26): one
// subgroup per workgroup, no shared memory, no barrier. Each lane keeps whole rows, and the address
// of a streamed element is the same in all lanes, so a multiply-add takes it from memory: nothing
// is gathered but the kept rows, and nothing is exchanged between lanes.
#if FT_F16 || FT_BF16
#error "streamed elements would be converted one by one"
#endif
#extension GL_KHR_shader_subgroup_basic : require
#include "common/pairs.glsl"
#include "common/uniform.glsl"

// Streamed rows of a step, of which more share a loop's costs: at its end lavapipe copies every sum
// by a mask of lanes. Kernels with one tile of scores, or two of one row a lane, take eight, and
// so does p-LaT's forward kernel.
#ifndef FILTRA_STREAMED
#define FILTRA_STREAMED 4
#endif
const uint OWN_COLS = FILTRA_STREAMED;
const uint LANES = gl_WorkGroupSize.x;
const uint TILE_ROWS = OWN_ROWS * LANES, TILE_COLS = OWN_COLS;
const uint OWN_WIDTH = HEAD > VALUE ? HEAD : VALUE;
const uint UPSTREAM = PAIRED ? 2 * VALUE : VALUE;  // columns of dy and of its factor
const uint HELD_WIDTH = HEAD > UPSTREAM ? HEAD : UPSTREAM;
const uint BLOCK = 8;  // columns whose numbers fit into registers

// The elements of a tile and of a block of row sums that this invocation holds.
uint tile_row(uint r) { return gl_SubgroupInvocationID * OWN_ROWS + r; }
uint tile_col(uint c) { return c; }
uint sum_column(uint n) { return n; }

// Other tiles share a row among lanes, and combine the lanes' answers, maxima and sums here.
bool any_invocation(bool x) { return x; }
void rows_max(float x[OWN_ROWS]) {}
void rows_sum(float x[OWN_ROWS]) {}

// A row of m, or the last one.
F32 row_of(Matrix m, uint row) {
  return after(F32(uvec2(m.base)), min(row, m.count - 1) * m.stride);
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

// Column n of row i in lane i.
float column_of(F32 rows[LANES], uint n) {
  float x = rows[0].v[n];
  [[unroll]] for (uint i = 1; i < LANES; ++i) {
    const float y = rows[i].v[n];
    x = gl_SubgroupInvocationID == i ? y : x;
  }
  return x;
}

// Columns n, which is even, and n + 1, of WIDE matrices.
vec2 pair_of(F32 rows[LANES], uint n) {
  uint64_t x = Pairs(uvec2(rows[0])).v[n / 2];
  [[unroll]] for (uint i = 1; i < LANES; ++i) {
    const uint64_t y = Pairs(uvec2(rows[i])).v[n / 2];
    x = gl_SubgroupInvocationID == i ? y : x;
  }
  return uintBitsToFloat(unpack32(x));
}

// Columns n, which is even, and n + 1 of row i of m in lane i, 0 past the last column.
vec2 columns_of(F32 rows[LANES], Matrix m, uint n) {
  if (WIDE) return n < m.width ? pair_of(rows, n) : vec2(0);
  return vec2(n < m.width ? column_of(rows, n) : 0, n + 1 < m.width ? column_of(rows, n + 1) : 0);
}

// The rows of m of the tile's rows. By addresses that all lanes share, too: each lane takes its own
// of what was loaded, where a gather asks each lane whether it is active. In blocks of columns, so
// that what was loaded stays in registers until lanes have taken it.
struct OwnRows {
  float x[OWN_ROWS][HELD_WIDTH];
  uint width;
};
void own_rows(out OwnRows own, Matrix m, uint first) {
  own.width = m.width;
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
    F32 rows[LANES];
    [[unroll]] for (uint i = 0; i < LANES; ++i) rows[i] = row_of(m, first + i * OWN_ROWS + r);
    [[unroll]] for (uint block = 0; block < HELD_WIDTH; block += BLOCK)
      if (in_one_block(rows[0], block))
        [[unroll]] for (uint n = block; n < min(block + BLOCK, HELD_WIDTH); n += 2) {
          const vec2 x = columns_of(rows, m, n);
          own.x[r][n] = x.x;
          if (n + 1 < HELD_WIDTH) own.x[r][n + 1] = x.y;
        }
  }
}

// dot_tile or distance_tile. In blocks whose sums fit into registers.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], OwnRows a, Matrix b,
               uint b_first) {
  const uint SUMS = OWN_ROWS == 1 ? 8 : 4;
  F32 row[OWN_COLS];
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
    row[c] = row_of(b, b_first + c);
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) t[r][c] = 0;
  }
  [[unroll]] for (uint block = 0; block < OWN_COLS; block += SUMS)
    if (in_one_block(row[0], block))
      [[unroll]] for (uint n = 0; n < a.width; ++n)
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
          [[unroll]] for (uint c = block; c < min(block + SUMS, OWN_COLS); ++c) {
            const float y = row[c].v[n], z = distances ? a.x[r][n] - y : a.x[r][n];
            t[r][c] = fma(z, distances ? z : y, t[r][c]);
          }
}

// add_weighted, or add_weighted_from. In blocks of columns: in a single one the compiler would add
// a row to all sums before the next, and load and store each sum for each row.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  // 0, which the compiler does not know: of elements that it knows to be those of a pair_tile it
  // keeps copies for all lanes in memory. Where a lane has one row, loading each again is faster.
  const uint nothing = OWN_ROWS == 1 ? args.queries >> 31 : 0;
  F32 row[OWN_COLS];
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) row[c] = after(row_of(b, b_first + c), nothing);
  [[unroll]] for (uint block = 0; block < b.width; block += BLOCK)
    if (in_one_block(row[0], OWN_COLS + block))
      [[unroll]] for (uint n = block; n < min(block + BLOCK, b.width); ++n)
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
          [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
            const float y = row[c].v[n];
            sum[r][n] = fma(t[r][c], from_own ? y - own.x[r][n] : y, sum[r][n]);
          }
}
