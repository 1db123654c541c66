// C = A B for CPU drivers, whose lanes share loads by shuffles (s64.glsl). There a load is a gather
// that costs as much as about 25 multiply-adds, whether 4 or 8 bytes wide. So each element of B is
// loaded once for all rows, and each of A once for all lanes (by one lane, then broadcast), both in
// pairs.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant plain -DPLAIN=1
#extension GL_KHR_shader_subgroup_basic : require
#include "common/from_lane.glsl"
#define STORES_IN_LOOP !PLAIN
#include "gemm/s64.glsl"

const uint LINE = STEP / 2;     // lanes that load a row of A
const uint DOWN = WIDTH / LINE; // rows of A that all lanes load at once
const uint ACROSS_A = (ROWS + ACROSS - 1) / ACROSS; // loads for each k, A transposed
const uint A_LOADS = (SHAPE & GEMM_TRANSPOSED_A) != 0 ? ACROSS_A * STEP : (ROWS + DOWN - 1) / DOWN;
const uint A_PLACES = (SHAPE & GEMM_TRANSPOSED_A) != 0 ? ACROSS_A : A_LOADS;
// Rows whose sums a step updates at a time: their sums take 16 registers.
const uint GROUP = 4 / PAIRS;
const bool wide_a = (SHAPE & GEMM_WIDE_A) != 0, wide_b = (SHAPE & GEMM_WIDE_B) != 0;
#if FT_F16 || FT_BF16
// Panels are F32.
const bool narrow_a = (SHAPE & GEMM_PACKED_A) == 0, narrow_b = (SHAPE & GEMM_PACKED_B) == 0;
#else
const bool narrow_a = false, narrow_b = false;
#endif

// Index of element i: wide operands are indexed in pairs, others in elements.
uint unit(bool wide, uint i) { return wide ? i >> 1 : i; }

// The pair at index i = unit(wide, ..); of an operand that is not wide, elements i and i + next.
vec2 load_pair(const bool narrow, F32 from, bool wide, uint i, uint next) {
  if (wide) return load_two(narrow, from, i);
  return vec2(load_one(narrow, from, i), load_one(narrow, from, i + next));
}

// Clamps an index along an axis of `count` elements that is loaded in pairs. Indices past the end
// load the last pair, or twice the last element (then `next` is 0). Wide: count is even.
uint clamp_pair(bool wide, uint i, uint count, out uint next) {
  next = i + 1 < count ? 1 : 0;
  return min(i, wide ? count - 2 : count - 1);
}

// The state of a lane beside its sums: the indices of its loads in the first step.
uint a_place[A_PLACES];   // a pair of k of a row, or (transposed) a pair of rows
uint a_next[A_PLACES];    // see clamp_pair
uint b_place[PAIRS];      // a pair of columns, or (transposed) a pair of k in the even one
uint b_place_odd[PAIRS];
uint b_next[PAIRS];
vec2 row_sum[A_PLACES];   // of the pairs of rows that the lane loads
// 0, but the compiler does not know: a shuffle by a constant takes two instructions, by a variable
// one.
uint hidden;

