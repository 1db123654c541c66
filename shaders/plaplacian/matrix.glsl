// What p-norm weights add to attention/matrix.glsl. Matrix units multiply; squared distances and
// sums of differences are made of floats by ordinary arithmetic, since small ones must not be what
// is left of large products (docs/design.md). Values of the tile's own rows, and those of the
// streamed ones, lie in shared memory for that: what is loaded and widened serves several pairs.
//
// Of its includer it takes, besides what attention/matrix.glsl does,
//   FILTRA_OTHERS  where streamed values lie as rows, and
//   FILTRA_PITCH   how far these are apart
#define FILTRA_HEADS 1
#define FILTRA_STATISTICS 2
#define VALUE_PITCH ((VALUE + 7) / 8 | 1)  // odd: rows side by side lie in different banks
#include "attention/matrix.glsl"
#include "plaplacian/problem.glsl"

const uint VALUE_GROUPS = (VALUE + 7) / 8, VALUE_QUADS = 2 * VALUE_GROUPS;
const uint OWN_AT = MORE_AT, OTHERS_AT = FILTRA_OTHERS, OTHERS_PITCH = FILTRA_PITCH;

// Values of the tile's own rows.
void stage_own(Matrix v, uint first) {
  for (uint i = gl_LocalInvocationID.x; i < TILE_ROWS / 4 * VALUE_QUADS; i += INVOCATIONS)
    keep_rows(OWN_AT, VALUE_PITCH, i, TILE_ROWS, load_square(v, first, i, TILE_ROWS));
}

// Streamed values.
void keep_others(inout Square next[LOADS]) {
  [[unroll]] for (uint u = 0; u < LOADS; ++u) {
    const uint i = gl_LocalInvocationID.x + u * INVOCATIONS;
    if (i < TILE_COLS / 4 * VALUE_QUADS) keep_rows(OTHERS_AT, OTHERS_PITCH, i, TILE_COLS, next[u]);
  }
}

// ---- pairs ----

// A lane takes EACH rows, `apart` from each other, and four columns at a time. Neighbours take rows
// side by side.
const uint SHARE = MATRIX_M * TILE_COLS / 4 / (LANES * SIDES);
const uint EACH = SHARE >= 4 ? 4 : SHARE >= 2 ? 2 : 1;

// Squared distances of these rows' values, from row `row` on, from those of streamed rows `column`
// .. + 3.
void squared_distances(inout vec4 d[EACH], uint row, uint apart, uint column) {
  uint own = OWN_AT + row * VALUE_PITCH, other = OTHERS_AT + column * OTHERS_PITCH, n = 0;
  [[unroll]] for (uint r = 0; r < EACH; ++r) d[r] = vec4(0);
  [[dont_unroll]] do {
    uvec4 y[4];
    [[unroll]] for (uint l = 0; l < 4; ++l) y[l] = groups[other + l * OTHERS_PITCH];
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
      const uvec4 x = groups[own + r * apart * VALUE_PITCH];
      [[unroll]] for (uint k = 0; k < 4; ++k)
        [[unroll]] for (uint l = 0; l < 4; ++l) {
          const vec2 z = element_pair(x[k]) - element_pair(y[l][k]);
          d[r][l] += z.x * z.x;
          d[r][l] += z.y * z.y;
        }
    }
    own++;
    other++;
    n++;
  } while (n < VALUE_GROUPS);
}

void keep_scores(uint which, uint row, uint quad, vec4 x) {
  groups[SCORES_AT + which * SCORES + row * SCORE_PITCH + quad] = floatBitsToUint(x);
}

// ---- sums of differences ----

// An invocation sums four columns of BLOCK_ROWS rows, BLOCKS_DOWN apart, for each of its blocks.
const uint SHARED_SUMS = TILE_ROWS * VALUE_QUADS / INVOCATIONS;
const uint BLOCK_ROWS = SHARED_SUMS >= 4 ? 4 : SHARED_SUMS >= 2 ? 2 : 1;
const uint BLOCKS_DOWN = TILE_ROWS / BLOCK_ROWS, BLOCKS = BLOCKS_DOWN * VALUE_QUADS;
const uint OWN_BLOCKS = (BLOCKS + INVOCATIONS - 1) / INVOCATIONS;
const uint OWN_ROW_SUMS = OWN_BLOCKS * BLOCK_ROWS;

bool block_there(uint n) { return gl_LocalInvocationID.x + n * INVOCATIONS < BLOCKS; }
uint block(uint n) { return min(gl_LocalInvocationID.x + n * INVOCATIONS, BLOCKS - 1); }
uint sum_row(uint i) { return block(i / BLOCK_ROWS) % BLOCKS_DOWN + i % BLOCK_ROWS * BLOCKS_DOWN; }
uint sum_quad(uint i) { return block(i / BLOCK_ROWS) / BLOCKS_DOWN; }

vec4 values_at(uint row_at, uint quad) {
  const uvec4 x = groups[row_at + quad / 2];
  const uvec2 half_ = quad % 2 == 0 ? x.xy : x.zw;
  return vec4(element_pair(half_.x), element_pair(half_.y));
}
vec4 own_values(uint i) { return values_at(OWN_AT + sum_row(i) * VALUE_PITCH, sum_quad(i)); }

// sum += the sum over the tile's columns of what lies in `which` scores' place times (the streamed
// value - the row's own), or times the streamed value.
void add_differences(inout vec4 sum[OWN_ROW_SUMS], uint which, bool from_own) {
  vec4 own[OWN_ROW_SUMS];
  [[unroll]] for (uint i = 0; i < OWN_ROW_SUMS; ++i) own[i] = from_own ? own_values(i) : vec4(0);
  uint quad = 0;
  [[dont_unroll]] do {
    [[unroll]] for (uint n = 0; n < OWN_BLOCKS; ++n) {
      vec4 y[4];
      [[unroll]] for (uint l = 0; l < 4; ++l)
        y[l] = values_at(OTHERS_AT + (4 * quad + l) * OTHERS_PITCH, sum_quad(n * BLOCK_ROWS));
      [[unroll]] for (uint r = 0; r < BLOCK_ROWS; ++r) {
        const uint i = n * BLOCK_ROWS + r;
        const vec4 f = scores(which, sum_row(i), quad);
        [[unroll]] for (uint l = 0; l < 4; ++l) sum[i] += f[l] * (y[l] - own[i]);
      }
    }
    quad++;
  } while (quad < TILE_COLS / 4);
}
