#version 450
//@types f16 bf16
//@kept
// attention/forward on matrix units: a workgroup takes TILE_ROWS queries and walks over the keys
// once. Weights are rounded to 16 bits before they are multiplied with values; their sum is not.
// Grid: blocks of queries x B H.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#include "common/types.glsl"
#define FILTRA_SIDES 1
#define FILTRA_TURNS 1
#define FILTRA_LINES WHOLE(VALUE)
#include "attention/matrix.glsl"

// Lanes take rows, several each or several to one, of which then each takes some quads.
const uint OWN = MATRIX_M > LANES ? MATRIX_M / LANES : 1;
const uint SHARERS = LANES > MATRIX_M ? LANES / MATRIX_M : 1;
const uint QUADS = TILE_COLS / 4 / SHARERS;
uint own_row(uint r) { return strip() + r * LANES + gl_SubgroupInvocationID / SHARERS; }
uint own_quad(uint n) { return n * SHARERS + gl_SubgroupInvocationID % SHARERS; }
bool first_sharer() { return own_quad(0) == 0; }

float largest_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x = max(x, subgroupShuffle(x, gl_SubgroupInvocationID ^ step));
  return x;
}
float sum_of_row(float x) {
  [[unroll]] for (uint step = 1; step < SHARERS; step *= 2)
    x += subgroupShuffle(x, gl_SubgroupInvocationID ^ step);
  return x;
}

// As in attention/online.glsl: a row's maximum follows once a score is above it by this much.
// Weights by a known log-sum-exp are made as much larger, so that small ones keep their digits.
const float HEADROOM = 8;

// One row's scores become weights, to be divided by the total later. Gives whether its maximum has
// moved; then its sums have to be multiplied by what is in STATISTICS_AT.
bool weigh_row(inout float top, inout float total, uint b, uint head, uint origin, uint query,
               uint key, uint row) {
  const uint i = query + row;
  vec4 x[QUADS];
  float largest = LOWEST;
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    const uint j = key + 4 * own_quad(n);
    const uvec4 kept = groups[KEPT_AT + own_quad(n)];
    x[n] = kept_floats(SCORES_AT + row * SCORE_PITCH + own_quad(n));
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      x[n][l] = score(kept[l] != 0 && causally_seen(i, j + l), x[n][l], origin, i, j + l);
      largest = max(largest, x[n][l]);
    }
  }
  bool moved = false;
  if (!KNOWN) {
    largest = largest_of_row(largest);
    moved = largest > top + HEADROOM;
    const float next = moved ? largest : top, shrink = exp(top - next);
    top = next;
    total *= shrink;
    if (first_sharer()) keep_float(STATISTICS_AT, row, shrink);
  }
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      x[n][l] = weight(x[n][l], top);
      total += x[n][l];
    }
    const uint quad = own_quad(n);
    x[n] = undropped(x[n], dropout_factors(head * args.queries + i, key / 4 + quad));
    keep_weights(0, row, quad, x[n]);
  }
  return moved;
}

// What a subgroup's lanes say, for all subgroups, and what any of them said.
void tell(bool moved) {
  moved = subgroupAny(moved);
  if (gl_SubgroupInvocationID == 0) keep_float(MOVED_AT, gl_SubgroupID, moved ? 1 : 0);
}
bool any_told() {
  float sum = 0;
  [[unroll]] for (uint i = 0; i < SUBGROUPS; ++i) sum += kept_float(MOVED_AT, i);
  return sum != 0;
}

