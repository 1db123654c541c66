#version 450
//@types f16 bf16
//@kept
// plaplacian/backward_key on matrix units: one of two subgroups makes the scores of their rows and
// sums dk, the other makes the products of values with dy and sums (A P)^T dy. A P and dS are
// rounded to 16 bits. What else the key's token adds to dv is summed from differences, in floats.
// Tiles have keys down and queries across.
// Grid: blocks of keys x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_SIDES 2
#define FILTRA_TURNS 2
#define FILTRA_LINES (HEAD > VALUE ? WHOLE(HEAD) : WHOLE(VALUE))
#define FILTRA_SUMS LINES / MATRIX_N
#define FILTRA_MORE (TILE_ROWS + TILE_COLS) * VALUE_PITCH + STATISTICS + TILE_ROWS * TILE_COLS / 16
#define FILTRA_OTHERS OWN_AT + TILE_ROWS * VALUE_PITCH
#define FILTRA_PITCH VALUE_PITCH
#include "plaplacian/matrix.glsl"
#include "plaplacian/backward_matrix.glsl"

const uint BASES_AT = OTHERS_AT + TILE_COLS * VALUE_PITCH, DROPPED_AT = BASES_AT + STATISTICS;

// Per column, log-sum-exp of the scores, as shift of weights, <dy, y>, and own_product. Where there
// is no query nothing has a weight.
void keep_statistics(uint head, uint query, bool attention) {
  for (uint c = gl_LocalInvocationID.x; c < TILE_COLS; c += INVOCATIONS) {
    const uint i = head * args.queries + min(query + c, args.queries - 1);
    keep_float(STATISTICS_AT, c, query + c < args.queries ? args.lse.v[i] * LOG2_E : 3.4e38);
    keep_float(STATISTICS_AT + STATISTICS, c, args.delta.v[i]);
    keep_float(BASES_AT, c, own_product(i, attention));
  }
}

// Which weights dropout keeps: a bit for each of four keys, which share random numbers, by query.
void keep_dropped(uint head, uint query, uint key) {
  if (RATE == 0) return;
  for (uint i = gl_LocalInvocationID.x; i < TILE_ROWS / 4 * TILE_COLS; i += INVOCATIONS) {
    const vec4 f =
        dropout_factors(head * args.queries + query + i % TILE_COLS, key / 4 + i / TILE_COLS);
    uint bits = 0;
    [[unroll]] for (uint l = 0; l < 4; ++l) bits |= uint(f[l] != 0) << l;
    groups[DROPPED_AT + i / 4][i % 4] = bits;
  }
}
vec4 kept_factors(uint row, uint quad) {
  if (RATE == 0) return vec4(1);
  const uvec4 bits = groups[DROPPED_AT + row / 4 * (TILE_COLS / 4) + quad] >> row % 4 & 1u;
  return vec4(bits) * dropout_rise();
}

// The tile's dS = A * (f P g - delta), f dropout's factors, and, behind it, A P as kept or not, in
// the place of the streamed rows; pull (norm_pull) in that of the products of values with dy.
void differentiate_scores(uint origin, uint query, uint key, float exponent, bool attention) {
  [[unroll]] for (uint n = 0; n < OWN_PAIRS; ++n) {
    if (!pairs_there(n)) continue;
    const uint quad = pair_quad(n), i = query + 4 * quad, token = token_of(i);
    const vec4 shift = kept_floats(STATISTICS_AT + quad), base = kept_floats(BASES_AT + quad);
    const vec4 delta = kept_floats(STATISTICS_AT + STATISTICS + quad);
    vec4 d[EACH];
    [[unroll]] for (uint r = 0; r < EACH; ++r) d[r] = vec4(0);
    if (!attention) squared_distances(d, pair_row(n, 0), PAIRS_DOWN, 4 * quad);
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
      const uint row = pair_row(n, r), j = key + row;
      const float added = added_to_key(row);
      const vec4 f = kept_factors(row, quad);
      const vec4 s = scores(0, row, quad), upstream = scores(1, row, quad);
      vec4 ds, ap, pull = vec4(0);
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        const float a = weight_from(masked_score(s[l], added, origin, i + l, j), shift[l]);
        const float g = upstream[l] - base[l];
        const float p = attention ? 1 : norm_weight(d[r][l], exponent, token + l == j);
        if (!attention) pull[l] = norm_pull(a, f[l], g, p, exponent, d[r][l]);
        ap[l] = a * p;
        ds[l] = a * (g * (f[l] * p) - delta[l]);
      }
      keep_weights(STREAMED_AT, row, quad, ds);
      keep_weights(STREAMED_AT + WEIGHTS, row, quad, undropped(ap, f));
      keep_scores(1, row, quad, pull);
    }
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint key = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), v = like_v(args.v, b, h), dy = like_y(args.dy, b, h);
  Matrix dk = like_k(args.result_0, b, h), dv = like_v(args.result_1, b, h);
  const uint origin = bias_origin(b, h);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  Left rows[ROW_MATRICES];
  stage_rows(like_k(args.k, b, h), key, 0);
  stage_rows(v, key, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();
  Sums zeros = zeros_behind(Sums(0.0));
  keep_keys(b, key, TILE_ROWS);
  stage_own(v, key);

  Sums sum[ALL_SUMS];
  vec4 difference[OWN_ROW_SUMS];
  clear_sums(sum, zeros);
  [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) difference[i] = vec4(0);
  Square next_q[LOADS], next_dy[LOADS], next_v[LOADS];
  clear_squares(next_q);
  clear_squares(next_dy);
  clear_squares(next_v);
  uint query = first_query_seeing(key);
  load_squares(next_q, q, query);
  load_squares(next_dy, dy, query);
  load_squares(next_v, v, token_of(query));
  if (query < args.queries) do {
      meet();
      keep_squares_as_rows(STREAMED_AT, next_q);
      keep_squares_as_rows(STREAMED_AT + STREAMED, next_dy);
      keep_squares_as_columns(COLUMNS_AT, next_q);
      keep_squares_as_columns(COLUMNS_AT + LINES * TOKEN_PITCH, next_dy);
      keep_others(next_v);
      keep_statistics(head, query, attention);
      keep_dropped(head, query, key);
      meet();
      load_squares(next_q, q, query + TILE_COLS);
      load_squares(next_dy, dy, query + TILE_COLS);
      load_squares(next_v, v, token_of(query + TILE_COLS));
      make_scores(rows, zeros);
      meet();
      differentiate_scores(origin, query, key, exponent, attention);
      meet();
      add_products(sum, STREAMED_AT + side() * WEIGHTS,
                   COLUMNS_AT + side() * LINES * TOKEN_PITCH);
      if (WANT_1 && !attention) add_differences(difference, 1, true);
      query += TILE_COLS;
    } while (query < args.queries);

  [[unroll]] for (uint first = 0; first < LINES; first += TILE_COLS) {
    meet();
    keep_sums_from(sum, first);
    meet();
    for (uint u = t; WANT_0 && u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4), column = first + 4 * quad;
      if (column < LINES) store_sums(dk, key + row, column, SCALE * scores(0, row, quad), ADD_0);
    }
    if (WANT_1) [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) {
        const uint column = 4 * sum_quad(i), quad = (column - first) / 4;
        if (block_there(i / BLOCK_ROWS) && column >= first && quad < TILE_COLS / 4)
          store_sums(dv, key + sum_row(i), column,
                     dropout_rise() * scores(1, sum_row(i), quad) + difference[i], ADD_1);
      }
  }
}
