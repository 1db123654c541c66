// What gemm/s64 and gemm/s64_uniform share: one subgroup per workgroup computes ROWS x (2 * PAIRS *
// subgroup size) elements of C without barriers, each lane ROWS rows of PAIRS pairs of adjacent
// columns. Past the edges of M and N, the last valid row or column is loaded and results are not
// stored. The rest of K after whole steps is added one k at a time. The variant `plain` knows
// neither activations nor dropout, and drivers translate it sooner.
#include "common/types.glsl"
#include "gemm/gemm.glsl"
#include "common/pairs.glsl"

FT_CONSTANTS(gemm_s64_own)
FT_VALUES(gemm_s64)

const uint WIDTH = gl_WorkGroupSize.x; // lanes
const uint ACROSS = 2 * WIDTH;         // columns of one pair of every lane

vec2 sum[ROWS * PAIRS]; // for every row and pair: columns n and n + 1

uint column(uint n, uint j) { return n + j * ACROSS; }

// Elements i and i + 1, in one row; the second is there if `both`. Of wide tensors it always is,
// and the two are loaded and stored together.
vec2 load_both(const bool narrow, F32 t, uint i, bool both) {
  if (shape(GEMM_WIDE_C)) return load_two(narrow, t, i >> 1);
  vec2 x = vec2(load_one(narrow, t, i), 0);
  if (both) x.y = load_one(narrow, t, i + 1);
  return x;
}

#if UNIFORM_LOADS
#include "common/uniform.glsl"
uint first_column = 0; // of the pairs that are stored
#endif

// load_both, of row m and column n of a tensor like C.
vec2 load_like_c(const bool narrow, F32 t, Place at, uint m, uint n, bool both) {
  const uint row = at.c + m * p.ldc;
#if UNIFORM_LOADS
  if (shape(GEMM_WHOLE_TILES) && shape(GEMM_WIDE_C) && !narrow)
    return own_pair(after(t, row + first_column), 0, gl_SubgroupInvocationID);
#endif
  return load_both(narrow, t, row + n, both);
}

void store_both(const bool narrow, F32 t, uint i, vec2 x, bool both) {
  if (shape(GEMM_WIDE_C)) {
    store_two(narrow, t, i >> 1, x);
  } else {
    store_one(narrow, t, i, x.x);
    if (both) store_one(narrow, t, i + 1, x.y);
  }
}

// The dropout factors of elements (m,n) and (m,n + 1). If C is wide, N is even and one block of
// random words covers both.
vec2 dropout_factors(Place at, uvec4 random, uint m, uint n) {
  uint element = dropout_element(at, m, n);
  uvec4 words = dropout_words(random, p.op_id, element / 4);
  uvec2 word = (element & 2) == 0 ? words.xy : words.zw;
  if (!shape(GEMM_WIDE_C)) {
    word.x = words[element % 4];
    element = dropout_element(at, m, n + 1);
    word.y = dropout_words(random, p.op_id, element / 4)[element % 4];
  }
  return vec2(dropout_factor(word.x, p.rate), dropout_factor(word.y, p.rate));
}

// As store, for column n and, if it exists, n + 1 of row m.
void store_columns(Place at, uvec4 random, uint m, uint n, vec2 sum, vec2 bias) {
  bool both = n + 1 < p.n;
  uint i = at.c + m * p.ldc + n;
  vec2 x = p.scale * sum + bias;
  vec2 z = epilogue(GEMM_SLOPE) ? load_like_c(narrow_c, p.z, at, m, n, both) : x;
#if PLAIN
  if (epilogue(GEMM_SLOPE)) x *= z;
#else
  for (uint k = 0; k < 2; k++) { // the module has its code once
    const float argument = x[k];
    x[k] = activated(x[k], z[k]);
    if (epilogue(GEMM_STORE_Z)) z[k] = kept_of(argument);
  }
#endif
  if (epilogue(GEMM_STORE_Z)) store_both(narrow_c, p.z, i, z, both);
#if !PLAIN
  if (epilogue(GEMM_DROPOUT)) x *= dropout_factors(at, random, m, n);
#endif
  if (epilogue(GEMM_RESIDUAL)) x += load_like_c(false, p.residual, at, m, n, both);
  if (epilogue(GEMM_ACCUMULATE)) x += load_like_c(narrow_c, p.c, at, m, n, both);
  store_both(narrow_c, p.c, i, x, both);
}

uint own_row = 0; // the tile's first row that no other tile stores

// Whether this tile stores row m.
bool has_row(uint m) { return shape(GEMM_WHOLE_TILES) || (m >= own_row && m < p.m); }

// Stores all sums of the lane as far as they lie in C. STORES_IN_LOOP: by way of shared memory,
// which a loop can index, so that the module has the code of activations once. Lanes only read back
// their own sums.
#if STORES_IN_LOOP
shared vec2 kept[ROWS * PAIRS * WIDTH];
#endif

void store_sums(Place at, uint m, uint n, uint lane) {
  uvec4 random = random_state();
#if STORES_IN_LOOP
  [[unroll]] for (uint i = 0; i < ROWS * PAIRS; i++) kept[i * WIDTH + lane] = sum[i];
#endif
  [[unroll]] for (uint j = 0; j < PAIRS; j++) {
    const uint even = column(n, j);
#if UNIFORM_LOADS
    first_column = column(tile_of_c().y * (PAIRS * ACROSS), j);
#endif
    if (!shape(GEMM_WHOLE_TILES) && even >= p.n) continue;
    const vec2 bias_pair = vec2(bias(even), bias(min(even + 1, p.n - 1)));
#if STORES_IN_LOOP
    uint i = 0;
    do {
      vec2 x = kept[(i * PAIRS + j) * WIDTH + lane];
      store_columns(at, random, m + i, even, x, bias_pair);
      i++;
    } while (i < ROWS && has_row(m + i));
#else
    [[unroll]] for (uint i = 0; i < ROWS; i++)
      if (has_row(m + i)) store_columns(at, random, m + i, even, sum[i * PAIRS + j], bias_pair);
#endif
  }
}
