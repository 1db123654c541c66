#version 450
//@types f16 bf16
//@kept
// attention/backward_key on matrix units: one of two subgroups makes the scores of their rows and
// sums dk, the other makes the products of values with dy and sums dv. Weights and dS are rounded
// to 16 bits. Tiles have keys down and queries across.
// Grid: blocks of keys x B H.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#define FILTRA_SIDES 2
#define FILTRA_TURNS 2
#define FILTRA_LINES (HEAD > VALUE ? WHOLE(HEAD) : WHOLE(VALUE))
#define FILTRA_SUMS LINES / MATRIX_N
#define FILTRA_STATISTICS 2
#define FILTRA_AT_ONCE 8  // AMD's compiler then moves less from register to register
// Of a query, words with a bit for each of so many keys: which weights dropout keeps.
#define WORD_KEYS (DRAWN ? 32 : 4)
#define WORDS (TILE_ROWS > WORD_KEYS ? TILE_ROWS / WORD_KEYS : 1)
#define FILTRA_MORE (WORDS * TILE_COLS / 4)
#include "attention/matrix.glsl"
#include "attention/upstream.glsl"

// These are attention/dropout's, or made of the random numbers that four keys share.
const uint DROPPED_AT = MORE_AT;
void keep_word(uint c, uint w, uint word) {
  groups[DROPPED_AT + (w * TILE_COLS + c) / 4][c % 4] = word;
}
void keep_drawn(uint head, uint query, uint key) {
  if (RATE == 0 || DRAWN) return;
  for (uint i = gl_LocalInvocationID.x; i < WORDS * TILE_COLS; i += INVOCATIONS) {
    const uint c = i % TILE_COLS, w = i / TILE_COLS;
    const vec4 factors = dropout_factors(head * args.queries + query + c, key / WORD_KEYS + w);
    uint bits = 0;
    [[unroll]] for (uint l = 0; l < 4; ++l) bits |= uint(factors[l] != 0) << l;
    keep_word(c, w, bits);
  }
}

// Of a lane's columns: log-sum-exp of the scores and <dy, y>, on their way like the next squares.
const uint OWN_COLUMNS = (TILE_COLS + INVOCATIONS - 1) / INVOCATIONS;
struct Statistics { float lse[OWN_COLUMNS], delta[OWN_COLUMNS]; };
uint own_column(uint n) { return (gl_LocalInvocationID.x + n * INVOCATIONS) % TILE_COLS; }
void load_statistics(out Statistics next, uint head, uint query) {
  [[unroll]] for (uint n = 0; n < OWN_COLUMNS; ++n) {
    const uint i = head * args.queries + min(query + own_column(n), args.queries - 1);
    next.lse[n] = args.lse.v[i];
    next.delta[n] = args.delta.v[i];
  }
}

// These, log-sum-exp as shift of weights, and what dropout has drawn. Where there is no query
// nothing has a weight.
void keep_statistics(Statistics next, uint head, uint query, uint key) {
  [[unroll]] for (uint n = 0; n < OWN_COLUMNS; ++n) {
    if (gl_LocalInvocationID.x + n * INVOCATIONS >= TILE_COLS) continue;
    const uint c = own_column(n);
    keep_float(STATISTICS_AT, c, query + c < args.queries ? next.lse[n] * LOG2_E : 3.4e38);
    keep_float(STATISTICS_AT + STATISTICS, c, next.delta[n]);
    const uint i = head * args.queries + min(query + c, args.queries - 1);
    if (DRAWN) [[unroll]] for (uint w = 0; w < WORDS; ++w) {
        const uint j = min(key + w * WORD_KEYS, args.keys - 1);
        keep_word(c, w, args.random.v[drawn_row(i) + j / WORD_KEYS]);
      }
  }
}

uvec4 dropped_words(uint row, uint quad) {
  if (RATE == 0) return uvec4(0);
  return groups[DROPPED_AT + (WORDS > 1 ? row / WORD_KEYS : 0) * (TILE_COLS / 4) + quad];
}
float kept(float x, uint word, uint key) {
  return RATE == 0 ? x : where_set(x, word, key % WORD_KEYS);
}

