// Score tiles for CPU drivers: one subgroup per workgroup, no shared memory, no barrier. On these
// drivers each per-lane load is a gather and costs as much as 25 multiply-adds, whether 4 or 8
// bytes wide. So columns are loaded in pairs (FILTRA_PAIRS, which needs 64-bit integers), and each
// gathered value is used OWN_ROWS times: lanes are spread across the streamed tokens for dot
// products, and across the feature columns for sums over tokens; the other factor is broadcast from
// lane to lane. What does not fit into registers is spilled to the stack, where reading it costs no
// more than a memory operand. So the tile's own rows are kept, a block of the streamed rows is
// gathered before any of it is used, and rows process the block in groups whose sums fit into
// registers.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common/from_lane.glsl"
#if FILTRA_PAIRS
#include "common/pairs.glsl"
#endif

const uint LANES = gl_WorkGroupSize.x;
const uint OWN_COLS = 2;
const uint GROUP = OWN_ROWS < 4 ? OWN_ROWS : 4;  // rows whose sums stay in registers together
const uint TILE_ROWS = OWN_ROWS, TILE_COLS = OWN_COLS * LANES;
const uint PAIRS = 2 * LANES;  // columns that all lanes hold together
const uint OWN_WIDTH = ((HEAD > VALUE ? HEAD : VALUE) + PAIRS - 1) / PAIRS * 2;
const uint UPSTREAM = PAIRED ? 2 * VALUE : VALUE;  // columns of dy and of its factor
const uint HELD_WIDTH = ((HEAD > UPSTREAM ? HEAD : UPSTREAM) + PAIRS - 1) / PAIRS * 2;

// The elements of a tile and of a block of row sums that this invocation holds.
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

// Columns `column`, which is even, and column + 1 of the row that begins at element `row`. Past the
// last column, unspecified columns.
vec2 load_pair(Matrix m, uint row, uint column) {
  const uint last = m.width - 1;
#if FILTRA_PAIRS
  if (WIDE)
    return load_two(NARROW_ELEMENTS, F32(uvec2(m.base)), (row + min(column, last - 1)) / 2);
#endif
  return vec2(load_element(m.base, row + min(column, last)),
              load_element(m.base, row + min(column + 1, last)));
}

// As load_pair, but 0 past the last column.
vec2 load_padded_pair(Matrix m, uint row, uint column) {
  const vec2 x = load_pair(m, row, column);
  return vec2(column < m.width ? x.x : 0, column + 1 < m.width ? x.y : 0);
}

// The rows of m of the tile's rows: kept, since otherwise they would be gathered for each tile.
// Column sum_column(n) of row r is x[r][n], 0 past the last column.
struct OwnRows {
  float x[OWN_ROWS][HELD_WIDTH];
  uint width;
};
void own_rows(out OwnRows own, Matrix m, uint first) {
  own.width = m.width;
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < own_width(m.width); n += 2) {
      const uint row = min(first + r, m.count - 1) * m.stride;
      const vec2 pair = m.width % PAIRS == 0 ? load_pair(m, row, sum_column(n))
                                             : load_padded_pair(m, row, sum_column(n));
      own.x[r][n] = pair.x;
      own.x[r][n + 1] = pair.y;
    }
  // Columns that only wider matrices use: functions copy the whole struct.
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint n = own_width(m.width); n < HELD_WIDTH; ++n) own.x[r][n] = 0;
}

// Columns sum_column(2 part) and sum_column(2 part) + 1 of a row.
vec2 own_pair(OwnRows own, uint r, uint part) {
  vec2 x;
  [[unroll]] for (uint n = 0; n < own_width(own.width); n += 2)
    if (n == 0 || part == n / 2) x = vec2(own.x[r][n], own.x[r][n + 1]);
  return x;
}

// dot_tile or distance_tile. Processes a block of 2 LANES columns at a time: first gathers these
// columns of all keys, then multiplies them with groups of rows whose sums stay in registers.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], OwnRows a, Matrix b,
               uint b_first) {
  const uint pairs = min(LANES, (a.width + 1) / 2);
  const bool padded = a.width % (2 * pairs) != 0;
  uint b_row[OWN_COLS];
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) t[r][c] = 0;
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
    b_row[c] = min(b_first + tile_col(c), b.count - 1) * b.stride;
  uint part = 0;
  do {
    vec2 x[OWN_ROWS], y[LANES][OWN_COLS];
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = own_pair(a, r, part);
    [[unroll]] for (uint n = 0; n < pairs; ++n)
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
        const uint column = part * PAIRS + 2 * n;
        y[n][c] = padded && distances ? load_padded_pair(b, b_row[c], column)
                                      : load_pair(b, b_row[c], column);
      }
    [[unroll]] for (uint group = 0; group < OWN_ROWS; group += GROUP)
      [[unroll]] for (uint n = 0; n < pairs; ++n)
        [[unroll]] for (uint k = 0; k < 2; ++k)
          [[unroll]] for (uint i = 0; i < GROUP; ++i) {
            const uint r = group + i;
            const float f = from_lane(x[r][k], n);
            [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
              const float z = distances ? f - y[n][c][k] : f;
              t[r][c] += z * (distances ? z : y[n][c][k]);
            }
          }
    ++part;
  } while (part * PAIRS < a.width);
}

// add_weighted, or add_weighted_from.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  const uint STEP = 2;  // lanes per iteration
  uint lane = 0;
  do {
    float y[STEP * OWN_COLS][OWN_WIDTH];
    [[unroll]] for (uint i = 0; i < STEP * OWN_COLS; ++i) {
      const uint row = min(b_first + lane * OWN_COLS + i, b.count - 1) * b.stride;
      [[unroll]] for (uint n = 0; n < own_width(b.width); n += 2) {
        const vec2 two = load_pair(b, row, sum_column(n));
        y[i][n] = two.x;
        y[i][n + 1] = two.y;
      }
    }
    [[unroll]] for (uint group = 0; group < OWN_ROWS; group += GROUP)
      [[unroll]] for (uint i = 0; i < STEP * OWN_COLS; ++i)
        [[unroll]] for (uint j = 0; j < GROUP; ++j) {
          const uint r = group + j;
          const float f = from_lane(t[r][i % OWN_COLS], lane + i / OWN_COLS);
          [[unroll]] for (uint n = 0; n < own_width(b.width); ++n)
            sum[r][n] += f * (from_own ? y[i][n] - own.x[r][n] : y[i][n]);
        }
    lane += STEP;
  } while (lane < LANES);
}
