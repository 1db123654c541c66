// Tiles of scores on matrix units, with numbers of 16 bits and sums in floats: a workgroup keeps
// TILE_ROWS rows of one matrix in its subgroups' registers, STRIPS times MATRIX_M each, and has
// TILE_COLS rows of another stream past through shared memory, the next ones on their way
// meanwhile. Only matrix units see how a matrix lies in registers; what is done to single scores is
// done in shared memory.
//
// Of its includer it takes
//   FILTRA_SIDES       products that a tile has: 1, scores; 2, scores and those of dy with values,
//                      each made by every other subgroup, so that none holds rows of both
//   FILTRA_TURNS       streamed matrices that are multiplied along tokens, and so lie as columns,
//                      too
//   FILTRA_LINES       columns of these
//   FILTRA_SUMS        matrices of sums of a subgroup
//   FILTRA_IN_PLACE    where this is defined, weights, or what is like them, lie in their scores'
//                      place, else in that of the streamed rows
//   FILTRA_STATISTICS  numbers of each row or column in shared memory
//   FILTRA_STATISTICS_LAST  where this is defined, these lie behind the scores, else first
//   FILTRA_AT_ONCE     most matrices that are loaded before the first is multiplied with weights;
//                      one where it is not defined
//   FILTRA_MORE        groups of shared memory behind what is here; none where it is not defined
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "common/matrix.glsl"
#include "attention/problem.glsl"

FT_CONSTANTS(attention_matrix_own)

const uint LANES = UNITS & 255, MATRIX_M = UNITS >> 8 & 255;
const uint MATRIX_N = UNITS >> 16 & 255, MATRIX_K = UNITS >> 24;
#include "common/units.glsl"
const uint SIDES = FILTRA_SIDES;
const uint INVOCATIONS = gl_WorkGroupSize.x, SUBGROUPS = INVOCATIONS / LANES;
const uint STRIPS = OWN_ROWS;  // of MATRIX_M rows of the tile, for a subgroup
const uint TILE_ROWS = SUBGROUPS / SIDES * STRIPS * MATRIX_M;

// Widths are filled up by zeros to whole matrices, and by whole ones to a pair where sides share
// the columns.
const uint UNIT = SIDES * MATRIX_N > MATRIX_K ? SIDES * MATRIX_N : MATRIX_K;
#define WHOLE(width) (((width) + UNIT - 1) / UNIT * UNIT)
const uint UPSTREAM = PAIRED ? 2 * VALUE : VALUE;  // columns of dy and of what it is multiplied by
const uint DEPTH = SIDES == 2 && UPSTREAM > HEAD ? WHOLE(UPSTREAM) : WHOLE(HEAD);
const uint LINES = FILTRA_LINES;

// Shared memory, in groups of 8 numbers or 4 floats; one group of padding spreads rows over the
// banks. In order: numbers of each row or column, first since AMD's compiler loads two at a time
// from small offsets; streamed rows, whose place the weights may take when the products are made;
// the same as columns; scores, and in the padding of their rows what is added to keys' scores; the
// includer's own. At first, the rows that stay.
const uint DEPTH_PITCH = DEPTH / 8 + 1, TOKEN_PITCH = TILE_COLS / 8 + 1;
const uint SCORE_PITCH = TILE_COLS / 4 + 1;
#ifdef FILTRA_IN_PLACE
const uint WEIGHT_PITCH = SCORE_PITCH, STREAMED = TILE_COLS * DEPTH_PITCH;
#else
const uint WEIGHT_PITCH = TOKEN_PITCH, WEIGHTS = TILE_ROWS * WEIGHT_PITCH;
const uint STREAMED = TILE_COLS * DEPTH_PITCH > WEIGHTS ? TILE_COLS * DEPTH_PITCH : WEIGHTS;
#endif
const uint STATISTICS = (TILE_ROWS > TILE_COLS ? TILE_ROWS : TILE_COLS) / 4;
#ifdef FILTRA_STATISTICS_LAST
const uint AHEAD = 0, BEHIND = FILTRA_STATISTICS * STATISTICS;
#else
const uint AHEAD = FILTRA_STATISTICS * STATISTICS, BEHIND = 0;
#endif
const uint STREAMED_AT = AHEAD;
const uint COLUMNS_AT = STREAMED_AT + SIDES * STREAMED;
const uint SCORES_AT = COLUMNS_AT + FILTRA_TURNS * LINES * TOKEN_PITCH;
const uint SCORES = TILE_ROWS * SCORE_PITCH, KEPT_AT = SCORES_AT + TILE_COLS / 4;
#ifndef FILTRA_MORE
#define FILTRA_MORE 0
#endif
const uint SCORES_END = SCORES_AT + SIDES * SCORES, STATISTICS_AT = BEHIND > 0 ? SCORES_END : 0;
const uint MORE_AT = SCORES_END + BEHIND, GROUPS = MORE_AT + FILTRA_MORE;
const uint ROWS_SIZE = SIDES * TILE_ROWS * DEPTH_PITCH;
shared uvec4 groups[GROUPS > ROWS_SIZE ? GROUPS : ROWS_SIZE];