// An invocation's quads lie apart by constants, which come last, so that compilers make offsets of
// them.
vec4 own_scores(uint which, uint n) {
  return kept_floats(tile_row(0) * SCORE_PITCH + tile_quad() +
                     (SCORES_AT + which * SCORES + n * ROWS_APART * SCORE_PITCH));
}
void keep_own_weights(uint to, uint n, vec4 x) {
  keep_quad(tile_row(0) * WEIGHT_PITCH + tile_quad() / 2 + (to + n * ROWS_APART * WEIGHT_PITCH),
            4 * tile_quad(), packed(x));
}

// The tile's dS = P * (dropout * (dy v^T) - delta) and, behind it, P as dropout keeps it, in the
// place of the streamed rows. Those of padding's keys, and of none, are not used.
void differentiate_scores(uint origin, uint query, uint key) {
  const uint quad = tile_quad(), i = query + 4 * quad;
  const vec4 shift = kept_floats(STATISTICS_AT + quad);
  const vec4 delta = kept_floats(STATISTICS_AT + STATISTICS + quad);
  uvec4 words = dropped_words(0, quad);
  [[unroll]] for (uint n = 0; n < OWN_TILE_ROWS; ++n) {
    if (!tile_row_there(n)) continue;
    const uint row = tile_row(n), j = key + row;
    const vec4 s = own_scores(0, n), upstream = own_scores(1, n);
    if (WORDS > 1) words = dropped_words(row, quad);
    vec4 p, ds;
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      p[l] = exp2(raised_score(s[l], origin, i + l, j) - shift[l]);
      ds[l] = p[l] * (kept(upstream[l], words[l], j) * dropout_rise() - delta[l]);
      p[l] = kept(p[l], words[l], j);
    }
    keep_own_weights(STREAMED_AT, n, ds);
    keep_own_weights(STREAMED_AT + WEIGHTS, n, p);
  }
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint key = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), dy = upstream(b, h);
  Matrix dk = like_k(args.result_0, b, h), dv = like_v(args.result_1, b, h);
  const uint origin = bias_origin(b, h);

  Left rows[ROW_MATRICES];
  stage_rows(like_k(args.k, b, h), key, 0);
  stage_rows(values(b, h), key, TILE_ROWS * DEPTH_PITCH);
  meet();
  load_rows(rows);
  meet();
  Sums zeros = zeros_behind(Sums(0.0));
  if (MASKED) keep_keys(b, key, TILE_ROWS);

  Sums sum[ALL_SUMS];
  clear_sums(sum, zeros);
  Square next[BOTH_LOADS];  // of q and dy
  clear_both(next);
  Places to;
  find_places(to);
  uint query = first_query_seeing(key);
  load_both(next, q, dy, query);
  Statistics statistics;
  load_statistics(statistics, head, query);
  if (query < args.queries) do {
      meet();
      keep_both(to, next);
      keep_statistics(statistics, head, query, key);
      keep_drawn(head, query, key);
      load_both(next, q, dy, query + TILE_COLS);
      load_statistics(statistics, head, query + TILE_COLS);
      meet();
      make_scores(rows, zeros);
      meet();
      differentiate_scores(origin, query, key);
      meet();
      add_products(sum, STREAMED_AT + side() * WEIGHTS,
                   COLUMNS_AT + side() * LINES * TOKEN_PITCH);
      query += TILE_COLS;
    } while (query < args.queries);

  [[unroll]] for (uint first = 0; first < LINES; first += TILE_COLS) {
    meet();
    keep_sums_from(sum, first);
    meet();
    for (uint u = t; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4), column = first + 4 * quad;
      if (column >= LINES) continue;
      vec4 x = SCALE * scores(0, row, quad), y = dropout_rise() * scores(1, row, quad);
      if (MASKED && added_to_key(row) != 0) x = y = vec4(0);
      if (WANT_0) store_sums(dk, key + row, column, x, ADD_0);
      if (WANT_1) store_sums(dv, key + row, column, y, ADD_1);
    }
  }
}
