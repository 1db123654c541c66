#version 450
//@types f16 bf16
//@kept
// plaplacian/forward on matrix units: a workgroup takes TILE_ROWS queries and walks over the keys
// once. Weights are multiplied by P where both are exponents, so that the products have a running
// maximum of their own and 16 bits hold them however large P is. They are rounded before they are
// multiplied with values; with `euler` they are not, and sums are made of differences.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "common/types.glsl"
#define FILTRA_SIDES 1
#define FILTRA_TURNS 1
#define FILTRA_LINES WHOLE(VALUE)
#define FILTRA_SUMS LINES / MATRIX_N
#define FILTRA_MORE (TILE_ROWS + TILE_COLS) * VALUE_PITCH
#define FILTRA_OTHERS OWN_AT + TILE_ROWS * VALUE_PITCH
#define FILTRA_PITCH VALUE_PITCH
#define FILTRA_STATISTICS_LAST  // loaded two at a time RADV spills them at 128 columns
#include "plaplacian/matrix.glsl"

// Rows that are so far apart have the same lanes.
const uint APART = MATRIX_M / EACH, SHARERS = LANES / APART;
const uint QUADS = TILE_COLS / 4 / SHARERS, FOURS = QUADS * EACH;  // of each lane; of its rows
uint own_row(uint r) { return strip(0) + gl_SubgroupInvocationID % APART + r * APART; }
uint own_quad(uint n) { return n * SHARERS + gl_SubgroupInvocationID / APART; }
bool first_sharer() { return gl_SubgroupInvocationID < APART; }

float largest_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x = max(x, subgroupShuffle(x, gl_SubgroupInvocationID ^ step * APART));
  return x;
}
float sum_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x += subgroupShuffle(x, gl_SubgroupInvocationID ^ step * APART);
  return x;
}

// Of a row so far: the largest score, and the sum of weights with regard to it; the largest product
// of a weight with P, as its logarithm.
struct Row { float top, total, peak; };

// log P.
float log_norm_weight(float distance, float exponent, bool same) {
  if (same && DIAGONAL_ZERO) return -3.4e38;
  if (same && DIAGONAL_ONE) return 0;
  return exponent * log(distance + EPS);
}

// Scores, and log P added to them.
void weighted_scores(out vec4 s[FOURS], out vec4 t[FOURS], uint origin, uint query, uint key,
                     float exponent, bool attention) {
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    const uint quad = own_quad(n), j = key + 4 * quad;
    const vec4 added = added_to_keys(quad);
    vec4 d[EACH];
    [[unroll]] for (uint r = 0; r < EACH; ++r) d[r] = vec4(0);
    if (!attention) squared_distances(d, own_row(0), APART, 4 * quad);
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
      const uint i = query + own_row(r), token = token_of(i);
      vec4 x = scores(0, own_row(r), quad), y;
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        x[l] = masked_score(x[l], added[l], origin, i, j + l);
        y[l] = attention ? x[l] : x[l] + log_norm_weight(d[r][l], exponent, token == j + l);
      }
      s[n * EACH + r] = x;
      t[n * EACH + r] = y;
    }
  }
}