// Where only a subgroup's own lanes and matrices see what is in shared memory.
void meet_subgroup() {
  controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

// The rows of the tile that a subgroup multiplies begin at this one, its strips; and its side.
uint strip(uint s) { return (gl_SubgroupID / SIDES * STRIPS + s) * MATRIX_M; }
uint side() { return gl_SubgroupID % SIDES; }

// ---- 16-bit numbers on their way to shared memory ----

// Where row first + row begins, or the last one instead. What all lanes share comes first; the rest
// is small, a lane's own and the same for each tile.
uint row_start(Matrix m, uint first, uint row) {
  const uint start = min(first, m.count - 1);
  return start * m.stride + min(row * m.stride, (m.count - 1 - start) * m.stride);
}

// The address of element i of a tensor, which is below 2^31: a base for all lanes and 32 bits of a
// lane's own, as loads take them.
uint64_t address(Elements base, uint i) {
  return packUint2x32(uvec2(base)) + uint64_t(ELEMENT_BYTES * i);
}

// Four numbers of the row that begins at element `at`; where rows are whole fours.
uvec2 load_whole_quad(Matrix m, uint at, uint column) {
  return Elements4(address(m.base, at + column)).v[0];
}

// The same of any rows, and 0 beyond the last column.
uvec2 load_quad_at(Matrix m, uint at, uint column) {
  if (WIDE) {
    const uvec2 x = load_whole_quad(m, at, min(column, m.width - 4));
    return column < m.width ? x : uvec2(0);
  }
  uint x[4];
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    x[l] = uint(m.base.v[at + min(column + l, m.width - 1)]);
    if (column + l >= m.width) x[l] = 0;
  }
  return uvec2(x[0] | x[1] << 16, x[2] | x[3] << 16);
}
// `within`: no column is beyond the last.
uvec2 load_from(Matrix m, uint at, uint column, bool within) {
  if (WIDE && within) return load_whole_quad(m, at, column);
  return load_quad_at(m, at, column);
}
uvec2 load_quad(Matrix m, uint row, uint column) {
  return load_quad_at(m, row_start(m, row, 0), column);
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
// Whether there is a square i of `width` columns.
bool square_there(uint i, uint width) {
  const uint COUNT = TILE_COLS / 4 * (width / 4);
  return LOADS * INVOCATIONS <= COUNT || i < COUNT;
}
// Before the first load: squares that are not there are loaded never and copied all the same.
void clear_squares(inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u)
    [[unroll]] for (uint l = 0; l < 4; ++l) next[u].quad[l] = uvec2(0);
}
void load_squares(inout Square next[LOADS], Matrix m, uint first) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    const uint row = square_row(i, TILE_COLS), column = square_column(i, TILE_COLS);
    if (!square_there(i, BREADTH)) continue;
    [[unroll]] for (uint l = 0; l < 4; ++l)
      next[u].quad[l] = load_from(m, row_start(m, first, row + l), column, m.width >= BREADTH);
  }
}
void keep_squares_as_rows(uint to, inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    if (square_there(i, DEPTH)) keep_rows(to, DEPTH_PITCH, i, TILE_COLS, next[u]);
  }
}
void keep_squares_as_columns(uint to, inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    if (square_there(i, LINES)) keep_columns(to, i, next[u]);
  }
}

