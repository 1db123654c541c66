// C = A B for CPU drivers (s64.glsl) whose compiler keeps numbers that are the same in all lanes as
// scalars, as lavapipe's of Mesa 26. Every address is the same in all lanes: A's elements are
// loaded once, and one vector load of each lane choosing its own among adjacent elements of B
// remains: no gathers, no shuffles. An operand is read where it is if it is F32 and, if A, either
// not transposed or a whole number of tiles high; if B, not transposed, aligned to pairs and a
// whole number of tiles wide. Otherwise it is in panels.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant plain -DPLAIN=1
#extension GL_KHR_shader_subgroup_basic : require
#define STORES_IN_LOOP 0 // its tiles have few rows
#include "gemm/s64.glsl"
#include "common/uniform.glsl"

#define A_LINE (shape(GEMM_PACKED_A) ? ROWS : p.lda) // A transposed
#define B_LINE (shape(GEMM_PACKED_B) ? PAIRS * ACROSS : p.ldb)

// Columns first + 2 lane and the next of a line of B in each lane. `first` is a constant.
vec2 own_columns(F32 line, const uint first, uint lane) {
  if (shape(GEMM_PACKED_B))
    return vec2(own_of(line, first, ~0u, lane), own_of(line, first + WIDTH, ~0u, lane));
  return own_pair(line, first, lane);
}

uint a_row[ROWS]; // where the tile's rows of A begin, behind its first one; A not transposed

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

// Adds the terms of the part of K. The tile is the one in row tile.x and column tile.y of C's.
void add_part(Place at, uvec2 tile, uint lane) {
  const uint columns = PAIRS * ACROSS, m = tile.x * ROWS;
  const uint first = shape(GEMM_PACKED_A) ? m * p.k : shape(GEMM_TRANSPOSED_A) ? m : m * p.lda;
  const uint along = shape(GEMM_TRANSPOSED_A) ? A_LINE : 1;
  F32 a = after(p.a, at.a + first);
  F32 b = after(p.b, at.b + tile.y * columns * (shape(GEMM_PACKED_B) ? p.k : 1));
  const uint rows = shape(GEMM_WHOLE_TILES) ? ROWS : p.m - m;
  [[unroll]] for (uint i = 0; i < ROWS; i++) a_row[i] = min(i, rows - 1) * p.lda;
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
}

void store_line_sums(uint m, uint lane) {
  [[unroll]] for (uint row = 0; row < ROWS; row += WIDTH)
    if (row + lane < ROWS) store_row_sum(m + row + lane, line_sum[row / WIDTH]);
}

void main() {
  uint lane = gl_SubgroupInvocationID;
  uvec2 tile = tile_of_c();
  uint m = tile.x * ROWS, n = tile.y * (PAIRS * ACROSS) + 2 * lane;
  Place at = place(gl_WorkGroupID.z);
  [[unroll]] for (uint i = 0; i < ROWS * PAIRS; i++) sum[i] = vec2(0);
  [[unroll]] for (uint row = 0; row < ROWS; row += WIDTH) line_sum[row / WIDTH] = 0;
  add_part(at, tile, lane);
  store_sums(at, m, n, lane);
  if (shape(GEMM_ROW_SUMS) && tile.y == 0) store_line_sums(m, lane);
}
