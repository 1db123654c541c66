// C = A B for CPU drivers, without shared memory or barriers: one subgroup per workgroup computes
// ROWS x (2 * subgroup size) elements, each lane ROWS rows of 2 adjacent columns. On such drivers
// a load is a gather that costs as much as some 25 multiply-adds, whether 4 or 8 bytes wide. So B
// is loaded once for all rows, A once for all lanes (one lane each, then broadcast), both in pairs.
//
// Edges of M and N load from the last valid row or column and are not stored; what is left of K
// after whole steps is added one k at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#extension GL_KHR_shader_subgroup_basic : require
#include "common/from_lane.glsl"
#include "common/types.glsl"
#include "gemm/gemm.glsl"
#include "common/pairs.glsl"

const uint WIDTH = gl_WorkGroupSize.x; // lanes
const uint STEP = 2 * WIDTH;           // of K: one pair per lane
const uint A_LOADS = (ROWS + STEP - 1) / STEP; // pairs of rows per lane and k, A transposed
const bool wide_a = (SHAPE & WIDE_A) != 0, wide_b = (SHAPE & WIDE_B) != 0;
#if FT_F16 || FT_BF16
const bool narrow_a = (SHAPE & PACKED_A) == 0, narrow_b = (SHAPE & PACKED_B) == 0; // panels are F32
#else
const bool narrow_a = false, narrow_b = false;
#endif
// Pairs of A per lane in one step: one for each row, or (transposed) A_LOADS for each k.
const uint A_PAIRS = (SHAPE & TRANSPOSED_A) != 0 ? A_LOADS * STEP : ROWS;

// Wide operands are indexed in pairs, others in elements: unit(wide, i) is element i's index.
uint unit(bool wide, uint i) { return wide ? i >> 1 : i; }

// Element i, given as unit(wide, i), and the one `next` units further, if the operand is not wide.
vec2 load_pair(const bool narrow, F32 from, bool wide, uint i, uint next) {
  if (wide) return load_two(narrow, from, i);
  return vec2(load_one(narrow, from, i), load_one(narrow, from, i + next));
}

// Index along an axis of `count` elements that is loaded in pairs: what lies behind the end is
// replaced by the last pair, or the last element (then `next` is 0). Wide: count is even.
uint clamp_pair(bool wide, uint i, uint count, out uint next) {
  next = i + 1 < count ? 1 : 0;
  return min(i, wide ? count - 2 : count - 1);
}

// As store, for columns n and n + 1; N is even, so one block of random words covers both.
void store_pair(Place at, uvec4 random, uint m, uint n, vec2 sum, vec2 bias) {
  uint i = at.c + m * p.ldc + n;
  vec2 x = p.scale * sum + bias;
  if (epilogue(STORE_Z)) store_two(narrow_c, p.z, i >> 1, x);
  x = vec2(activate(ACTIVATION, as_stored(x.x)), activate(ACTIVATION, as_stored(x.y)));
  if (epilogue(DROPOUT)) {
    uint element = dropout_element(at, m, n);
    uvec4 words = dropout_words(random, p.op_id, element / 4);
    uvec2 word = (element & 2) == 0 ? words.xy : words.zw;
    x *= vec2(dropout_factor(word.x, p.rate), dropout_factor(word.y, p.rate));
  }
  if (epilogue(RESIDUAL)) x += load_two(false, p.residual, i >> 1);
  if (epilogue(ACCUMULATE)) x += load_two(narrow_c, p.c, i >> 1);
  store_two(narrow_c, p.c, i >> 1, x);
}

// What a lane keeps: its sums, and the indices of what it loads next.
vec2 sum[ROWS];            // columns n and n + 1 of every row
uint a_index[ROWS];        // this lane's pair of each row, or (transposed) of each group of rows
uint a_next[ROWS];         // see clamp_pair
uint b_index, b_index_odd; // this lane's columns, or (transposed) a pair of k in either
uint b_next;

void begin(Place at, uint m, uint n, uint lane) {
  if (!shape(TRANSPOSED_A)) {
    [[unroll]] for (uint i = 0; i < ROWS; i++) {
      uint row = at.a + min(m + i, p.m - 1) * p.lda;
      a_index[i] = unit(wide_a, row + at.k_first + 2 * lane);
      a_next[i] = 1;
    }
  } else {
    // A panel begins at its tile's row 0 and has all rows of a tile.
    uint first = shape(PACKED_A) ? 0 : m, count = shape(PACKED_A) ? ROWS : p.m;
    uint from = at.a + at.k_first * p.lda + (shape(PACKED_A) ? m * p.k : 0);
    [[unroll]] for (uint i = 0; i < A_LOADS; i++) {
      uint pair = clamp_pair(wide_a, first + i * STEP + 2 * lane, count, a_next[i]);
      a_index[i] = unit(wide_a, from + pair);
    }
  }
  if (shape(PACKED_B)) {
    b_next = 1;
    b_index = unit(wide_b, at.b + (n - 2 * lane) * p.k + at.k_first * p.ldb + 2 * lane);
  } else if (!shape(TRANSPOSED_B)) {
    uint pair = clamp_pair(wide_b, n, p.n, b_next);
    b_index = unit(wide_b, at.b + at.k_first * p.ldb + pair);
  } else {
    b_next = 1;
    b_index = unit(wide_b, at.b + min(n, p.n - 1) * p.ldb + at.k_first);
    b_index_odd = unit(wide_b, at.b + min(n + 1, p.n - 1) * p.ldb + at.k_first);
  }
  [[unroll]] for (uint i = 0; i < ROWS; i++) sum[i] = vec2(0);
}