// Two streamed matrices of as many squares, one behind the other, so that each lane has as many of
// them where there are more lanes than squares of one.
const uint BOTH_LOADS = (2 * SQUARES + INVOCATIONS - 1) / INVOCATIONS;
uint square_of_both(uint u) { return gl_LocalInvocationID.x + u * INVOCATIONS; }
bool of_second(uint u) {
  return SQUARES % INVOCATIONS == 0 ? u >= SQUARES / INVOCATIONS : square_of_both(u) >= SQUARES;
}
bool both_there(uint u) {
  return 2 * SQUARES % INVOCATIONS == 0 || square_of_both(u) < 2 * SQUARES;
}
uint its_square(uint u) { return square_of_both(u) - (of_second(u) ? SQUARES : 0); }
Matrix either(Matrix a, Matrix b, bool second) {
  return Matrix(Elements(mix(uvec2(a.base), uvec2(b.base), bvec2(second))),
                second ? b.count : a.count, second ? b.width : a.width,
                second ? b.stride : a.stride);
}
void clear_both(inout Square next[BOTH_LOADS]) {
  [[unroll]] for (uint u = 0; u < BOTH_LOADS; ++u)
    [[unroll]] for (uint l = 0; l < 4; ++l) next[u].quad[l] = uvec2(0);
}
void load_both(inout Square next[BOTH_LOADS], Matrix a, Matrix b, uint first) {
  [[unroll]] for (uint u = 0; u < BOTH_LOADS; ++u) {
    Matrix m = either(a, b, of_second(u));
    const uint i = its_square(u);
    const uint row = square_row(i, TILE_COLS), column = square_column(i, TILE_COLS);
    if (!both_there(u)) continue;
    [[unroll]] for (uint l = 0; l < 4; ++l)
      next[u].quad[l] = load_from(m, row_start(m, first, row + l), column,
                                  a.width >= BREADTH && b.width >= BREADTH);
  }
}
// Where a lane's squares of both go: as rows from STREAMED_AT on and as columns from COLUMNS_AT on,
// those of the second matrix behind the first's. Found before the loop, since NVIDIA's compiler
// takes nothing out of one.
struct Places { uint row[BOTH_LOADS], column[BOTH_LOADS]; };
void find_places(out Places to) {
  [[unroll]] for (uint u = 0; u < BOTH_LOADS; ++u) {
    const uint i = its_square(u), second = of_second(u) ? 1 : 0;
    const uint row = square_row(i, TILE_COLS), column = square_column(i, TILE_COLS);
    to.row[u] = STREAMED_AT + second * STREAMED + row * DEPTH_PITCH + column / 8;
    to.column[u] = COLUMNS_AT + (second * LINES + column) * TOKEN_PITCH + row / 8;
  }
}
void keep_both(inout Places to, inout Square next[BOTH_LOADS]) {
  [[unroll]] for (uint u = 0; u < BOTH_LOADS; ++u) {
    const uint i = its_square(u);
    const uint row = square_row(i, TILE_COLS), column = square_column(i, TILE_COLS);
    Square s = next[u];
    if (both_there(u) && (DEPTH == BREADTH || i < TILE_COLS / 4 * (DEPTH / 4)))
      [[unroll]] for (uint l = 0; l < 4; ++l)
        keep_quad(to.row[u] + l * DEPTH_PITCH, column, s.quad[l]);
    const uvec2 columns[4] = turned(s.quad[0], s.quad[1], s.quad[2], s.quad[3]);
    if (both_there(u) && (LINES == BREADTH || i < TILE_COLS / 4 * (LINES / 4)))
      [[unroll]] for (uint l = 0; l < 4; ++l)
        keep_quad(to.column[u] + l * TOKEN_PITCH, row, columns[l]);
  }
}

