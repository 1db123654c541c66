#version 450
//@types f16 bf16
//@kept
// plaplacian/backward_query on matrix units: one of two subgroups makes the scores of their rows,
// the other the products of dy with values; each then sums half of dq's columns. dS is rounded to
// 16 bits. What the query's token adds to dv is summed from differences, in floats.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_SIDES 2
#define FILTRA_TURNS 1
#define FILTRA_LINES WHOLE(HEAD)
#define FILTRA_SUMS LINES / 2 / MATRIX_N
#define FILTRA_MORE TILE_ROWS * VALUE_PITCH + STATISTICS
#define FILTRA_OTHERS STREAMED_AT + STREAMED
#define FILTRA_PITCH DEPTH_PITCH
#include "plaplacian/matrix.glsl"
#include "plaplacian/backward_matrix.glsl"

const uint BASES_AT = OWN_AT + TILE_ROWS * VALUE_PITCH;

// Per row, log-sum-exp of the scores, as shift of weights, <dy, y>, and own_product.
void keep_statistics(uint head, uint query, bool attention) {
  for (uint r = gl_LocalInvocationID.x; r < TILE_ROWS; r += INVOCATIONS) {
    const uint i = head * args.queries + min(query + r, args.queries - 1);
    keep_float(STATISTICS_AT, r, args.lse.v[i] * LOG2_E);
    keep_float(STATISTICS_AT + STATISTICS, r, args.delta.v[i]);
    keep_float(BASES_AT, r, own_product(i, attention));
  }
}

// The tile's dS = A * (f P g - delta), f dropout's factors, in the place of the streamed keys; pull
// (norm_pull) in that of the products of dy with values. factor: sums of A f P, one for each row of
// a lane's pairs.
void differentiate_scores(inout float factor[OWN_PAIR_ROWS], uint head, uint origin, uint query,
                          uint key, float exponent, bool attention) {
  [[unroll]] for (uint n = 0; n < OWN_PAIRS; ++n) {
    if (!pairs_there(n)) continue;
    const uint quad = pair_quad(n), j = key + 4 * quad;
    const vec4 added = added_to_keys(quad);
    vec4 d[EACH];
    [[unroll]] for (uint r = 0; r < EACH; ++r) d[r] = vec4(0);
    if (!attention) squared_distances(d, pair_row(n, 0), PAIRS_DOWN, 4 * quad);
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
      const uint row = pair_row(n, r), i = query + row, token = token_of(i);
      const float shift = kept_float(STATISTICS_AT, row), base = kept_float(BASES_AT, row);
      const float delta = kept_float(STATISTICS_AT + STATISTICS, row);
      const vec4 f = dropout_factors(head * args.queries + i, key / 4 + quad);
      const vec4 s = scores(0, row, quad), upstream = scores(1, row, quad);
      vec4 ds, pull = vec4(0);
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        const float a = weight_from(masked_score(s[l], added[l], origin, i, j + l), shift);
        const float g = upstream[l] - base;
        const float p = attention ? 1 : norm_weight(d[r][l], exponent, token == j + l);
        if (!attention) pull[l] = norm_pull(a, f[l], g, p, exponent, d[r][l]);
        ds[l] = a * (g * (f[l] * p) - delta);
        factor[n * EACH + r] += a * (f[l] * p);
      }
      keep_weights(STREAMED_AT, row, quad, ds);
      keep_scores(1, row, quad, pull);
    }
  }
}

// dv += (1 - the sum over keys of A f P) dy_x.
void add_upstream(inout vec4 sum[OWN_ROW_SUMS], float factor[OWN_PAIR_ROWS], Matrix dy,
                  uint query) {
  [[unroll]] for (uint n = 0; n < OWN_PAIRS; ++n)
    [[unroll]] for (uint r = 0; r < EACH; ++r)
      if (pairs_there(n))
        keep_float(SCORES_AT + pair_row(n, r) * SCORE_PITCH, pair_quad(n), factor[n * EACH + r]);
  meet();
  [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) {
    float rest = 1;
    [[unroll]] for (uint quad = 0; quad < TILE_COLS / 4; ++quad)
      rest -= kept_float(SCORES_AT + sum_row(i) * SCORE_PITCH, quad);
    const uvec2 slope = load_quad(dy, query + sum_row(i), 4 * sum_quad(i));
    sum[i] += rest * vec4(element_pair(slope.x), element_pair(slope.y));
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS, token = token_of(query);
  Matrix k = like_k(args.k, b, h), v = like_v(args.v, b, h), dy = like_y(args.dy, b, h);
  Matrix dq = like_q(args.result_0, b, h), dv = like_v(args.result_1, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  Left rows[ROW_MATRICES];
  stage_rows(like_q(args.q, b, h), query, 0);
  stage_rows(dy, query, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();
  Sums zeros = zeros_behind(Sums(0.0));
  keep_statistics(head, query, attention);
  stage_own(v, token);

  Sums sum[ALL_SUMS];
  vec4 difference[OWN_ROW_SUMS];
  float factor[OWN_PAIR_ROWS];
  clear_sums(sum, zeros);
  [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) difference[i] = vec4(0);
  [[unroll]] for (uint i = 0; i < OWN_PAIR_ROWS; ++i) factor[i] = 0;
  Square next_k[LOADS], next_v[LOADS];
  clear_squares(next_k);
  clear_squares(next_v);
  load_squares(next_k, k, 0);
  load_squares(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_squares_as_rows(STREAMED_AT, next_k);
      keep_squares_as_rows(STREAMED_AT + STREAMED, next_v);
      keep_squares_as_columns(COLUMNS_AT, next_k);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_squares(next_k, k, key + TILE_COLS);
      load_squares(next_v, v, key + TILE_COLS);
      make_scores(rows, zeros);
      meet();
      differentiate_scores(factor, head, origin, query, key, exponent, attention);
      meet();
      if (WANT_0)
        add_products(sum, STREAMED_AT, COLUMNS_AT + side() * (LINES / 2) * TOKEN_PITCH);
      if (WANT_1 && !attention) add_differences(difference, 1, true);
      key += TILE_COLS;
    } while (key < key_end);

  if (WANT_1 && !attention) {
    meet();
    if (EULER) add_upstream(difference, factor, dy, query);
    [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i)
      if (block_there(i / BLOCK_ROWS))
        store_sums(dv, token + sum_row(i), 4 * sum_quad(i), difference[i], ADD_1);
  }
  if (!WANT_0) return;
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