// The tile's scores become weights times P, to be divided by the total later: as 16-bit numbers in
// the streamed rows' place, with `euler` as floats in their own. What is in STATISTICS_AT then has
// to be multiplied to the rows' sums so far.
void weigh(inout Row rows[EACH], uint head, uint origin, uint query, uint key, float exponent,
           bool attention) {
  vec4 s[FOURS], t[FOURS];
  weighted_scores(s, t, origin, query, key, exponent, attention);
  [[unroll]] for (uint r = 0; r < EACH; ++r) {
    float top = LOWEST, peak = LOWEST;
    [[unroll]] for (uint n = 0; n < QUADS; ++n)
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        top = max(top, s[n * EACH + r][l]);
        peak = max(peak, t[n * EACH + r][l]);
      }
    top = max(rows[r].top, largest_of_row(top));
    peak = max(rows[r].peak, largest_of_row(peak));
    if (first_sharer()) keep_float(STATISTICS_AT, own_row(r), exp(rows[r].peak - peak));
    float total = rows[r].total * exp(rows[r].top - top);
    [[unroll]] for (uint n = 0; n < QUADS; ++n) {
      const uint row = own_row(r), quad = own_quad(n);
      vec4 x;
      [[unroll]] for (uint l = 0; l < 4; ++l) {
        total += weight_from(s[n * EACH + r][l], top * LOG2_E);
        x[l] = weight_from(t[n * EACH + r][l], peak * LOG2_E);
      }
      x = undropped(x, dropout_factors(head * args.queries + query + row, key / 4 + quad));
      if (EULER)
        keep_scores(0, row, quad, x);
      else
        keep_weights(STREAMED_AT, row, quad, x);
    }
    rows[r] = Row(top, total, peak);
  }
}

// Stores each row's log-sum-exp, and keeps what its sums are to be multiplied by.
void finish(Row rows[EACH], uint head, uint query) {
  [[unroll]] for (uint r = 0; r < EACH; ++r) {
    const uint i = query + own_row(r);
    const float all = sum_of_row(rows[r].total);
    const float factor = all > 0 ? exp(rows[r].peak - rows[r].top) / all : 0;
    if (first_sharer() && i < args.queries)
      args.lse.v[head * args.queries + i] = all > 0 ? rows[r].top + log(all) : 0;
    if (first_sharer()) keep_float(STATISTICS_AT, own_row(r), factor * dropout_rise());
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), k = like_k(args.k, b, h), v = like_v(args.v, b, h);
  Matrix y = like_y(args.result_0, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);
  const float exponent = head_exponent(h);
  const bool attention = is_attention(exponent);

  Left rows[ROW_MATRICES];
  stage_rows(q, query, 0);
  meet();
  load_rows(rows);
  meet();
  Sums zeros = zeros_behind(Sums(0.0));
  stage_own(v, token_of(query));

  Sums sum[ALL_SUMS];
  vec4 difference[OWN_ROW_SUMS];
  Row own[EACH];
  clear_sums(sum, zeros);
  [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) difference[i] = vec4(0);
  [[unroll]] for (uint r = 0; r < EACH; ++r) own[r] = Row(LOWEST / 2, 0, LOWEST / 2);
  Square next_k[LOADS], next_v[LOADS];
  clear_squares(next_k);
  clear_squares(next_v);
  load_squares(next_k, k, 0);
  load_squares(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_squares_as_rows(STREAMED_AT, next_k);
      keep_squares_as_columns(COLUMNS_AT, next_v);
      keep_others(next_v);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_squares(next_k, k, key + TILE_COLS);
      load_squares(next_v, v, key + TILE_COLS);
      make_scores(rows, zeros);
      meet();
      weigh(own, head, origin, query, key, exponent, attention);
      meet();
      if (EULER) {
        [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i)
          difference[i] *= kept_float(STATISTICS_AT, sum_row(i));
        add_differences(difference, 0, !attention);
      } else {
        Sums shrink; // a row's factor in all of its columns
        coopMatLoad(shrink, groups, STATISTICS_AT + strip(0) / 4, 0, AS_COLUMNS);
        [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) sum[n] = sum[n] * shrink;
        add_products_apart(sum, STREAMED_AT, COLUMNS_AT, zeros);
      }
      key += TILE_COLS;
    } while (key < key_end);

  meet();
  finish(own, head, query);
  if (EULER) {
    meet();
    [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) {
      const vec4 from = attention ? vec4(0) : own_values(i);
      if (block_there(i / BLOCK_ROWS))
        store_sums(y, query + sum_row(i), 4 * sum_quad(i),
                   from + kept_float(STATISTICS_AT, sum_row(i)) * difference[i], false);
    }
    return;
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