// A streamed matrix that goes to shared memory as rows alone: in groups of 8 numbers, if rows are
// whole eights. Two of them take a square's place.
const uint ROW_GROUPS = TILE_COLS * (DEPTH / 8);
const uint ROW_LOADS = (ROW_GROUPS + INVOCATIONS - 1) / INVOCATIONS;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Elements8 { uvec4 v[]; };
bool row_group_there(uint i) { return ROW_GROUPS % INVOCATIONS == 0 || i < ROW_GROUPS; }
uint row_group(uint n) { return gl_LocalInvocationID.x + n * INVOCATIONS; }
void load_groups(inout Square next[LOADS], Matrix m, uint first) {
  if (!EIGHTS) {
    load_squares(next, m, first);
    return;
  }
  [[unroll]] for (uint n = 0; n < ROW_LOADS; ++n) {
    const uint i = row_group(n), row = i / (DEPTH / 8), column = i % (DEPTH / 8) * 8;
    if (!row_group_there(i)) continue;
    const uint inside = m.width < DEPTH ? min(column, m.width - 8) : column;
    uvec4 x = Elements8(address(m.base, row_start(m, first, row) + inside)).v[0];
    if (m.width < DEPTH && column >= m.width) x = uvec4(0);
    next[n / 2].quad[n % 2 * 2] = x.xy;
    next[n / 2].quad[n % 2 * 2 + 1] = x.zw;
  }
}
void keep_groups(uint to, inout Square next[LOADS]) {
  if (!EIGHTS) {
    keep_squares_as_rows(to, next);
    return;
  }
  [[unroll]] for (uint n = 0; n < ROW_LOADS; ++n) {
    const uint i = row_group(n);
    if (row_group_there(i))
      groups[to + i / (DEPTH / 8) * DEPTH_PITCH + i % (DEPTH / 8)] =
          uvec4(next[n / 2].quad[n % 2 * 2], next[n / 2].quad[n % 2 * 2 + 1]);
  }
}

// ---- products ----

// The subgroup's rows, strip by strip, from where stage_rows has put its side's.
const uint DEEP = DEPTH / MATRIX_K, ROW_MATRICES = STRIPS * DEEP;
void load_rows(inout Left rows[ROW_MATRICES]) {
  [[unroll]] for (uint i = 0; i < ROW_MATRICES; ++i)
    coopMatLoad(rows[i], groups,
                (side() * TILE_ROWS + strip(i / DEEP)) * DEPTH_PITCH + i % DEEP * MATRIX_K / 8,
                DEPTH_PITCH, AS_ROWS);
}

// Puts a matrix of sums among the scores of the subgroup's strip s.
void keep_sums(Sums x, uint s, uint column) {
  coopMatStore(x, groups,
               side() * SCORES + strip(0) * SCORE_PITCH +
                   (SCORES_AT + s * MATRIX_M * SCORE_PITCH + column / 4),
               SCORE_PITCH, AS_ROWS);
}

// The subgroup's rows of a tile: products with all of its side's streamed rows.
void make_scores(inout Left rows[ROW_MATRICES], Sums zeros) {
  const uint ACROSS = TILE_COLS / MATRIX_N;
  Sums product[STRIPS * ACROSS];
  [[unroll]] for (uint i = 0; i < STRIPS * ACROSS; ++i) product[i] = zeros;
  [[unroll]] for (uint d = 0; d < DEEP; ++d)
    [[unroll]] for (uint j = 0; j < ACROSS; ++j) {
      Right streamed;
      coopMatLoad(streamed, groups,
                  STREAMED_AT + side() * STREAMED + j * MATRIX_N * DEPTH_PITCH + d * MATRIX_K / 8,
                  DEPTH_PITCH, AS_COLUMNS);
      [[unroll]] for (uint s = 0; s < STRIPS; ++s)
        product[s * ACROSS + j] =
            coopMatMulAdd(rows[s * DEEP + d], streamed, product[s * ACROSS + j]);
    }
  [[unroll]] for (uint i = 0; i < STRIPS * ACROSS; ++i)
    keep_sums(product[i], i / ACROSS, i % ACROSS * MATRIX_N);
}