void main() {
  const uint t = gl_LocalInvocationID.x;
  const uint head = gl_WorkGroupID.y, b = head / HEADS, h = head % HEADS;
  const uint query = gl_WorkGroupID.x * TILE_ROWS;
  Matrix q = like_q(args.q, b, h), k = like_k(args.k, b, h), v = like_v(args.v, b, h);
  Matrix y = like_y(args.result_0, b, h);
  const uint origin = bias_origin(b, h);
  const uint key_end = keys_seen(min(query + TILE_ROWS, args.queries) - 1);
  const uint KEY_SQUARES = TILE_COLS / 4 * (DEPTH / 4), VALUE_SQUARES = TILE_COLS / 4 * (LINES / 4);
  const uint KEY_LOADS = (KEY_SQUARES + INVOCATIONS - 1) / INVOCATIONS;
  const uint VALUE_LOADS = (VALUE_SQUARES + INVOCATIONS - 1) / INVOCATIONS;

  Left rows[DEPTH / MATRIX_K];
  stage_rows(q, query, 0);
  meet();
  [[unroll]] for (uint d = 0; d < DEPTH / MATRIX_K; ++d)
    coopMatLoad(rows[d], groups, strip() * DEPTH_PITCH + d * MATRIX_K / 8, DEPTH_PITCH, AS_ROWS);

  Sums sum[LINES / MATRIX_N];
  [[unroll]] for (uint n = 0; n < LINES / MATRIX_N; ++n) sum[n] = Sums(0.0);
  float top[OWN], total[OWN];
  [[unroll]] for (uint r = 0; r < OWN; ++r) {
    const uint i = head * args.queries + min(query + own_row(r), args.queries - 1);
    top[r] = KNOWN ? args.lse.v[i] - HEADROOM : LOWEST / 2;
    total[r] = 0;
  }

  Square next_k[KEY_LOADS], next_v[VALUE_LOADS];
  [[unroll]] for (uint u = 0; u < KEY_LOADS; ++u)
    next_k[u] = load_square(k, 0, t + u * INVOCATIONS, TILE_COLS);
  [[unroll]] for (uint u = 0; u < VALUE_LOADS; ++u)
    next_v[u] = load_square(v, 0, t + u * INVOCATIONS, TILE_COLS);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      [[unroll]] for (uint u = 0; u < KEY_LOADS; ++u)
        if (t + u * INVOCATIONS < KEY_SQUARES)
          keep_rows(0, t + u * INVOCATIONS, TILE_COLS, next_k[u]);
      [[unroll]] for (uint u = 0; u < VALUE_LOADS; ++u)
        if (t + u * INVOCATIONS < VALUE_SQUARES)
          keep_columns(COLUMNS_AT, t + u * INVOCATIONS, next_v[u]);
      keep_keys(b, key, TILE_COLS);
      meet();
      [[unroll]] for (uint u = 0; u < KEY_LOADS; ++u)
        next_k[u] = load_square(k, key + TILE_COLS, t + u * INVOCATIONS, TILE_COLS);
      [[unroll]] for (uint u = 0; u < VALUE_LOADS; ++u)
        next_v[u] = load_square(v, key + TILE_COLS, t + u * INVOCATIONS, TILE_COLS);

      Sums product[TILE_COLS / MATRIX_N];
      [[unroll]] for (uint j = 0; j < TILE_COLS / MATRIX_N; ++j) product[j] = Sums(0.0);
      [[unroll]] for (uint d = 0; d < DEPTH / MATRIX_K; ++d)
        [[unroll]] for (uint j = 0; j < TILE_COLS / MATRIX_N; ++j) {
          Right keys;
          coopMatLoad(keys, groups, j * MATRIX_N * DEPTH_PITCH + d * MATRIX_K / 8, DEPTH_PITCH,
                      AS_COLUMNS);
          product[j] = coopMatMulAdd(rows[d], keys, product[j]);
        }
      [[unroll]] for (uint j = 0; j < TILE_COLS / MATRIX_N; ++j)
        coopMatStore(product[j], groups, SCORES_AT + strip() * SCORE_PITCH + j * MATRIX_N / 4,
                     SCORE_PITCH, AS_ROWS);
      meet();

      bool moved = false;
      [[unroll]] for (uint r = 0; r < OWN; ++r)
        if (weigh_row(top[r], total[r], b, head, origin, query, key, own_row(r))) moved = true;
      if (!KNOWN) tell(moved);
      meet();

      if (!KNOWN && any_told()) { // a row's factor in all columns of a matrix, where scores were
        const uint at = SCORES_AT + strip() * SCORE_PITCH;
        for (uint i = gl_SubgroupInvocationID; i < MATRIX_M * MATRIX_N / 4; i += LANES)
          groups[at + i] =
              floatBitsToUint(vec4(kept_float(STATISTICS_AT, strip() + i / (MATRIX_N / 4))));
        meet();
        Sums shrink;
        coopMatLoad(shrink, groups, at, MATRIX_N / 4, AS_ROWS);
        [[unroll]] for (uint n = 0; n < LINES / MATRIX_N; ++n) sum[n] = sum[n] * shrink;
      }
      [[unroll]] for (uint j = 0; j < TILE_COLS; j += MATRIX_K) {
        Left weights;
        coopMatLoad(weights, groups, strip() * TOKEN_PITCH + j / 8, TOKEN_PITCH, AS_ROWS);
        [[unroll]] for (uint n = 0; n < LINES / MATRIX_N; ++n) {
          Right values;
          coopMatLoad(values, groups, COLUMNS_AT + n * MATRIX_N * TOKEN_PITCH + j / 8, TOKEN_PITCH,
                      AS_COLUMNS);
          sum[n] = coopMatMulAdd(weights, values, sum[n]);
        }
      }
      key += TILE_COLS;
    } while (key < key_end);

  meet();
  [[unroll]] for (uint r = 0; r < OWN; ++r) {
    const uint i = query + own_row(r);
    float factor = exp(-HEADROOM);
    if (!KNOWN) {
      const float all = sum_of_row(total[r]);
      factor = all > 0 ? 1 / all : 0;
      if (first_sharer() && i < args.queries)
        args.lse.v[head * args.queries + i] = all > 0 ? top[r] + log(all) : 0;
    }
    if (first_sharer()) keep_float(STATISTICS_AT, own_row(r), factor * dropout_rise());
  }
  [[unroll]] for (uint first = 0; first < LINES; first += TILE_COLS) {
    meet();
    [[unroll]] for (uint n = 0; n < TILE_COLS; n += MATRIX_N)
      if (first + n < LINES)
        coopMatStore(sum[(first + n) / MATRIX_N], groups,
                     SCORES_AT + strip() * SCORE_PITCH + n / 4, SCORE_PITCH, AS_ROWS);
    meet();
    for (uint u = t; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4);
      if (first + 4 * quad < LINES)
        store_sums(y, query + row, first + 4 * quad,
                   kept_float(STATISTICS_AT, row) *
                       kept_floats(SCORES_AT + row * SCORE_PITCH + quad),
                   false);
    }
  }
}
