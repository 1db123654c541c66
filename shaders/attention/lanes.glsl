// Score tiles for CPU drivers: one subgroup per workgroup, no shared memory, no barrier. There each
// per-lane load is a gather and costs as much as 25 multiply-adds, whether 4 or 8 bytes wide. So
// columns are loaded in pairs (FILTRA_PAIRS, which takes 64-bit integers), and whatever is gathered
// is used OWN_ROWS times: lanes lie side by side across the streamed tokens for dot products and
// across the feature columns for sums over tokens; the other factor is passed from lane to lane.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common/from_lane.glsl"
#if FILTRA_PAIRS
#include "common/pairs.glsl"
#endif

const uint LANES = gl_WorkGroupSize.x;
const uint OWN_COLS = 2;
const uint TILE_ROWS = OWN_ROWS, TILE_COLS = OWN_COLS * LANES;
const uint PAIRS = 2 * LANES;  // columns that all lanes have together
const uint OWN_WIDTH = ((HEAD > VALUE ? HEAD : VALUE) + PAIRS - 1) / PAIRS * 2;

// What of a tile and of a block of row sums this invocation holds.
uint tile_row(uint r) { return r; }
uint tile_col(uint c) { return gl_SubgroupInvocationID * OWN_COLS + c; }
uint sum_column(uint n) { return n / 2 * PAIRS + gl_SubgroupInvocationID * 2 + n % 2; }
uint own_width(uint width) { return (width + PAIRS - 1) / PAIRS * 2; }

bool any_invocation(bool x) { return subgroupAny(x); }

void rows_max(inout float x[OWN_ROWS]) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = subgroupMax(x[r]);
}
void rows_sum(inout float x[OWN_ROWS]) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = subgroupAdd(x[r]);
}

// Columns `column`, which is even, and column + 1 of the row that begins at element `row`; beyond
// the last column some others.
vec2 load_pair(Matrix m, uint row, uint column) {
  const uint last = m.width - 1;
#if FILTRA_PAIRS
  if (WIDE)
    return load_two(NARROW_ELEMENTS, F32(uvec2(m.base)), (row + min(column, last - 1)) / 2);
#endif
  return vec2(load_element(m.base, row + min(column, last)),
              load_element(m.base, row + min(column + 1, last)));
}

// The same, 0 beyond the last column.
vec2 load_padded_pair(Matrix m, uint row, uint column) {
  const vec2 x = load_pair(m, row, column);
  return vec2(column < m.width ? x.x : 0, column + 1 < m.width ? x.y : 0);
}

// dot_tile or distance_tile. As many columns at a time as fill the lanes, and no more than needed.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], Matrix a, uint a_first,
               Matrix b, uint b_first) {
  const uint parts = (a.width + PAIRS - 1) / PAIRS, pairs = (a.width + 2 * parts - 1) / (2 * parts);
  const bool padded = a.width % (2 * pairs) != 0;
  uint a_row[OWN_ROWS], b_row[OWN_COLS];
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
    a_row[r] = min(a_first + r, a.count - 1) * a.stride;
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) t[r][c] = 0;
  }
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
    b_row[c] = min(b_first + tile_col(c), b.count - 1) * b.stride;
  uint first = 0;
  do {
    const uint column = first + 2 * gl_SubgroupInvocationID;
    vec2 x[OWN_ROWS];
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
      x[r] = padded ? load_padded_pair(a, a_row[r], column) : load_pair(a, a_row[r], column);
    [[unroll]] for (uint n = 0; n < pairs; ++n) {
      vec2 y[OWN_COLS];
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
        y[c] = padded && distances ? load_padded_pair(b, b_row[c], first + 2 * n)
                                   : load_pair(b, b_row[c], first + 2 * n);
      [[unroll]] for (uint k = 0; k < 2; ++k)
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
          const float f = from_lane(x[r][k], n);
          [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
            const float z = distances ? f - y[c][k] : f;
            t[r][c] += z * (distances ? z : y[c][k]);
          }
        }
    }
    first += 2 * pairs;
  } while (first < a.width);
}

// The rows of m that the tile's rows stand for: held, since they would be gathered for each tile.
struct OwnRows {
  float x[OWN_ROWS][OWN_WIDTH];
};
void own_rows(out OwnRows own, Matrix m, uint first) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < OWN_WIDTH; n += 2) {
      const vec2 pair = load_pair(m, min(first + r, m.count - 1) * m.stride, sum_column(n));
      own.x[r][n] = pair.x;
      own.x[r][n + 1] = pair.y;
    }
}

// add_weighted, or add_weighted_from.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  const uint STEP = 2;  // lanes per iteration
  uint lane = 0;
  do {
    [[unroll]] for (uint i = 0; i < STEP * OWN_COLS; ++i) {
      const uint from = lane + i / OWN_COLS;
      const uint row = min(b_first + from * OWN_COLS + i % OWN_COLS, b.count - 1) * b.stride;
      float f[OWN_ROWS];
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
        f[r] = from_lane(t[r][i % OWN_COLS], from);
      [[unroll]] for (uint n = 0; n < own_width(b.width); n += 2) {
        const vec2 y = load_pair(b, row, sum_column(n));
        [[unroll]] for (uint k = 0; k < 2; ++k)
          [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
            sum[r][n + k] += f[r] * (from_own ? y[k] - own.x[r][n + k] : y[k]);
      }
    }
    lane += STEP;
  } while (lane < LANES);
}