const uint OWN_SUMS = FILTRA_SUMS, ALL_SUMS = STRIPS * OWN_SUMS;
void clear_sums(out Sums sum[ALL_SUMS], Sums zeros) {
  [[unroll]] for (uint n = 0; n < ALL_SUMS; ++n) sum[n] = zeros_behind(n > 0 ? sum[n - 1] : zeros);
}

// sum += the subgroup's rows of weights, or of what is like them, times columns of streamed rows.
void load_weights(inout Left left, uint weights, uint s, uint j) {
  coopMatLoad(left, groups, weights + strip(s) * WEIGHT_PITCH + j / 8, WEIGHT_PITCH, AS_ROWS);
}
void load_column(inout Right right, uint columns, uint n, uint j) {
  coopMatLoad(right, groups, columns + n * MATRIX_N * TOKEN_PITCH + j / 8, TOKEN_PITCH, AS_COLUMNS);
}
const uint ALONG = TILE_COLS / MATRIX_K;
#ifndef FILTRA_AT_ONCE
#define FILTRA_AT_ONCE 0
#endif
void add_products(inout Sums sum[ALL_SUMS], uint weights, uint columns) {
  if (STRIPS == 1 && ALONG * OWN_SUMS <= FILTRA_AT_ONCE) {
    Left left[ALONG];
    Right right[ALONG * OWN_SUMS];
    [[unroll]] for (uint j = 0; j < ALONG; ++j) load_weights(left[j], weights, 0, j * MATRIX_K);
    [[unroll]] for (uint i = 0; i < ALONG * OWN_SUMS; ++i)
      load_column(right[i], columns, i % OWN_SUMS, i / OWN_SUMS * MATRIX_K);
    [[unroll]] for (uint i = 0; i < ALONG * OWN_SUMS; ++i)
      sum[i % OWN_SUMS] = coopMatMulAdd(left[i / OWN_SUMS], right[i], sum[i % OWN_SUMS]);
    return;
  }
  [[unroll]] for (uint j = 0; j < TILE_COLS; j += MATRIX_K) {
    Left left[STRIPS];
    [[unroll]] for (uint s = 0; s < STRIPS; ++s) load_weights(left[s], weights, s, j);
    [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) {
      Right right;
      load_column(right, columns, n, j);
      [[unroll]] for (uint s = 0; s < STRIPS; ++s)
        sum[s * OWN_SUMS + n] = coopMatMulAdd(left[s], right, sum[s * OWN_SUMS + n]);
    }
  }
}

// The same to sums that something was done to since they were last added to. Small ones would be
// moved to where a matrix may begin, so each product is a sum of its own there and added to them.
void add_products_apart(inout Sums sum[ALL_SUMS], uint weights, uint columns, Sums zeros) {
  if (!SUMS_ARE_SMALL) {
    add_products(sum, weights, columns);
    return;
  }
  Left left[STRIPS * ALONG];
  [[unroll]] for (uint i = 0; i < STRIPS * ALONG; ++i)
    load_weights(left[i], weights, i / ALONG, i % ALONG * MATRIX_K);
  [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) {
    Right right[ALONG];
    [[unroll]] for (uint j = 0; j < ALONG; ++j) load_column(right[j], columns, n, j * MATRIX_K);
    [[unroll]] for (uint s = 0; s < STRIPS; ++s) {
      Sums product = zeros;
      [[unroll]] for (uint j = 0; j < ALONG; ++j)
        product = coopMatMulAdd(left[s * ALONG + j], right[j], product);
      sum[s * OWN_SUMS + n] = sum[s * OWN_SUMS + n] + product;
    }
  }
}

