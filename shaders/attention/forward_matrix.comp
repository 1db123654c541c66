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

// Weights by a known log-sum-exp are made e^RAISED times as large, so that small ones keep their
// digits in 16 bits.
const float RAISED = 8;

// One row's scores become weights, to be divided by the total later. What is in STATISTICS_AT then
// has to be multiplied to the row's sums so far: there is no branch around that, since compilers
// move all sums to and fro for it.
void weigh_row(inout float top, inout float total, uint b, uint head, uint origin, uint query,
               uint key, uint row) {
  const uint i = query + row;
  vec4 x[QUADS];
  float largest = LOWEST;
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    const uint j = key + 4 * own_quad(n);
    const vec4 added = kept_floats(KEPT_AT + own_quad(n));
    x[n] = scores(0, row, own_quad(n));
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      x[n][l] = masked_score(x[n][l], added[l], origin, i, j + l);
      largest = max(largest, x[n][l]);
    }
  }
  if (!KNOWN) {
    const float next = max(top, largest_of_row(largest)), shrink = exp(top - next);
    top = next;
    total *= shrink;
    if (first_sharer()) keep_float(STATISTICS_AT, row, shrink);
  }
  const float shift = top * LOG2_E;
  [[unroll]] for (uint n = 0; n < QUADS; ++n) {
    [[unroll]] for (uint l = 0; l < 4; ++l) {
      x[n][l] = weight_from(x[n][l], shift);
      total += x[n][l];
    }
    const uint quad = own_quad(n);
    x[n] = undropped(x[n], dropout_factors(head * args.queries + i, key / 4 + quad));
    keep_weights(0, row, quad, x[n]);
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

  Left rows[DEEP];
  stage_rows(q, query, 0);
  meet();
  load_rows(rows);

  Sums sum[OWN_SUMS];
  [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) sum[n] = Sums(0.0);
  float top[OWN], total[OWN];
  [[unroll]] for (uint r = 0; r < OWN; ++r) {
    const uint i = head * args.queries + min(query + own_row(r), args.queries - 1);
    top[r] = KNOWN ? args.lse.v[i] - RAISED : LOWEST / 2;
    total[r] = 0;
  }

  Square next_k[LOADS], next_v[LOADS];
  load_squares(next_k, k, 0);
  load_squares(next_v, v, 0);
  uint key = 0;
  if (key_end > 0) do {
      meet();
      keep_squares_as_rows(0, next_k);
      keep_squares_as_columns(COLUMNS_AT, next_v);
      keep_keys(b, key, TILE_COLS);
      meet();
      load_squares(next_k, k, key + TILE_COLS);
      load_squares(next_v, v, key + TILE_COLS);
      make_scores(rows);
      meet();

      [[unroll]] for (uint r = 0; r < OWN; ++r)
        weigh_row(top[r], total[r], b, head, origin, query, key, own_row(r));
      meet();
      if (!KNOWN) {
        Sums shrink; // a row's factor in all of its columns
        coopMatLoad(shrink, groups, STATISTICS_AT + strip() / 4, 0, AS_COLUMNS);
        [[unroll]] for (uint n = 0; n < OWN_SUMS; ++n) sum[n] = sum[n] * shrink;
      }
      add_products(sum, 0, COLUMNS_AT);
      key += TILE_COLS;
    } while (key < key_end);

  meet();
  [[unroll]] for (uint r = 0; r < OWN; ++r) {
    const uint i = query + own_row(r);
    float factor = exp(-RAISED);
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
      if (first + n < LINES) keep_sums(sum[(first + n) / MATRIX_N], n);
    meet();
    for (uint u = t; u < TILE_ROWS * (TILE_COLS / 4); u += INVOCATIONS) {
      const uint row = u / (TILE_COLS / 4), quad = u % (TILE_COLS / 4);
      if (first + 4 * quad < LINES)
        store_sums(y, query + row, first + 4 * quad,
                   kept_float(STATISTICS_AT, row) * scores(0, row, quad), false);
    }
  }
}
