// Tiles of scores on matrix units, with numbers of 16 bits and sums in floats: a workgroup keeps
// TILE_ROWS rows of one matrix in its subgroups' registers, MATRIX_M each, and TILE_COLS rows of
// another stream past through shared memory, the next ones on their way meanwhile. Only matrix
// units see how a matrix lies in registers; what is done to single scores is done in shared memory.
//
// Of its includer it takes
//   FILTRA_SIDES  products that a tile has: 1, scores; 2, scores and those of dy with values, each
//                 made by every other subgroup, so that none holds rows of both
//   FILTRA_TURNS  streamed matrices that are multiplied along tokens, and so lie as columns, too
//   FILTRA_LINES  columns of these
//   FILTRA_SUMS   matrices of sums of a subgroup
//   FILTRA_MORE   groups of shared memory behind what is here; none where it is not defined
#include "common/matrix.glsl"
#include "attention/problem.glsl"

layout(constant_id = 11) const uint UNITS = 0x10101020u;
layout(constant_id = 12) const uint TILE_COLS = 32;  // a multiple of 8, MATRIX_N and MATRIX_K

const uint LANES = UNITS & 255, MATRIX_M = UNITS >> 8 & 255;
const uint MATRIX_N = UNITS >> 16 & 255, MATRIX_K = UNITS >> 24;
const uint SIDES = FILTRA_SIDES;
const uint INVOCATIONS = gl_WorkGroupSize.x, SUBGROUPS = INVOCATIONS / LANES;
const uint TILE_ROWS = SUBGROUPS / SIDES * MATRIX_M;

// Widths are filled up by zeros to whole matrices, and by whole ones to a pair where sides share
// the columns.
const uint UNIT = SIDES * MATRIX_N > MATRIX_K ? SIDES * MATRIX_N : MATRIX_K;
#define WHOLE(width) (((width) + UNIT - 1) / UNIT * UNIT)
const uint UPSTREAM = PAIRED ? 2 * VALUE : VALUE;  // columns of dy and of what it is multiplied by
const uint DEPTH = SIDES == 2 && UPSTREAM > HEAD ? WHOLE(UPSTREAM) : WHOLE(HEAD);
const uint LINES = FILTRA_LINES;

// Shared memory, in groups of 8 numbers or 4 floats; one group of padding spreads rows over the
// banks. In order: streamed rows, whose place the weights take when the products are made; the same
// as columns; scores; two numbers of each row or column; what is added to keys' scores; the
// includer's own. At first, the rows that stay.
const uint DEPTH_PITCH = DEPTH / 8 + 1, TOKEN_PITCH = TILE_COLS / 8 + 1;
const uint SCORE_PITCH = TILE_COLS / 4 + 1;
const uint WEIGHTS = TILE_ROWS * TOKEN_PITCH;
const uint STREAMED = TILE_COLS * DEPTH_PITCH > WEIGHTS ? TILE_COLS * DEPTH_PITCH : WEIGHTS;
const uint COLUMNS_AT = SIDES * STREAMED;
const uint SCORES_AT = COLUMNS_AT + FILTRA_TURNS * LINES * TOKEN_PITCH;
const uint SCORES = TILE_ROWS * SCORE_PITCH;
const uint STATISTICS = (TILE_ROWS > TILE_COLS ? TILE_ROWS : TILE_COLS) / 4;
const uint STATISTICS_AT = SCORES_AT + SIDES * SCORES, KEPT_AT = STATISTICS_AT + 2 * STATISTICS;
#ifndef FILTRA_MORE
#define FILTRA_MORE 0
#endif
const uint MORE_AT = KEPT_AT + STATISTICS, GROUPS = MORE_AT + FILTRA_MORE;
const uint ROWS_SIZE = SIDES * TILE_ROWS * DEPTH_PITCH;
shared uvec4 groups[GROUPS > ROWS_SIZE ? GROUPS : ROWS_SIZE];

#define Left coopmat<Number, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define Right coopmat<Number, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define Sums coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
#define AS_ROWS gl_CooperativeMatrixLayoutRowMajor
#define AS_COLUMNS gl_CooperativeMatrixLayoutColumnMajor

// The rows of the tile that a subgroup multiplies begin at this one; and its side.
uint strip() { return gl_SubgroupID / SIDES * MATRIX_M; }
uint side() { return gl_SubgroupID % SIDES; }