// Puts columns `first` .. + TILE_COLS - 1 of the sums, those that there are, among the scores.
void keep_sums_from(inout Sums sum[ALL_SUMS], uint first) {
  [[unroll]] for (uint s = 0; s < STRIPS; ++s)
    [[unroll]] for (uint n = 0; n < TILE_COLS; n += MATRIX_N)
      if (first + n < OWN_SUMS * MATRIX_N)
        keep_sums(sum[s * OWN_SUMS + (first + n) / MATRIX_N], s, n);
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
  [[unroll]] for (uint n = 0; n < (count + INVOCATIONS - 1) / INVOCATIONS; ++n) {
    const uint i = gl_LocalInvocationID.x + n * INVOCATIONS;
    if (i < count)
      keep_float(KEPT_AT + i / 4 * SCORE_PITCH, i % 4, key_kept(b, first + i) ? 0 : -3.4e38);
  }
}
// Of four keys from 4 quad on, and of one.
vec4 added_to_keys(uint quad) { return kept_floats(KEPT_AT + quad * SCORE_PITCH); }
float added_to_key(uint i) { return kept_float(KEPT_AT + i / 4 * SCORE_PITCH, i % 4); }
float masked_score(float product, float added, uint origin, uint query, uint key) {
  return score(causally_seen(query, key), product, origin, query, key) + added;
}

// exp(s - shift), with the shift times LOG2_E: a multiply-add before the exponential.
const float LOG2_E = 1.4426950408889634;
float weight_from(float s, float shift) { return exp2(s * LOG2_E - shift); }

// A score times LOG2_E, of which exp2 makes a weight; of an unseen pair as for padding.
float raised_score(float product, uint origin, uint query, uint key) {
  float s = product * (SCALE * LOG2_E);
  if (BIASED) s += LOG2_E * bias(origin, query, key);
  return causally_seen(query, key) ? s : -3.4e38;
}

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
  keep_quad(to + row * WEIGHT_PITCH + quad / 2, 4 * quad, packed(x));
}

// Backwards, four columns of several rows are an invocation's.
const uint ROWS_APART = INVOCATIONS / (TILE_COLS / 4);
const uint OWN_TILE_ROWS = (TILE_ROWS + ROWS_APART - 1) / ROWS_APART;
uint in_tile() { return gl_SubgroupID * LANES + gl_SubgroupInvocationID; }
uint tile_quad() { return in_tile() % (TILE_COLS / 4); }
uint tile_row(uint n) { return in_tile() / (TILE_COLS / 4) + n * ROWS_APART; }
bool tile_row_there(uint n) { return TILE_ROWS % ROWS_APART == 0 || tile_row(n) < TILE_ROWS; }

// Dropout's factor, as kept or not: matrix units get weights of at most their own size, and sums
// the rest.
vec4 undropped(vec4 x, vec4 factors) {
  [[unroll]] for (uint l = 0; l < 4; ++l)
    if (factors[l] == 0) x[l] = 0;
  return x;
}
float dropout_rise() { return 1 / (1 - RATE); }

// x where this bit of the word is set, else 0.
float where_set(float x, uint word, uint bit) {
  return uintBitsToFloat(floatBitsToUint(x) & uint(bitfieldExtract(int(word), int(bit), 1)));
}

// Where attention/dropout's words of row `row` of [B,H,Nq] begin.
uint drawn_row(uint row) { return row * ((args.keys + 31) / 32); }

// Of a row's word of keys, the bits from those of a tile's quad on. Tiles of 32 keys or fewer lie
// within a word.
uint quad_bits(uint word, uint key, uint quad) {
  return word >> 4 * (TILE_COLS < 32 ? (key / 4 + quad) % 8 : quad);
}

// Four of a row's numbers as dropout keeps them, but for its rise. `word`: where DRAWN, the row's.
vec4 dropped(vec4 x, uint word, uint row, uint key, uint quad) {
  if (RATE == 0) return x;
  if (!DRAWN) return undropped(x, dropout_factors(row, key / 4 + quad));
  const uint bits = quad_bits(word, key, quad);
  [[unroll]] for (uint l = 0; l < 4; ++l) x[l] = where_set(x[l], bits, l);
  return x;
}

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
