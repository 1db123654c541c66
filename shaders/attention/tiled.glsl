// Score tiles for GPUs: 16 x 8 invocations, of which each holds OWN_ROWS x 4 scores and row sums of
// OWN_ROWS x OWN_WIDTH in registers. What they share passes through at most 13 KiB of shared
// memory; no subgroup operations. Every function is called by the whole workgroup and may start
// with others still reading `staged`.
//
// GPUs hide latency with unrolled inner loops; the barriers make CPU drivers' compilers take
// seconds over them, so loops stay loops and UNROLL says how many steps their bodies take.
layout(constant_id = 11) const uint UNROLL = 1;
const uint ACROSS = 8, DOWN = gl_WorkGroupSize.x / ACROSS;
const uint OWN_COLS = 4;
const uint TILE_ROWS = DOWN * OWN_ROWS, TILE_COLS = ACROSS * OWN_COLS;
const uint DEPTH = 16;            // columns of a and b staged at a time for dot products
const uint BREADTH = TILE_COLS;  // columns of b staged at a time for weighted sums
const uint OWN_WIDTH = ((HEAD > VALUE ? HEAD : VALUE) + BREADTH - 1) / BREADTH * OWN_COLS;

// Rows are four elements longer than what they hold: columns fall into different banks, and
// compilers see that an invocation's neighbours lie in one aligned load of four.
const uint ROW_PITCH = TILE_ROWS + 4, COL_PITCH = TILE_COLS + 4;
shared float staged[TILE_ROWS * COL_PITCH + TILE_COLS * BREADTH];

// What of a tile and of a block of row sums this invocation holds.
uint across() { return gl_LocalInvocationID.x % ACROSS; }
uint tile_row(uint r) { return gl_LocalInvocationID.x / ACROSS * OWN_ROWS + r; }
uint tile_col(uint c) { return across() * OWN_COLS + c; }
uint sum_column(uint n) { return n / OWN_COLS * BREADTH + across() * OWN_COLS + n % OWN_COLS; }

// Votes would need a barrier of their own.
bool any_invocation(bool x) { return true; }

void share_rows(float x[OWN_ROWS]) {
  barrier();
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) staged[tile_row(r) * ACROSS + across()] = x[r];
  barrier();
}
void rows_max(inout float x[OWN_ROWS]) {
  share_rows(x);
  uint n = 0;
  [[dont_unroll]] do {
    [[unroll]] for (uint u = 0; u < UNROLL; ++u, ++n)
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
        x[r] = max(x[r], staged[tile_row(r) * ACROSS + n]);
  } while (n < ACROSS);
}
void rows_sum(inout float x[OWN_ROWS]) {
  share_rows(x);
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = 0;
  uint n = 0;
  [[dont_unroll]] do {
    [[unroll]] for (uint u = 0; u < UNROLL; ++u, ++n)
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] += staged[tile_row(r) * ACROSS + n];
  } while (n < ACROSS);
}

// Four columns from `column`, a multiple of four, of row `row` of m; beyond its ends some others.
vec4 load_four(Matrix m, uint row, uint column) {
  const uint at = min(row, m.count - 1) * m.stride + min(column, m.width - 4);
  return F32x4(uvec2(m.base)).v[at / 4];
}

// stage_transposed where rows can be loaded as vec4. No workgroup has more than two of them each.
void stage_transposed_wide(uint to, uint pitch, Matrix m, uint first, uint rows, uint column) {
  const uint quads = rows * DEPTH / 4, ACROSS_DEPTH = DEPTH / 4;
  vec4 x[2];
  [[unroll]] for (uint u = 0; u < 2; ++u)
    if (u * gl_WorkGroupSize.x < quads) {
      const uint i = gl_LocalInvocationID.x + u * gl_WorkGroupSize.x;
      const uint c = column + i % ACROSS_DEPTH * 4;
      x[u] = load_four(m, first + i / ACROSS_DEPTH, c);
      if (c >= m.width) x[u] = vec4(0);
    }
  [[unroll]] for (uint u = 0; u < 2; ++u)
    if (gl_LocalInvocationID.x + u * gl_WorkGroupSize.x < quads) {
      const uint i = gl_LocalInvocationID.x + u * gl_WorkGroupSize.x;
      [[unroll]] for (uint k = 0; k < 4; ++k)
        staged[to + (i % ACROSS_DEPTH * 4 + k) * pitch + i / ACROSS_DEPTH] = x[u][k];
    }
}

// Columns `column` .. + DEPTH - 1 of `rows` rows of m, transposed, 0 beyond the last column.
void stage_transposed(uint to, uint pitch, Matrix m, uint first, uint rows, uint column) {
  if (WIDE) {
    stage_transposed_wide(to, pitch, m, first, rows, column);
    return;
  }
  uint i = gl_LocalInvocationID.x;
  [[dont_unroll]] do {
    float x[UNROLL];  // loads that nothing waits for one by one
    [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
      const uint at = i + u * gl_WorkGroupSize.x, c = column + at % DEPTH;
      const uint row = min(first + at / DEPTH, m.count - 1) * m.stride;
      x[u] = m.base.v[row + min(c, m.width - 1)];
      if (c >= m.width) x[u] = 0;
    }
    [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
      const uint at = i + u * gl_WorkGroupSize.x;
      if (at < rows * DEPTH) staged[to + at % DEPTH * pitch + at / DEPTH] = x[u];
    }
    i += UNROLL * gl_WorkGroupSize.x;
  } while (i < rows * DEPTH);
}

