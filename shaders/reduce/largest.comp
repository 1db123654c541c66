#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// The largest element along the middle axis of [outer, n, inner], cut into parts as in axis.comp,
// and its index: the first of equal ones. A NaN counts as larger than any number.
FT_CONSTANTS(reduce_largest)
FT_ARGUMENTS(reduce_largest)

bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// Whether the element x at `index` replaces the best so far.
bool goes_before(float x, uint index, float best, uint best_index) {
  const bool same = x == best || (is_nan(x) && is_nan(best));
  if (same) return index < best_index;
  return !is_nan(best) && (is_nan(x) || x > best);
}

void main() {
  uint to = gl_GlobalInvocationID.x;
  if (to >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = to / p.inner, part = row % p.parts;
    uint i = part, at = (row / p.parts * p.n + part) * p.inner + to % p.inner;
    float best = p.x.v[at];
    uint best_index = indexed ? p.x_index.v[at] : i;
    do {
      const float x = p.x.v[at];
      const uint index = indexed ? p.x_index.v[at] : i;
      if (goes_before(x, index, best, best_index)) {
        best = x;
        best_index = index;
      }
      at += p.parts * p.inner;
      i += p.parts;
    } while (i < p.n);
    p.y.v[to] = best;
    p.y_index.v[to] = best_index;
    to += step;
  } while (to < p.count);
}
