// The graph filter H = w0 I + w1 A + wK (A + (K-1)(A^2 - A)) (Choi et al. 2024, equation 8) of one
// head: y = H v = w0 v + (w1 + wK) u + (K-1) wK (A u - u), where u = A v. Kernels over rows of
// [B,N,H,D] include common/reduce.glsl first.
#include "common/elements.glsl"
#include "common/each.glsl"
#include "common/row.glsl"
#include "gfsa/contract.h"

FT_CONSTANTS(gfsa_own)

// A row's columns, by load_columns of common/row.glsl.
vec2 load(F32 t, uint start, uint first, const uint i) {
  return load_columns(NARROW_ELEMENTS, t, start, first, i, WIDTH);
}
