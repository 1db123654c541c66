#version 450
//@types f16 bf16
//@kept
// attention/backward_key on matrix units: one of two subgroups makes the scores of their rows and
// sums dk, the other makes the products of values with dy and sums dv. Weights and dS are rounded
// to 16 bits. Tiles have keys down and queries across; OWN_ROWS of them are a lane's at a time, 4
// where keys share random numbers.
// Grid: blocks of keys x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_SIDES 2
#define FILTRA_TURNS 2
#define FILTRA_LINES (HEAD > VALUE ? WHOLE(HEAD) : WHOLE(VALUE))
#define FILTRA_SUMS LINES / MATRIX_N
#include "attention/matrix.glsl"
#include "attention/upstream.glsl"

// Per column, log-sum-exp of the scores, as shift of weights, and <dy, y>. Where there is no query
// nothing has a weight.
void keep_statistics(uint head, uint query) {
  for (uint c = gl_LocalInvocationID.x; c < TILE_COLS; c += INVOCATIONS) {
    const uint i = head * args.queries + min(query + c, args.queries - 1);
    keep_float(STATISTICS_AT, c, query + c < args.queries ? args.lse.v[i] * LOG2_E : 3.4e38);
    keep_float(STATISTICS_AT + STATISTICS, c, args.delta.v[i]);
  }
}

// The tile's dS = P * (dropout * (dy v^T) - delta) and, behind it, dropout * P, in the place of the
// streamed rows.
void differentiate_scores(uint head, uint origin, uint query, uint key) {
  for (uint u = gl_LocalInvocationID.x; u < TILE_ROWS / OWN_ROWS * (TILE_COLS / 4);
       u += INVOCATIONS) {
    const uint first = u / (TILE_COLS / 4) * OWN_ROWS, quad = u % (TILE_COLS / 4);
    const uint i = query + 4 * quad;
    const vec4 shift = kept_floats(STATISTICS_AT + quad);
    const vec4 delta = kept_floats(STATISTICS_AT + STATISTICS + quad);
    vec4 factors[4];  // of four keys, by query
    [[unroll]] for (uint l = 0; l < 4; ++l)
      factors[l] = dropout_factors(head * args.queries + i + l, (key + first) / 4);
    [[unroll]] for (uint r = 0; r < OWN_ROWS; ++r) {
      const uint row = first + r, j = key + row;
      const float added = kept_float(KEPT_AT, row);
      const vec4 s = scores(0, row, quad), upstream = scores(1, row, quad);
      vec4 p, ds, factor;
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        p[l] = weight_from(masked_score(s[l], added, origin, i + l, j), shift[l]);
        factor[l] = factors[l][r];
        ds[l] = p[l] * (upstream[l] * factor[l] - delta[l]);
      }
      keep_weights(0, row, quad, ds);
      keep_weights(WEIGHTS, row, quad, undropped(p, factor));
    }
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint key = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), dy = upstream(b, h);
  Matrix dk = like_k(args.result_0, b, h), dv = like_v(args.result_1, b, h);
  const uint origin = bias_origin(b, h);

  Left rows[DEEP];
  stage_rows(like_k(args.k, b, h), key, 0);
  stage_rows(values(b, h), key, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();
  keep_keys(b, key, TILE_ROWS);

  Sums sum[OWN_SUMS];
  [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) sum[n] = Sums(0.0);
  Square next_q[LOADS], next_dy[LOADS];
  uint query = first_query_seeing(key);
  load_squares(next_q, q, query);
  load_squares(next_dy, dy, query);
  if (query < args.queries) do {
      meet();
      keep_squares_as_rows(0, next_q);
      keep_squares_as_rows(STREAMED, next_dy);
      keep_squares_as_columns(COLUMNS_AT, next_q);
      keep_squares_as_columns(COLUMNS_AT + LINES * TOKEN_PITCH, next_dy);
      keep_statistics(head, query);
      meet();
      load_squares(next_q, q, query + TILE_COLS);
      load_squares(next_dy, dy, query + TILE_COLS);
      make_scores(rows);
      meet();
      differentiate_scores(head, origin, query, key);
      meet();
      add_products(sum, side() * WEIGHTS, COLUMNS_AT + side() * LINES * TOKEN_PITCH);
      query += TILE_COLS;
    } while (query < args.queries);

  [[unroll]] for (uint first = 0; first < LINES; first += TILE_COLS) {
    meet();
    [[unroll]] for (uint n = 0; n < TILE_COLS; n += MATRIX_N)
      if (first + n < LINES) keep_sums(sum[(first + n) / MATRIX_N], n);
    meet();
    for (uint u = t; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4), column = first + 4 * quad;
      if (column >= LINES) continue;
      if (WANT_0) store_sums(dk, key + row, column, SCALE * scores(0, row, quad), ADD_0);
      if (WANT_1) store_sums(dv, key + row, column, dropout_rise() * scores(1, row, quad), ADD_1);
    }
  }
}
