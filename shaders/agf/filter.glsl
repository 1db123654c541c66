// Common parts of the filter kernels: where a row starts, whether it counts, and the polynomial.
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/each.glsl"
#include "agf/contract.h"
#include "agf/rho.glsl"
#if FILTRA_ROW_UNIFORM
#include "common/uniform_row.glsl"
#endif

FT_CONSTANTS(agf_filter)

// theta_k and the recurrence P_k = (A_k x + B_k) P_{k-1} - C_k P_{k-2}, as (theta, A, B, C)_k.
vec4 table[order + 1];

void load_table(F32x4 from) {
  if (!filtered) return;
  [[unroll]] for (uint k = 0; k <= order; ++k) table[k] = from.v[k];
}

// A lane's features of a row, EACH at a time: from `first` + EACH team_lane() on. In the variant
// "uniform" a row is a whole number of pairs per lane, and `first` is a constant.
#if FILTRA_ROW_UNIFORM

#define for_features(first) for_pairs(first, WIDTH)

bool has_feature(uint row, uint rows, uint first, uint width) { return true; }

vec2 load_features(Elements t, uint start, const uint first) {
  return load_pair(F32(uvec2(t)), start, first);
}

void store_features(Elements t, uint start, const uint first, vec2 x) {
  store_pair(F32(uvec2(t)), start, first, x);
}

#else

#define for_features(first) for (uint first = 0; first < p.width; first += EACH * team_lanes())

bool has_feature(uint row, uint rows, uint first, uint width) {
  return row < rows && first + EACH * team_lane() < width;
}

vec2 load_features(Elements t, uint start, uint first) {
  return load_each(NARROW_ELEMENTS, F32(uvec2(t)), start + first + EACH * team_lane());
}

void store_features(Elements t, uint start, uint first, vec2 x) {
  store_each(NARROW_ELEMENTS, F32(uvec2(t)), start + first + EACH * team_lane(), x);
}

#endif

// g at a singular value.
float filter_at(float unit) {
  const float x = symmetric ? 2 * unit - 1 : unit;
  float before = 0, now = 1, g = table[0].x;
  [[unroll]] for (uint k = 1; k <= order; ++k) {
    const float next = (table[k].y * x + table[k].z) * now - table[k].w * before;
    g += table[k].x * next;
    before = now;
    now = next;
  }
  return g;
}

// Where row (batch, token, head) starts in a [B,H,N,D] view; stride: batch, head, token.
uint row_offset(uint row, uint heads, uint tokens, uint stride[3]) {
  const uint token = row / heads, batch = token / tokens;
  return batch * stride[0] + (row - token * heads) * stride[1] +
         (token - batch * tokens) * stride[2];
}

// Whether the token of a row [B,N,H] counts; mask: [B,N]. `masked` is a constant, so that the code
// has no load from an absent mask: lavapipe of Mesa 26 executed that load even under a condition
// that was false in all lanes.
bool row_counts(F32 mask, uint row, uint heads) { return !masked || mask.v[row / heads] > 0; }