// ---- 16-bit numbers on their way to shared memory ----

// Four numbers of row `row`, of the last one beyond it, and 0 beyond the last column.
uvec2 load_quad(Matrix m, uint row, uint column) {
  const uint at = min(row, m.count - 1) * m.stride;
  if (WIDE) {
    const uvec2 x = Elements4(uvec2(m.base)).v[(at + min(column, m.width - 4)) / 4];
    return column < m.width ? x : uvec2(0);
  }
  uint x[4];
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    x[l] = uint(m.base.v[at + min(column + l, m.width - 1)]);
    if (column + l >= m.width) x[l] = 0;
  }
  return uvec2(x[0] | x[1] << 16, x[2] | x[3] << 16);
}

// 4 x 4 numbers. Square i of a tile of `height` rows begins here; neighbours lie below each other,
// so that what they store as columns is in different banks.
struct Square { uvec2 quad[4]; };
uint square_row(uint i, uint height) { return i % (height / 4) * 4; }
uint square_column(uint i, uint height) { return i / (height / 4) * 4; }

Square load_square(Matrix m, uint first, uint i, uint height) {
  Square s;
  [[unroll]] for (uint l = 0; l < 4; ++l)
    s.quad[l] = load_quad(m, first + square_row(i, height) + l, square_column(i, height));
  return s;
}

// A quad's half of a group.
void keep_quad(uint group, uint number, uvec2 quad) {
  groups[group][(number & 4) / 2] = quad.x;
  groups[group][(number & 4) / 2 + 1] = quad.y;
}

void keep_rows(uint to, uint pitch, uint i, uint height, Square s) {
  const uint row = square_row(i, height), column = square_column(i, height);
  [[unroll]] for (uint l = 0; l < 4; ++l)
    keep_quad(to + (row + l) * pitch + column / 8, column, s.quad[l]);
}

void keep_columns(uint to, uint i, Square s) {
  const uint row = square_row(i, TILE_COLS), column = square_column(i, TILE_COLS);
  const uvec2 columns[4] = turned(s.quad[0], s.quad[1], s.quad[2], s.quad[3]);
  [[unroll]] for (uint l = 0; l < 4; ++l)
    keep_quad(to + (column + l) * TOKEN_PITCH + row / 8, row, columns[l]);
}

// The rows that stay, all of them at once.
void stage_rows(Matrix m, uint first, uint to) {
  for (uint i = gl_LocalInvocationID.x; i < TILE_ROWS / 4 * (DEPTH / 4); i += INVOCATIONS)
    keep_rows(to, DEPTH_PITCH, i, TILE_ROWS, load_square(m, first, i, TILE_ROWS));
}

// A streamed matrix's rows `first` .. + TILE_COLS - 1, as many columns as any is multiplied by.
const uint BREADTH = DEPTH > LINES ? DEPTH : LINES;
const uint SQUARES = TILE_COLS / 4 * (BREADTH / 4);
const uint LOADS = (SQUARES + INVOCATIONS - 1) / INVOCATIONS;
void load_squares(inout Square next[LOADS], Matrix m, uint first) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u)
    next[u] = load_square(m, first, gl_LocalInvocationID.x + u * INVOCATIONS, TILE_COLS);
}
void keep_squares_as_rows(uint to, inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    if (i < TILE_COLS / 4 * (DEPTH / 4)) keep_rows(to, DEPTH_PITCH, i, TILE_COLS, next[u]);
  }
}
void keep_squares_as_columns(uint to, inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    if (i < TILE_COLS / 4 * (LINES / 4)) keep_columns(to, i, next[u]);
  }
}

// ---- products ----

// The subgroup's rows, from where stage_rows has put its side's.
const uint DEEP = DEPTH / MATRIX_K;
void load_rows(inout Left rows[DEEP]) {
  const uint from = (side() * TILE_ROWS + strip()) * DEPTH_PITCH;
  [[unroll]] for (uint d = 0; d < DEEP; ++d)
    coopMatLoad(rows[d], groups, from + d * MATRIX_K / 8, DEPTH_PITCH, AS_ROWS);
}

// Puts a matrix of sums among the subgroup's scores.
void keep_sums(Sums x, uint column) {
  coopMatStore(x, groups, SCORES_AT + side() * SCORES + strip() * SCORE_PITCH + column / 4,
               SCORE_PITCH, AS_ROWS);
}

