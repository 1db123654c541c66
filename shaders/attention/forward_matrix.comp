#version 450
//@types f16 bf16
//@kept
// attention/forward on matrix units: a workgroup takes TILE_ROWS queries and walks over the keys
// once. Weights are rounded to 16 bits before they are multiplied with values; their sum is not.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "common/types.glsl"
#define FILTRA_SIDES 1
#define FILTRA_TURNS 1
#define FILTRA_LINES WHOLE(VALUE)
#define FILTRA_SUMS LINES / MATRIX_N
#define FILTRA_IN_PLACE
// A row's factor. Each lane that shares the row stores it, in a place of its own, so there is no
// branch.
#define FILTRA_STATISTICS (LANES > MATRIX_M ? LANES / MATRIX_M : 1)
#include "attention/matrix.glsl"

// Lanes take rows of each strip, several each or several to one, of which then each takes some
// quads.
const uint OWN = MATRIX_M > LANES ? MATRIX_M / LANES : 1;
const uint SHARERS = FILTRA_STATISTICS;
const uint QUADS = TILE_COLS / 4 / SHARERS;
const uint ALL_OWN = STRIPS * OWN;
uint rows_on(uint r) { return r / OWN * MATRIX_M + r % OWN * LANES; } // from the first
uint own_row(uint r) { return strip(0) + rows_on(r) + gl_SubgroupInvocationID / SHARERS; }
uint sharer() { return gl_SubgroupInvocationID % SHARERS; }
uint own_quad(uint n) { return n * SHARERS + sharer(); }
bool first_sharer() { return sharer() == 0; }

float largest_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x = max(x, subgroupShuffleXor(x, step));
  return x;
}
float sum_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x += subgroupShuffleXor(x, step);
  return x;
}

// Weights by a known log-sum-exp are made e^RAISED times as large, so that small ones keep their
// digits in 16 bits.
const float RAISED = 8;

// In shared memory a lane's own part of an index comes first and the constant behind it, which
// compilers then make an offset of.
uint own_row_at() { return (strip(0) + gl_SubgroupInvocationID / SHARERS) * SCORE_PITCH; }
uint row_offset(uint r) { return rows_on(r) * SCORE_PITCH; }
vec4 own_scores(uint r, uint n) {
  return kept_floats(own_row_at() + sharer() + (SCORES_AT + row_offset(r) + n * SHARERS));
}
vec4 added_to_own(uint n) {
  return kept_floats(sharer() * SCORE_PITCH + (KEPT_AT + n * SHARERS * SCORE_PITCH));
}
void keep_own_weights(uint r, uint n, vec4 x) {
  if (SHARERS == 1)
    keep_quad(own_row_at() + (SCORES_AT + row_offset(r) + n / 2), 4 * n, packed(x));
  else
    keep_quad(own_row_at() + sharer() / 2 + (SCORES_AT + row_offset(r) + n * SHARERS / 2),
              4 * sharer(), packed(x));
}

// The scores of a lane's row r become weights, to be divided by the total later. `top` and scores
// are times LOG2_E. What is in STATISTICS_AT then has to be multiplied to the row's sums so far.
// word: see dropped.
void weigh_row(inout float top, inout float total, uint word, uint head, uint origin, uint query,
               uint key, uint r) {
  const uint row = own_row(r), i = query + row;
  vec4 x[QUADS];
  float largest = LOWEST;
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    const uint j = key + 4 * own_quad(n);
    const vec4 added = added_to_own(n);
    x[n] = own_scores(r, n);
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      x[n][l] = raised_score(x[n][l], origin, i, j + l) + added[l];
      largest = max(largest, x[n][l]);
    }
  }
  if (SHARERS > 1) meet_subgroup();
  if (!KNOWN) {
    const float next = max(top, largest_of_row(largest)), shrink = exp2(top - next);
    top = next;
    total *= shrink;
    keep_float(STATISTICS_AT + rows_on(r) / 4 + sharer() * STATISTICS, own_row(0), shrink);
  }
  [[unroll]] for (uint n = 0; n < QUADS; ++n) x[n] = exp2(x[n] - top);
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    [[unroll]] for (uint l = 0; l < 4; ++l) total += x[n][l];
    keep_own_weights(r, n, dropped(x[n], word, head * args.queries + i, key, own_quad(n)));
  }
}