void begin(Place at, uint m, uint n, uint lane) {
  hidden = p.m >> 31;
  if (!shape(GEMM_TRANSPOSED_A)) {
    [[unroll]] for (uint i = 0; i < A_PLACES; i++) {
      uint row = at.a + min(m + i * DOWN + lane / LINE, p.m - 1) * p.lda;
      a_place[i] = unit(wide_a, row + at.k_first + 2 * (lane % LINE));
      a_next[i] = 1;
    }
  } else {
    // A panel begins at its tile's row 0 and contains all rows of the tile.
    uint first = shape(GEMM_PACKED_A) ? 0 : m, count = shape(GEMM_PACKED_A) ? ROWS : p.m;
    uint from = at.a + at.k_first * p.lda + (shape(GEMM_PACKED_A) ? m * p.k : 0);
    [[unroll]] for (uint i = 0; i < A_PLACES; i++) {
      uint pair = clamp_pair(wide_a, first + i * ACROSS + 2 * lane, count, a_next[i]);
      a_place[i] = unit(wide_a, from + pair);
    }
  }
  [[unroll]] for (uint j = 0; j < PAIRS; j++) {
    uint even = column(n, j);
    b_next[j] = 1;
    if (shape(GEMM_PACKED_B)) {
      uint first = at.b + (n - 2 * lane) * p.k + at.k_first * p.ldb;
      b_place[j] = unit(wide_b, first + column(2 * lane, j));
    } else if (!shape(GEMM_TRANSPOSED_B)) {
      uint pair = clamp_pair(wide_b, even, p.n, b_next[j]);
      b_place[j] = unit(wide_b, at.b + at.k_first * p.ldb + pair);
    } else {
      b_place[j] = unit(wide_b, at.b + min(even, p.n - 1) * p.ldb + at.k_first);
      b_place_odd[j] = unit(wide_b, at.b + min(even + 1, p.n - 1) * p.ldb + at.k_first);
    }
  }
  [[unroll]] for (uint i = 0; i < ROWS * PAIRS; i++) sum[i] = vec2(0);
  [[unroll]] for (uint i = 0; i < A_PLACES; i++) row_sum[i] = vec2(0);
}

// Broadcasts a lane's x, as from_lane.
float spread(float x, uint lane) { return from_lane(x, WIDTH == 8 ? lane + hidden : lane); }

// Adds x times all columns of b to row i's sums.
void add_row(uint i, float x, vec2 b[PAIRS]) {
  [[unroll]] for (uint j = 0; j < PAIRS; j++) sum[i * PAIRS + j] += x * b[j];
}

// Adds STEP terms to every sum, from operands `a_along` and `b_along` units past the first step.
// All loads come first, into memory, so that the sums of GROUP rows stay in registers for the whole
// step.
void add_step(F32 a_from, F32 b_from, uint a_along, uint b_along, uint a_stride, uint b_stride) {
  vec2 a[A_LOADS], b[STEP][PAIRS];
  [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
    uint j = i % A_PLACES;
    a[i] = load_pair(narrow_a, a_from, wide_a, a_place[j] + a_along + i / A_PLACES * a_stride,
                     a_next[j]);
    if (shape(GEMM_ROW_SUMS)) row_sum[j] += a[i];
  }
  [[unroll]] for (uint kk = 0; kk < STEP; kk += shape(GEMM_TRANSPOSED_B) ? 2 : 1) {
    [[unroll]] for (uint j = 0; j < PAIRS; j++) {
      if (!shape(GEMM_TRANSPOSED_B)) {
        b[kk][j] = load_pair(narrow_b, b_from, wide_b, b_place[j] + b_along + kk * b_stride,
                             b_next[j]);
      } else {
        uint along = b_along + unit(wide_b, kk);
        vec2 even = load_pair(narrow_b, b_from, wide_b, b_place[j] + along, 1);
        vec2 odd = load_pair(narrow_b, b_from, wide_b, b_place_odd[j] + along, 1);
        b[kk][j] = vec2(even.x, odd.x);
        b[kk + 1][j] = vec2(even.y, odd.y);
      }
    }
  }
  [[unroll]] for (uint group = 0; group < ROWS; group += GROUP) {
    [[unroll]] for (uint kk = 0; kk < STEP; kk++) {
      [[unroll]] for (uint r = 0; r < GROUP; r++) {
        uint i = group + r;
        float x = shape(GEMM_TRANSPOSED_A)
                      ? spread(a[kk * A_PLACES + i / ACROSS][i & 1], (i % ACROSS) >> 1)
                      : spread(a[i / DOWN][kk & 1], i % DOWN * LINE + (kk >> 1));
        add_row(i, x, b[kk]);
      }
    }
  }
}

// Adds the elements of A at one k to the row sums; `from`: index of row 0's element.
void add_rows_at(F32 a_from, uint from, uint first, uint last, uint lane) {
  [[unroll]] for (uint i = 0; i < A_PLACES; i++) {
    uint even = min(first + i * ACROSS + 2 * lane, last), odd = min(even + 1, last);
    row_sum[i] += vec2(load_one(narrow_a, a_from, from + even),
                       load_one(narrow_a, a_from, from + odd));
  }
}