// The subgroup's rows of a tile: products with all of its side's streamed rows.
void make_scores(inout Left rows[DEEP]) {
  const uint ACROSS = TILE_COLS / MATRIX_N;
  Sums product[ACROSS];
  [[unroll]] for (uint j = 0; j < ACROSS; ++j) product[j] = Sums(0.0);
  [[unroll]] for (uint d = 0; d < DEEP; ++d)
    [[unroll]] for (uint j = 0; j < ACROSS; ++j) {
      Right streamed;
      coopMatLoad(streamed, groups,
                  side() * STREAMED + j * MATRIX_N * DEPTH_PITCH + d * MATRIX_K / 8, DEPTH_PITCH,
                  AS_COLUMNS);
      product[j] = coopMatMulAdd(rows[d], streamed, product[j]);
    }
  [[unroll]] for (uint j = 0; j < ACROSS; ++j) keep_sums(product[j], j * MATRIX_N);
}

// sum += the subgroup's rows of weights, or of what is like them, times columns of streamed rows.
const uint OWN_SUMS = FILTRA_SUMS;
void add_products(inout Sums sum[OWN_SUMS], uint weights, uint columns) {
  [[unroll]] for (uint j = 0; j < TILE_COLS; j += MATRIX_K) {
    Left left;
    coopMatLoad(left, groups, weights + strip() * TOKEN_PITCH + j / 8, TOKEN_PITCH, AS_ROWS);
    [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) {
      Right right;
      coopMatLoad(right, groups, columns + n * MATRIX_N * TOKEN_PITCH + j / 8, TOKEN_PITCH,
                  AS_COLUMNS);
      sum[n] = coopMatMulAdd(left, right, sum[n]);
    }
  }
}

// ---- single numbers of a tile ----

void keep_float(uint at, uint i, float x) { groups[at + i / 4][i % 4] = floatBitsToUint(x); }
float kept_float(uint at, uint i) { return uintBitsToFloat(groups[at + i / 4][i % 4]); }
vec4 kept_floats(uint at) { return uintBitsToFloat(groups[at]); }

// Four of a side's scores.
vec4 scores(uint which, uint row, uint quad) {
  return kept_floats(SCORES_AT + which * SCORES + row * SCORE_PITCH + quad);
}

// What is added to scores of `count` keys: 0, or for padding so little that they weigh nothing.
void keep_keys(uint b, uint first, uint count) {
  for (uint i = gl_LocalInvocationID.x; i < count; i += INVOCATIONS)
    keep_float(KEPT_AT, i, key_kept(b, first + i) ? 0 : -3.4e38);
}
float masked_score(float product, float added, uint origin, uint query, uint key) {
  return score(causally_seen(query, key), product, origin, query, key) + added;
}

// exp(s - shift), with the shift times LOG2_E: a multiply-add before the exponential.
const float LOG2_E = 1.4426950408889634;
float weight_from(float s, float shift) { return exp2(s * LOG2_E - shift); }

// Rounded to nearest.
uvec2 packed(vec4 x) {
#if FT_BF16
  return uvec2(half_pack(x.xy), half_pack(x.zw));
#else
  return uvec2(packFloat2x16(f16vec2(x.xy)), packFloat2x16(f16vec2(x.zw)));
#endif
}

// Four weights of row `row`.
void keep_weights(uint to, uint row, uint quad, vec4 x) {
  keep_quad(to + row * TOKEN_PITCH + quad / 2, 4 * quad, packed(x));
}

// Dropout's factor, as kept or not: matrix units get weights of at most their own size, and sums
// the rest.
vec4 undropped(vec4 x, vec4 factors) {
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (factors[l] == 0) x[l] = 0;
  return x;
}
float dropout_rise() { return 1 / (1 - RATE); }

// Four sums of a row of results.
void store_sums(Matrix m, uint row, uint column, vec4 x, bool add) {
  if (row >= m.count || column >= m.width) return;
  const uint at = row * m.stride + column;
  if (WIDE) {
    if (add) x += load_elements4(m.base, at / 4);
    store_elements4(m.base, at / 4, x);
    return;
  }
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (column + l < m.width)
      store_element(m.base, at + l, add ? load_element(m.base, at + l) + x[l] : x[l]);
}