// There is no branch around this, since compilers move all sums to and fro for one.
void shrink_sums(inout Sums sum[ALL_SUMS]) {
  Sums shrink[STRIPS];  // a row's factor in all of its columns
  [[unroll]] for (uint s = 0; s < STRIPS; ++s)
    coopMatLoad(shrink[s], groups, STATISTICS_AT + strip(s) / 4, 0, AS_COLUMNS);
  [[unroll]] for (uint i = 0; i < ALL_SUMS; ++i) sum[i] = sum[i] * shrink[i / OWN_SUMS];
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), k = like_k(args.k, b, h), v = like_v(args.v, b, h);
  Matrix y = like_y(args.result_0, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);

  Left rows[ROW_MATRICES];
  stage_rows(q, query, 0);
  meet();
  load_rows(rows);
  Sums zeros = zeros_behind(Sums(0.0));

  Sums sum[ALL_SUMS];
  clear_sums(sum, zeros);
  float top[ALL_OWN], total[ALL_OWN];
  uint word[ALL_OWN], word_at[ALL_OWN];
  [[unroll]] for (uint r = 0; r < ALL_OWN; ++r) {
    const uint i = head * args.queries + min(query + own_row(r), args.queries - 1);
    top[r] = KNOWN ? (args.lse.v[i] - RAISED) * LOG2_E : LOWEST / 2;
    total[r] = 0;
    word[r] = 0;
    word_at[r] = drawn_row(i);
  }

  Square next_k[LOADS], next_v[LOADS];
  clear_squares(next_k);
  clear_squares(next_v);
  load_groups(next_k, k, 0);
  load_squares(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_groups(STREAMED_AT, next_k);
      keep_squares_as_columns(COLUMNS_AT, next_v);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_groups(next_k, k, key + TILE_COLS);
      load_squares(next_v, v, key + TILE_COLS);
      [[unroll]] for (uint r = 0; r < ALL_OWN; ++r)
        if (DRAWN) word[r] = args.random.v[word_at[r] + key / 32];
      make_scores(rows, zeros);
      meet_subgroup();
      [[unroll]] for (uint r = 0; r < ALL_OWN; ++r)
        weigh_row(top[r], total[r], word[r], head, origin, query, key, r);
      meet_subgroup();
      if (KNOWN) {
        add_products(sum, SCORES_AT, COLUMNS_AT);
      } else {
        shrink_sums(sum);
        add_products_apart(sum, SCORES_AT, COLUMNS_AT, zeros);
      }
      key += TILE_COLS;
    } while (key < key_end);

  meet();
  [[unroll]] for (uint r = 0; r < ALL_OWN; ++r) {
    const uint i = query + own_row(r);
    float factor = exp(-RAISED);
    if (!KNOWN) {
      const float all = sum_of_row(total[r]);
      factor = all > 0 ? 1 / all : 0;
      if (first_sharer() && i < args.queries)
        args.lse.v[head * args.queries + i] = all > 0 ? (top[r] + log2(all)) / LOG2_E : 0;
    }
    if (first_sharer()) keep_float(STATISTICS_AT, own_row(r), factor * dropout_rise());
  }
  [[unroll]] for (uint first = 0; first < LINES; first += TILE_COLS) {
    meet();
    keep_sums_from(sum, first);
    meet();
    for (uint u = t; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4);
      if (first + 4 * quad < LINES)
        store_sums(y, query + row, first + 4 * quad,
                   kept_float(STATISTICS_AT, row) * scores(0, row, quad), false);
    }
  }
}
