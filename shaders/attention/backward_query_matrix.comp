#version 450
//@types f16 bf16
//@kept
// attention/backward_query on matrix units: one of two subgroups makes the scores of their rows,
// the other the products of dy with values; each then sums half of dq's columns. dS is rounded to
// 16 bits.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_SIDES 2
#define FILTRA_TURNS 1
#define FILTRA_LINES WHOLE(HEAD)
#define FILTRA_SUMS LINES / 2 / MATRIX_N
#define FILTRA_IN_PLACE
#define FILTRA_STATISTICS 0
#include "attention/matrix.glsl"
#include "attention/upstream.glsl"

// Of an invocation's rows.
struct Rows {
  float shift[OWN_TILE_ROWS], delta[OWN_TILE_ROWS];     // log-sum-exp times LOG2_E, <dy, y>
  uint word[OWN_TILE_ROWS], word_at[OWN_TILE_ROWS];  // see dropped, and where they are from
};

void load_statistics(out Rows own, uint head, uint query) {
  [[unroll]] for (uint n = 0; n < OWN_TILE_ROWS; ++n) {
    const uint i = head * args.queries + min(query + tile_row(n), args.queries - 1);
    own.shift[n] = args.lse.v[i] * LOG2_E;
    own.delta[n] = args.delta.v[i];
    own.word[n] = 0;
    own.word_at[n] = drawn_row(i);
  }
}

// The tile's dS = P * (dropout * (dy v^T) - delta), in the place of the scores. A row's quads are
// read by neighbours.
void differentiate_scores(inout Rows own, uint head, uint origin, uint query, uint key) {
  const uint quad = tile_quad(), j = key + 4 * quad;
  const vec4 added = added_to_keys(quad);
  vec4 ds[OWN_TILE_ROWS];
  [[unroll]] for (uint n = 0; n < OWN_TILE_ROWS; ++n) {
    if (!tile_row_there(n)) continue;
    const uint row = tile_row(n), i = query + row;
    const vec4 s = scores(0, row, quad);
    const vec4 upstream =
        dropped(scores(1, row, quad), own.word[n], head * args.queries + i, key, quad);
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      const float p = exp2(raised_score(s[l], origin, i, j + l) + (added[l] - own.shift[n]));
      ds[n][l] = p * (upstream[l] * dropout_rise() - own.delta[n]);
    }
  }
  if (LANES % (TILE_COLS / 4) == 0)
    meet_subgroup();
  else
    meet();
  [[unroll]] for (uint n = 0; n < OWN_TILE_ROWS; ++n)
    if (tile_row_there(n)) keep_weights(SCORES_AT, tile_row(n), quad, ds[n]);
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix k = like_k(args.k, b, h), v = values(b, h), dq = like_q(args.result_0, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);

  Left rows[ROW_MATRICES];
  stage_rows(like_q(args.q, b, h), query, 0);
  stage_rows(upstream(b, h), query, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();  // not needed, but AMD's compiler then moves less from register to register
  Sums zeros = zeros_behind(Sums(0.0));

  Rows own;
  load_statistics(own, head, query);
  Sums sum[ALL_SUMS];
  clear_sums(sum, zeros);
  Square next_k[LOADS], next_v[LOADS];
  clear_squares(next_k);
  clear_squares(next_v);
  load_squares(next_k, k, 0);
  load_groups(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_squares_as_rows(STREAMED_AT, next_k);
      keep_groups(STREAMED_AT + STREAMED, next_v);
      keep_squares_as_columns(COLUMNS_AT, next_k);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_squares(next_k, k, key + TILE_COLS);
      load_groups(next_v, v, key + TILE_COLS);
      [[unroll]] for (uint n = 0; n < OWN_TILE_ROWS; ++n)
        if (DRAWN) own.word[n] = args.random.v[own.word_at[n] + key / 32];
      make_scores(rows, zeros);
      meet();
      differentiate_scores(own, head, origin, query, key);
      meet();
      add_products(sum, SCORES_AT, COLUMNS_AT + side() * (LINES / 2) * TOKEN_PITCH);
      key += TILE_COLS;
    } while (key < key_end);

  [[unroll]] for (uint first = 0; first < LINES / 2; first += TILE_COLS) {
    meet();
    keep_sums_from(sum, first);
    meet();
    for (uint u = t; u < 2 * TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint quad = u % (TILE_COLS / 4), row = u / (TILE_COLS / 4) % TILE_ROWS;
      const uint half_ = u / (TILE_COLS / 4) / TILE_ROWS;
      if (first + 4 * quad < LINES / 2)
        store_sums(dq, query + row, half_ * (LINES / 2) + first + 4 * quad,
                   SCALE * scores(half_, row, quad), ADD_0);
    }
  }
}