// Adds the terms from k on, fewer than STEP. For each k a lane loads an element of every WIDTH-th
// row.
void add_tail(F32 a_from, F32 b_from, Place at, uint m, uint n, uint lane, uint k) {
  const uint loads = (ROWS + WIDTH - 1) / WIDTH;
  uint a_step = shape(GEMM_TRANSPOSED_A) ? p.lda : 1, b_step = shape(GEMM_TRANSPOSED_B) ? 1 : p.ldb;
  uint row_step = shape(GEMM_TRANSPOSED_A) ? 1 : p.lda;
  uint column_step = shape(GEMM_TRANSPOSED_B) ? p.ldb : 1;
  uint a0 = at.a, first = m, last = p.m - 1;
  if (shape(GEMM_PACKED_A)) {
    a0 += m * p.k;
    first = 0;
    last = ROWS - 1;
  }
  uint b0 = at.b, column0 = n, last_column = p.n - 1;
  if (shape(GEMM_PACKED_B)) {
    b0 += (n - 2 * lane) * p.k;
    column0 = 2 * lane;
    last_column = PAIRS * ACROSS - 1;
  }
  k = min(k, at.k_end - 1); // keeps loads in bounds if the driver executes the skipped branch
  do {
    vec2 b[PAIRS];
    float a[loads];
    [[unroll]] for (uint j = 0; j < PAIRS; j++) {
      uint even = min(column(column0, j), last_column), odd = min(even + 1, last_column);
      b[j] = vec2(load_one(narrow_b, b_from, b0 + even * column_step + k * b_step),
                  load_one(narrow_b, b_from, b0 + odd * column_step + k * b_step));
    }
    [[unroll]] for (uint i = 0; i < loads; i++) {
      uint row = min(first + i * WIDTH + lane, last);
      a[i] = load_one(narrow_a, a_from, a0 + row * row_step + k * a_step);
    }
    if (shape(GEMM_ROW_SUMS)) add_rows_at(a_from, a0 + k * a_step, first, last, lane);
    [[unroll]] for (uint i = 0; i < ROWS; i++) add_row(i, spread(a[i / WIDTH], i % WIDTH), b);
    k++;
  } while (k < at.k_end);
}

void store_row_sums(uint m, uint lane) {
  [[unroll]] for (uint i = 0; i < A_PLACES; i++) {
    uint even = i * ACROSS + 2 * lane;
    if (even >= ROWS) continue;
    store_row_sum(m + even, row_sum[i].x);
    store_row_sum(m + even + 1, row_sum[i].y);
  }
}

// Adds the terms of the part of K.
void add_part(Place at, uint m, uint n, uint lane) {
  // Hoisted out of the loop: reading a push constant is a load with a bounds check.
  F32 a_from = p.a, b_from = p.b;
  uint a_stride = unit(wide_a, p.lda), b_stride = unit(wide_b, p.ldb);
  uint a_step = shape(GEMM_TRANSPOSED_A) ? STEP * a_stride : unit(wide_a, STEP);
  uint b_step = shape(GEMM_TRANSPOSED_B) ? unit(wide_b, STEP) : STEP * b_stride;
  uint k = at.k_first, k_whole = k + (at.k_end - k) / STEP * STEP, a_along = 0, b_along = 0;
  if (k < k_whole) {
    do {
      add_step(a_from, b_from, a_along, b_along, a_stride, b_stride);
      a_along += a_step;
      b_along += b_step;
      k += STEP;
    } while (k < k_whole);
  }
  if (shape(GEMM_K_TAIL) && k < at.k_end) add_tail(a_from, b_from, at, m, n, lane, k);
}

void main() {
  uint lane = gl_SubgroupInvocationID;
  uvec2 tile = tile_of_c();
  uint m = tile.x * ROWS, n = tile.y * (PAIRS * ACROSS) + 2 * lane;
  Place at = place(gl_WorkGroupID.z);
  begin(at, m, n, lane);
  add_part(at, m, n, lane);
  store_sums(at, m, n, lane);
  if (shape(GEMM_ROW_SUMS) && tile.y == 0) store_row_sums(m, lane);
}