// STEP terms of every sum. A is loaded ahead for all of them: taken from memory where it is spilled
// to, a lane's value costs less than taken from a register that was loaded just now.
void add_step(F32 a_from, F32 b_from, uint a_stride, uint b_stride) {
  vec2 a[A_PAIRS], b, b_odd;
  [[unroll]] for (uint i = 0; i < A_PAIRS; i++) {
    uint j = shape(TRANSPOSED_A) ? i % A_LOADS : i;
    a[i] = load_pair(narrow_a, a_from, wide_a, a_index[j], a_next[j]);
    a_index[j] += shape(TRANSPOSED_A) ? a_stride : unit(wide_a, STEP);
  }
  [[unroll]] for (uint kk = 0; kk < STEP; kk++) {
    if (!shape(TRANSPOSED_B)) {
      b = load_pair(narrow_b, b_from, wide_b, b_index, b_next);
      b_index += b_stride;
    } else if ((kk & 1) == 0) {
      vec2 even = load_pair(narrow_b, b_from, wide_b, b_index, 1);
      vec2 odd = load_pair(narrow_b, b_from, wide_b, b_index_odd, 1);
      b = vec2(even.x, odd.x);
      b_odd = vec2(even.y, odd.y);
      b_index += unit(wide_b, 2);
      b_index_odd += unit(wide_b, 2);
    } else {
      b = b_odd;
    }
    [[unroll]] for (uint i = 0; i < ROWS; i++) {
      float x = shape(TRANSPOSED_A)
                    ? from_lane(a[kk * A_LOADS + i / STEP][i & 1], (i % STEP) >> 1)
                    : from_lane(a[i][kk & 1], kk >> 1);
      sum[i] += x * b;
    }
  }
}

// The terms from k on, fewer than STEP.
void add_tail(F32 a_from, F32 b_from, Place at, uint m, uint n, uint k) {
  uint a_step = shape(TRANSPOSED_A) ? p.lda : 1, b_step = shape(TRANSPOSED_B) ? 1 : p.ldb;
  uint row_step = shape(TRANSPOSED_A) ? 1 : p.lda, column_step = shape(TRANSPOSED_B) ? p.ldb : 1;
  uint b0 = at.b + min(n, p.n - 1) * column_step, b1 = at.b + min(n + 1, p.n - 1) * column_step;
  uint a0 = at.a, first = m, last = p.m - 1;
  if (shape(PACKED_A)) {
    a0 += m * p.k;
    first = 0;
    last = ROWS - 1;
  }
  if (shape(PACKED_B)) {
    uint lane = n % (2 * WIDTH);
    b0 = at.b + (n - lane) * p.k + lane;
    b1 = b0 + 1;
  }
  k = min(k, at.k_end - 1); // where a skipped branch is run all the same, loads stay inside
  do {
    vec2 b = vec2(load_one(narrow_b, b_from, b0 + k * b_step),
                  load_one(narrow_b, b_from, b1 + k * b_step));
    [[unroll]] for (uint i = 0; i < ROWS; i++)
      sum[i] += load_one(narrow_a, a_from, a0 + min(first + i, last) * row_step + k * a_step) * b;
    k++;
  } while (k < at.k_end);
}

void store_rows(Place at, uint m, uint n) {
  uvec4 random = random_state();
  vec2 bias_pair = vec2(bias(n), bias(min(n + 1, p.n - 1)));
  [[unroll]] for (uint i = 0; i < ROWS; i++) {
    if (m + i < p.m) {
      if (shape(WIDE_C)) {
        store_pair(at, random, m + i, n, sum[i], bias_pair);
      } else {
        store(at, random, m + i, n, sum[i].x, bias_pair.x);
        if (n + 1 < p.n) store(at, random, m + i, n + 1, sum[i].y, bias_pair.y);
      }
    }
  }
}

void main() {
  uint lane = gl_SubgroupInvocationID;
  uint m = gl_WorkGroupID.x * ROWS, n = gl_WorkGroupID.y * (2 * WIDTH) + 2 * lane;
  Place at = place(gl_WorkGroupID.z);
  begin(at, m, n, lane);

  // Kept out of the loop: a push constant costs a checked load.
  F32 a_from = p.a, b_from = p.b;
  uint a_stride = unit(wide_a, p.lda), b_stride = unit(wide_b, p.ldb);
  uint k = at.k_first, k_whole = k + (at.k_end - k) / STEP * STEP;
  if (k < k_whole) {
    do {
      add_step(a_from, b_from, a_stride, b_stride);
      k += STEP;
    } while (k < k_whole);
  }
  if (shape(K_TAIL) && k < at.k_end) add_tail(a_from, b_from, at, m, n, k);
  if (n < p.n) store_rows(at, m, n);
}
