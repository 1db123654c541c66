// Score tiles for CPU drivers: one subgroup per workgroup, no shared memory, no barrier. There each
// per-lane load is a gather and costs as much as 25 multiply-adds, so whatever is gathered is used
// OWN_ROWS times: lanes lie side by side across the streamed tokens for dot products and across the
// feature columns for sums over tokens; the other factor is passed from lane to lane.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common/from_lane.glsl"

const uint LANES = gl_WorkGroupSize.x;
const uint OWN_COLS = 2;
const uint TILE_ROWS = OWN_ROWS, TILE_COLS = OWN_COLS * LANES;
const uint OWN_WIDTH = ((HEAD > VALUE ? HEAD : VALUE) + LANES - 1) / LANES;

// What of a tile and of a block of row sums this invocation holds.
uint tile_row(uint r) { return r; }
uint tile_col(uint c) { return gl_SubgroupInvocationID * OWN_COLS + c; }
uint sum_column(uint n) { return n * LANES + gl_SubgroupInvocationID; }
uint own_width(uint width) { return (width + LANES - 1) / LANES; }

bool any_invocation(bool x) { return subgroupAny(x); }

void rows_max(inout float x[OWN_ROWS]) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = subgroupMax(x[r]);
}
void rows_sum(inout float x[OWN_ROWS]) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = subgroupAdd(x[r]);
}

// dot_tile or distance_tile.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], Matrix a, uint a_first,
               Matrix b, uint b_first) {
  uint a_row[OWN_ROWS], b_row[OWN_COLS];
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
    a_row[r] = min(a_first + r, a.count - 1) * a.stride;
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) t[r][c] = 0;
  }
  [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
    b_row[c] = min(b_first + tile_col(c), b.count - 1) * b.stride;
  uint first = 0;
  do {
    const uint column = first + gl_SubgroupInvocationID;
    float x[OWN_ROWS];
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
      x[r] = load_element(a.base, a_row[r] + min(column, a.width - 1));
      if (column >= a.width) x[r] = 0;
    }
    [[unroll]] for (uint n = 0; n < LANES; ++n) {
      float y[OWN_COLS];
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
        y[c] = load_element(b.base, b_row[c] + min(first + n, b.width - 1));
        if (distances && first + n >= b.width) y[c] = 0;
      }
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
        const float f = from_lane(x[r], n);
        [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
          const float x = distances ? f - y[c] : f;
          t[r][c] += x * (distances ? x : y[c]);
        }
      }
    }
    first += LANES;
  } while (first < a.width);
}

// The rows of m that the tile's rows stand for: held, since they would be gathered for each tile.
struct OwnRows {
  float x[OWN_ROWS][OWN_WIDTH];
};
void own_rows(out OwnRows own, Matrix m, uint first) {
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint n = 0; n < OWN_WIDTH; ++n)
      own.x[r][n] = load_element(m.base, min(first + r, m.count - 1) * m.stride +
                                             min(sum_column(n), m.width - 1));
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
      [[unroll]] for (uint n = 0; n < own_width(b.width); ++n) {
        const float y = load_element(b.base, row + min(sum_column(n), b.width - 1));
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
          sum[r][n] += f[r] * (from_own ? y - own.x[r][n] : y);
      }
    }
    lane += STEP;
  } while (lane < LANES);
}
