// C = A B for CPU drivers (s64.glsl) whose compiler keeps numbers that are the same in all lanes as
// scalars, as lavapipe's of Mesa 26. Every address is the same in all lanes: A's elements are
// loaded once, and one vector load of each lane choosing its own among adjacent elements of B
// remains: no gathers. An operand is read where it is if it is F32 and, if B, not transposed and a
// whole number of tiles wide. Otherwise it is in panels. The last tile of rows of an A that is read
// where it is ends with A and overlaps the one before it, which stores the rows that both have.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant plain -DPLAIN=1
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#define STORES_IN_LOOP 0 // its tiles have few rows
#define UNIFORM_LOADS 1
#include "gemm/s64.glsl"

#define A_LINE (shape(GEMM_PACKED_A) ? ROWS : p.lda) // A transposed
#define B_LINE (shape(GEMM_PACKED_B) ? PAIRS * ACROSS : p.ldb)

// Columns first + lane and first + WIDTH + lane of a line of B, or of a panel's line the columns
// first + 2 lane and the next, in each lane. `first` is a constant.
vec2 own_columns(F32 line, const uint first, uint lane) {
  return vec2(own_of(line, first, ~0u, lane), own_of(line, first + WIDTH, ~0u, lane));
}

// Column `c` of 2 WIDTH, from what lanes hold by own_columns. `c` is a constant.
float column_of(vec2 x, const uint c) {
  return c < WIDTH ? subgroupBroadcast(x.x, c) : subgroupBroadcast(x.y, c - WIDTH);
}

// Columns 2 lane and the next, of which a lane stores pairs.
vec2 adjacent(vec2 x, uint lane) {
  vec2 y = x;
  [[unroll]] for (uint i = 0; i < WIDTH; i++)
    y = lane == i ? vec2(column_of(x, 2 * i), column_of(x, 2 * i + 1)) : y;
  return y;
}

uint a_row[ROWS]; // where the tile's rows of A begin, after its first one; A not transposed

float line_sum[(ROWS + WIDTH - 1) / WIDTH]; // of row i * WIDTH + lane of A, transposed

// Adds `count` terms to every sum, from A's column or line at a and B's line at b on.
void add_lines(const uint count, F32 a, F32 b, uint lane) {
  vec2 own[STEP][PAIRS];
  [[unroll]] for (uint kk = 0; kk < count; kk++) {
    if (shape(GEMM_ROW_SUMS)) {
      [[unroll]] for (uint row = 0; row < ROWS; row += WIDTH)
        line_sum[row / WIDTH] += own_of(after(a, kk * A_LINE), row, ROWS - 1, lane);
    }
    [[unroll]] for (uint j = 0; j < PAIRS; j++)
      own[kk][j] = own_columns(after(b, kk * B_LINE), j * ACROSS, lane);
  }
  [[unroll]] for (uint i = 0; i < ROWS; i++) {
    [[unroll]] for (uint kk = 0; kk < count; kk++) {
      const vec2 x = vec2(shape(GEMM_TRANSPOSED_A) ? after(a, kk * A_LINE).v[i]
                                                   : after(a, a_row[i]).v[kk]);
      [[unroll]] for (uint j = 0; j < PAIRS; j++)
        sum[i * PAIRS + j] = fma(x, own[kk][j], sum[i * PAIRS + j]);
    }
  }
}

// Adds the terms of the part of K to a tile whose first row is m.
void add_part(Place at, uint m, uint tile_column, uint lane) {
  const uint columns = PAIRS * ACROSS;
  const uint first = shape(GEMM_PACKED_A) ? m * p.k : shape(GEMM_TRANSPOSED_A) ? m : m * p.lda;
  const uint along = shape(GEMM_TRANSPOSED_A) ? A_LINE : 1;
  F32 a = after(p.a, at.a + first);
  F32 b = after(p.b, at.b + tile_column * columns * (shape(GEMM_PACKED_B) ? p.k : 1));
  [[unroll]] for (uint i = 0; i < ROWS; i++) a_row[i] = i * p.lda;
  uint k = at.k_first, k_whole = k + (at.k_end - k) / STEP * STEP;
  if (k < k_whole) {
    do {
      add_lines(STEP, after(a, k * along), after(b, k * B_LINE), lane);
      k += STEP;
    } while (k < k_whole);
  }
  if (shape(GEMM_K_TAIL) && k < at.k_end) {
    do {
      add_lines(1, after(a, k * along), after(b, k * B_LINE), lane);
      k++;
    } while (k < at.k_end);
  }
  if (!shape(GEMM_PACKED_B)) {
    [[unroll]] for (uint i = 0; i < ROWS * PAIRS; i++) sum[i] = adjacent(sum[i], lane);
  }
}

void store_line_sums(uint m, uint lane) {
  [[unroll]] for (uint row = 0; row < ROWS; row += WIDTH) {
    if (row + lane < ROWS && has_row(m + row + lane))
      store_row_sum(m + row + lane, line_sum[row / WIDTH]);
  }
}

void main() {
  uint lane = gl_SubgroupInvocationID;
  uvec2 tile = tile_of_c();
  own_row = tile.x * ROWS;
  const uint m = shape(GEMM_PACKED_A) ? own_row : min(own_row, p.m - ROWS);
  const uint n = tile.y * (PAIRS * ACROSS) + 2 * lane;
  Place at = place(gl_WorkGroupID.z);
  [[unroll]] for (uint i = 0; i < ROWS * PAIRS; i++) sum[i] = vec2(0);
  [[unroll]] for (uint row = 0; row < ROWS; row += WIDTH) line_sum[row / WIDTH] = 0;
  add_part(at, m, tile.y, lane);
  store_sums(at, m, n, lane);
  if (shape(GEMM_ROW_SUMS) && tile.y == 0) store_line_sums(m, lane);
}
