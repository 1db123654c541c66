// Score tiles for GPUs: DOWN x ACROSS invocations, each with OWN_ROWS x 4 scores and row sums of
// OWN_ROWS x OWN_WIDTH in registers. Shared data pass through shared memory by vec4; there are no
// subgroup operations. The whole workgroup calls every function, and may do so while other
// invocations still read `staged`.
//
// GPUs hide latency with unrolled inner loops. Because of the barriers, CPU drivers' compilers need
// seconds for unrolled code, so loops stay loops, and UNROLL is the number of steps in a loop's
// body.
FT_CONSTANTS(attention_tiled_own)
const uint DOWN = gl_WorkGroupSize.x / ACROSS;
const uint OWN_COLS = 4;
const uint TILE_ROWS = DOWN * OWN_ROWS, TILE_COLS = ACROSS * OWN_COLS;
const uint BREADTH = TILE_COLS;  // columns of b staged at a time for weighted sums
const uint OWN_WIDTH = ((HEAD > VALUE ? HEAD : VALUE) + BREADTH - 1) / BREADTH * OWN_COLS;

// Columns of a and b staged at a time for dot products, and tokens of b for weighted sums.
// 32 if both widths use more than half of their last block of 32, else 16.
const uint DEPTH = 16 + 16 * ((HEAD - 1) / 16 % 2 & (VALUE - 1) / 16 % 2);
const uint TOKENS = 32;
const uint PAIR_STEPS = UNROLL < DEPTH / 4 ? UNROLL : DEPTH / 4;

// In vec4. Rows for dot products are padded by one vec4, so that neighbouring invocations read from
// different banks.
const uint PAIR_PITCH = DEPTH / 4 + 1, SUM_PITCH = TILE_COLS / 4;
const uint PAIR_SIZE = (TILE_ROWS + TILE_COLS) * PAIR_PITCH;
const uint SUM_SIZE = (TILE_ROWS + TOKENS) * SUM_PITCH;
shared vec4 staged[PAIR_SIZE > SUM_SIZE ? PAIR_SIZE : SUM_SIZE];

// The elements of a tile and of a block of row sums that this invocation holds.
uint across() { return gl_LocalInvocationID.x % ACROSS; }
uint tile_row(uint r) { return gl_LocalInvocationID.x / ACROSS * OWN_ROWS + r; }
uint tile_col(uint c) { return across() * OWN_COLS + c; }
uint sum_column(uint n) { return n / OWN_COLS * BREADTH + across() * OWN_COLS + n % OWN_COLS; }

// A vote would need a barrier of its own.
bool any_invocation(bool x) { return true; }

// Index of row r of this invocation in vec4 of the tile's rows.
uint row_quad(uint r) {
  return OWN_ROWS % 4 == 0 ? tile_row(0) / 4 + r / 4 : tile_row(r) / 4;
}
uint row_part(uint r) { return OWN_ROWS % 4 == 0 ? r % 4 : tile_row(r) % 4; }

// Sets x[r] to the sum or the maximum over the row's invocations.
void combine_rows(const bool largest, inout float x[OWN_ROWS]) {
  const uint pitch = (TILE_ROWS + 3) / 4;
  barrier();
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    staged[across() * pitch + row_quad(r)][row_part(r)] = x[r];
  barrier();
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) x[r] = largest ? LOWEST : 0;
  uint n = 0;
  [[dont_unroll]] do {
    [[unroll]] for (uint u = 0; u < UNROLL; ++u, ++n)
      [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
        const float one = staged[n * pitch + row_quad(r)][row_part(r)];
        x[r] = largest ? max(x[r], one) : x[r] + one;
      }
  } while (n < ACROSS);
}
void rows_max(inout float x[OWN_ROWS]) { combine_rows(true, x); }
void rows_sum(inout float x[OWN_ROWS]) { combine_rows(false, x); }

// Four columns from `column`, a multiple of four, of row `row` of m; past the last row, of the last
// row. Past the last column, unspecified columns. `wide` is WIDE, as a literal where it is known:
// what is unrolled then holds one of both ways.
vec4 load_four(const bool wide, Matrix m, uint row, uint column) {
  const uint at = min(row, m.count - 1) * m.stride;
  if (wide) return load_elements4(m.base, (at + min(column, m.width - 4)) / 4);
  vec4 x;
  [[unroll]] for (uint k = 0; k < 4; ++k)
    x[k] = load_element(m.base, at + min(column + k, m.width - 1));
  return x;
}

// Slot of a tile's column for dot products: neighbouring invocations across read adjacent slots.
uint column_slot(uint column) { return column % OWN_COLS * ACROSS + column / OWN_COLS; }

// A block of a matrix and its place in `staged`: vec4, `across` of them per row.
struct Part {
  Matrix m;
  uint first, column, count, across;
  uint to, pitch;
  bool slotted, padded;  // see column_slot; 0 past the last column, else unspecified
};

vec4 load_quad(const bool wide, Part p, uint i) {
  const uint column = p.column + 4 * (i % p.across);
  vec4 x = load_four(wide, p.m, p.first + i / p.across, column);
  if (p.padded)
    [[unroll]] for (uint k = 0; k < 4; ++k)
      if (column + k >= p.m.width) x[k] = 0;
  return x;
}

void store_quad(Part p, uint i, vec4 x) {
  const uint row = i / p.across;
  staged[p.to + (p.slotted ? column_slot(row) : row) * p.pitch + i % p.across] = x;
}

