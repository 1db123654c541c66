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
#include "attention/matrix.glsl"
#include "attention/upstream.glsl"

// Per row, log-sum-exp of the scores, as shift of weights, and <dy, y>.
void keep_statistics(uint head, uint query) {
  for (uint r = gl_LocalInvocationID.x; r < TILE_ROWS; r += INVOCATIONS) {
    const uint i = head * args.queries + min(query + r, args.queries - 1);
    keep_float(STATISTICS_AT, r, args.lse.v[i] * LOG2_E);
    keep_float(STATISTICS_AT + STATISTICS, r, args.delta.v[i]);
  }
}

// The tile's dS = P * (dropout * (dy v^T) - delta), in the place of the streamed rows.
void differentiate_scores(uint head, uint origin, uint query, uint key) {
  for (uint u = gl_LocalInvocationID.x; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
    const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4);
    const uint i = query + row, j = key + 4 * quad;
    const float shift = kept_float(STATISTICS_AT, row);
    const float delta = kept_float(STATISTICS_AT + STATISTICS, row);
    const vec4 added = kept_floats(KEPT_AT + quad);
    const vec4 factors = dropout_factors(head * args.queries + i, key / 4 + quad);
    const vec4 s = scores(0, row, quad), upstream = scores(1, row, quad);
    vec4 ds;
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      const float p = weight_from(masked_score(s[l], added[l], origin, i, j + l), shift);
      ds[l] = p * (upstream[l] * factors[l] - delta);
    }
    keep_weights(0, row, quad, ds);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix k = like_k(args.k, b, h), v = values(b, h), dq = like_q(args.result_0, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);

  Left rows[DEEP];
  stage_rows(like_q(args.q, b, h), query, 0);
  stage_rows(upstream(b, h), query, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();
  keep_statistics(head, query);

  Sums sum[OWN_SUMS];
  [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) sum[n] = Sums(0.0);
  Square next_k[LOADS], next_v[LOADS];
  load_squares(next_k, k, 0);
  load_squares(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_squares_as_rows(0, next_k);
      keep_squares_as_rows(STREAMED, next_v);
      keep_squares_as_columns(COLUMNS_AT, next_k);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_squares(next_k, k, key + TILE_COLS);
      load_squares(next_v, v, key + TILE_COLS);
      make_scores(rows);
      meet();
      differentiate_scores(head, origin, query, key);
      meet();
      add_products(sum, 0, COLUMNS_AT + side() * (LINES / 2) * TOKEN_PITCH);
      key += TILE_COLS;
    } while (key < key_end);

  [[unroll]] for (uint first = 0; first < LINES / 2; first += TILE_COLS) {
    meet();
    [[unroll]] for (uint n = 0; n < TILE_COLS; n += MATRIX_N)
      if (first + n < LINES / 2) keep_sums(sum[(first + n) / MATRIX_N], n);
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