// stage_rows where rows can be loaded as vec4. No workgroup has more than four of them each.
void stage_rows_wide(uint to, Matrix m, uint first, uint column) {
  const uint quads = TILE_COLS * BREADTH / 4, ACROSS_BREADTH = BREADTH / 4;
  vec4 x[4];
  [[unroll]] for (uint u = 0; u < 4; ++u)
    if (u * gl_WorkGroupSize.x < quads) {
      const uint i = gl_LocalInvocationID.x + u * gl_WorkGroupSize.x;
      x[u] = load_four(m, first + i / ACROSS_BREADTH, column + i % ACROSS_BREADTH * 4);
    }
  [[unroll]] for (uint u = 0; u < 4; ++u)
    if (gl_LocalInvocationID.x + u * gl_WorkGroupSize.x < quads)
      [[unroll]] for (uint k = 0; k < 4; ++k)
        staged[to + (gl_LocalInvocationID.x + u * gl_WorkGroupSize.x) * 4 + k] = x[u][k];
}

// Columns `column` .. + BREADTH - 1 of TILE_COLS rows of m; beyond the last column some others.
void stage_rows(uint to, Matrix m, uint first, uint column) {
  if (WIDE) {
    stage_rows_wide(to, m, first, column);
    return;
  }
  uint i = gl_LocalInvocationID.x;
  [[dont_unroll]] do {
    float x[UNROLL];
    [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
      const uint at = i + u * gl_WorkGroupSize.x;
      const uint row = min(first + at / BREADTH, m.count - 1) * m.stride;
      x[u] = m.base.v[row + min(column + at % BREADTH, m.width - 1)];
    }
    [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
      const uint at = i + u * gl_WorkGroupSize.x;
      if (at < TILE_COLS * BREADTH) staged[to + at] = x[u];
    }
    i += UNROLL * gl_WorkGroupSize.x;
  } while (i < TILE_COLS * BREADTH);
}

// dot_tile or distance_tile.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], Matrix a, uint a_first,
               Matrix b, uint b_first) {
  const uint b_staged = DEPTH * ROW_PITCH;
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) t[r][c] = 0;
  uint first = 0;
  [[dont_unroll]] do {
    barrier();
    stage_transposed(0, ROW_PITCH, a, a_first, TILE_ROWS, first);
    stage_transposed(b_staged, COL_PITCH, b, b_first, TILE_COLS, first);
    barrier();
    uint n = 0;
    [[dont_unroll]] do {
      [[unroll]] for (uint u = 0; u < UNROLL; ++u, ++n) {
        float y[OWN_COLS];
        [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
          y[c] = staged[b_staged + n * COL_PITCH + tile_col(c)];
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
          const float f = staged[n * ROW_PITCH + tile_row(r)];
          [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
            const float x = distances ? f - y[c] : f;
            t[r][c] += x * (distances ? x : y[c]);
          }
        }
      }
    } while (n < DEPTH);
    first += DEPTH;
  } while (first < a.width);
}

// The rows of m that the tile's rows stand for: loaded for each tile, since registers are scarce.
struct OwnRows {
  Matrix m;
  uint first;
};
void own_rows(out OwnRows own, Matrix m, uint first) { own = OwnRows(m, first); }

// The part of add_rows below that makes columns block * BREADTH .. + BREADTH - 1.
void add_block(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own, Matrix b,
               uint b_first, uint block) {
  float x[OWN_ROWS][OWN_COLS];
  if (from_own)
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
      const uint row = min(own.first + tile_row(r), own.m.count - 1) * own.m.stride;
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
        x[r][c] = own.m.base.v[row + min(sum_column(block * OWN_COLS + c), own.m.width - 1)];
    }
  const uint b_staged = TILE_ROWS * COL_PITCH;
  stage_rows(b_staged, b, b_first, block * BREADTH);
  barrier();
  uint token = 0;
  [[dont_unroll]] do {
    [[unroll]] for (uint u = 0; u < UNROLL; ++u, ++token) {
      float y[OWN_COLS];
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
        y[c] = staged[b_staged + token * BREADTH + sum_column(c)];
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
        const float f = staged[tile_row(r) * COL_PITCH + token];
        [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
          const float z = from_own ? y[c] - x[r][c] : y[c];
          sum[r][block * OWN_COLS + c] += f * z;
        }
      }
    }
  } while (token < TILE_COLS);
  barrier();
}

// add_weighted, or add_weighted_from.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  barrier();
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
      staged[tile_row(r) * COL_PITCH + tile_col(c)] = t[r][c];
  // Unrolled by hand: compilers keep a loop around loops, and `sum` would leave the registers.
  add_block(from_own, sum, own, b, b_first, 0);
  if (b.width > BREADTH) add_block(from_own, sum, own, b, b_first, 1);
  if (b.width > 2 * BREADTH) add_block(from_own, sum, own, b, b_first, 2);
  if (b.width > 3 * BREADTH) add_block(from_own, sum, own, b, b_first, 3);
}