// With WIDE, all loads of vec4 are issued before the first is waited for. Otherwise, and on CPU
// drivers, a plain loop leaves less to compile.
void stage(Part p) {
  const uint MOST_ROUNDS = 8, rounds = (p.count + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
  if (!WIDE) {
    for (uint i = gl_LocalInvocationID.x; i < p.count; i += gl_WorkGroupSize.x)
      store_quad(p, i, load_quad(false, p, i));
    return;
  }
  vec4 x[MOST_ROUNDS];
  [[unroll]] for (uint u = 0; u < MOST_ROUNDS; ++u)
    if (u < rounds) x[u] = load_quad(true, p, gl_LocalInvocationID.x + u * gl_WorkGroupSize.x);
  [[unroll]] for (uint u = 0; u < MOST_ROUNDS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * gl_WorkGroupSize.x;
    if ((u + 1) * gl_WorkGroupSize.x <= p.count || (u < rounds && i < p.count))
      store_quad(p, i, x[u]);
  }
}

// The rows of m of the tile's rows: loaded again for each tile, since registers are scarce.
struct OwnRows {
  Matrix m;
  uint first;
};
void own_rows(out OwnRows own, Matrix m, uint first) { own = OwnRows(m, first); }

// dot_tile or distance_tile.
void pair_tile(const bool distances, out float t[OWN_ROWS][OWN_COLS], OwnRows own, Matrix b,
               uint b_first) {
  Matrix a = own.m;
  const uint b_staged = TILE_ROWS * PAIR_PITCH;
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) t[r][c] = 0;
  uint first = 0;
  [[dont_unroll]] do {
    const bool padded = a.width % DEPTH != 0;
    barrier();
    stage(Part(a, own.first, first, TILE_ROWS * DEPTH / 4, DEPTH / 4, 0, PAIR_PITCH, false,
               padded));
    stage(Part(b, b_first, first, TILE_COLS * DEPTH / 4, DEPTH / 4, b_staged, PAIR_PITCH, true,
               padded));
    barrier();
    uint n = 0, a_at = tile_row(0) * PAIR_PITCH, b_at = b_staged + across() * PAIR_PITCH;
    [[dont_unroll]] do {
      [[unroll]] for (uint u = 0; u < PAIR_STEPS; ++u) {
        vec4 y[OWN_COLS];
        [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
          y[c] = staged[b_at + c * ACROSS * PAIR_PITCH + u];
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
          const vec4 f = staged[a_at + r * PAIR_PITCH + u];
          [[unroll]] for (uint c = 0; c < OWN_COLS; ++c)
            [[unroll]] for (uint k = 0; k < 4; ++k) {
              const float x = distances ? f[k] - y[c][k] : f[k];
              t[r][c] += x * (distances ? x : y[c][k]);
            }
        }
      }
      n += PAIR_STEPS;
      a_at += PAIR_STEPS;
      b_at += PAIR_STEPS;
    } while (n < DEPTH / 4);
    first += DEPTH;
  } while (first < a.width);
}

// The part of add_rows below for columns block * BREADTH .. + BREADTH - 1.
void add_block(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own, Matrix b,
               uint b_first, uint block) {
  float x[OWN_ROWS][OWN_COLS];
  if (from_own)
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
      const uint column = sum_column(block * OWN_COLS);
      const vec4 four = load_four(WIDE, own.m, own.first + tile_row(r), column);
      [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) x[r][c] = four[c];
    }
  const uint b_staged = TILE_ROWS * SUM_PITCH;
  uint token = 0;
  [[dont_unroll]] do {
    stage(Part(b, b_first + token, block * BREADTH, TOKENS * SUM_PITCH, SUM_PITCH, b_staged,
               SUM_PITCH, false, false));
    barrier();
    uint n = 0, t_at = tile_row(0) * SUM_PITCH + token / 4, b_at = b_staged + across();
    [[dont_unroll]] do {
      [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
        vec4 y[4];
        [[unroll]] for (uint k = 0; k < 4; ++k) y[k] = staged[b_at + (4 * u + k) * SUM_PITCH];
        [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
          const vec4 f = staged[t_at + r * SUM_PITCH + u];
          [[unroll]] for (uint k = 0; k < 4; ++k)
            [[unroll]] for (uint c = 0; c < OWN_COLS; ++c) {
              const float z = from_own ? y[k][c] - x[r][c] : y[k][c];
              sum[r][block * OWN_COLS + c] += f[k] * z;
            }
        }
      }
      n += UNROLL;
      t_at += UNROLL;
      b_at += 4 * UNROLL * SUM_PITCH;
    } while (n < TOKENS / 4);
    token += TOKENS;
    barrier();
  } while (token < TILE_COLS);
}

// add_weighted, or add_weighted_from.
void add_rows(const bool from_own, inout float sum[OWN_ROWS][OWN_WIDTH], OwnRows own,
              float t[OWN_ROWS][OWN_COLS], Matrix b, uint b_first) {
  barrier();
  [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r)
    staged[tile_row(r) * SUM_PITCH + across()] = vec4(t[r][0], t[r][1], t[r][2], t[r][3]);
  // Unrolled by hand: compilers do not unroll a loop of loops, and `sum` would not stay in
  // registers.
  add_block(from_own, sum, own, b, b_first, 0);
  if (b.width > BREADTH) add_block(from_own, sum, own, b, b_first, 1);
  if (b.width > 2 * BREADTH) add_block(from_own, sum, own, b, b_first, 2);
  if (b.width > 3 * BREADTH) add_block(from_own, sum, own, b, b_first, 3);
}
