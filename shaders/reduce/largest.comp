#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/nan.glsl"
#include "reduce/contract.h"

// The largest element along the middle axis of [outer, n, inner], cut into parts as in axis.comp,
// and its index: the first of equal ones. A NaN counts as larger than any number.
FT_CONSTANTS(reduce_largest)
FT_ARGUMENTS(reduce_largest)

// Whether the element x at `index` replaces the best so far.
bool goes_before(float x, uint index, float best, uint best_index) {
  const bool same = x == best || (is_nan(x) && is_nan(best));
  if (same) return index < best_index;
  return !is_nan(best) && (is_nan(x) || x > best);
}

// Of the elements part, part + parts, ..: the first of them is at `at`.
void search(uint at, uint part, uint parts, out float best, out uint best_index) {
  uint i = part;
  best = p.x.v[at];
  best_index = indexed ? p.x_index.v[at] : i;
  do {
    const float x = p.x.v[at];
    const uint index = indexed ? p.x_index.v[at] : i;
    if (goes_before(x, index, best, best_index)) {
      best = x;
      best_index = index;
    }
    at += parts * p.inner;
    i += parts;
  } while (i < p.n);
}

shared float shared_best[SHARING > 1 ? gl_WorkGroupSize.x : 1];
shared uint shared_index[SHARING > 1 ? gl_WorkGroupSize.x : 1];

// Each of SHARING invocations searches a part, and the first of them compares what they found.
void share_search() {
  const uint across = gl_WorkGroupSize.x / SHARING, id = gl_LocalInvocationID.x;
  const uint i = p.inner == 1 ? id / SHARING : id % across;
  const uint part = p.inner == 1 ? id % SHARING : id / across;
  for (uint first = gl_WorkGroupID.x * across; first < p.count;
       first += gl_NumWorkGroups.x * across) {
    const uint to = first + i;
    float best = 0;
    uint best_index = 0;
    if (to < p.count && part < p.n)
      search((to / p.inner * p.n + part) * p.inner + to % p.inner, part, SHARING, best,
             best_index);
    shared_best[part * across + i] = best;
    shared_index[part * across + i] = best_index;
    barrier();
    if (part == 0 && to < p.count) {
      for (uint k = 1; k < min(SHARING, p.n); ++k) {
        const uint at = k * across + i;
        if (goes_before(shared_best[at], shared_index[at], best, best_index)) {
          best = shared_best[at];
          best_index = shared_index[at];
        }
      }
      p.y.v[to] = best;
      p.y_index.v[to] = best_index;
    }
    barrier();
  }
}

void main() {
  if (SHARING > 1) {
    share_search();
    return;
  }
  uint to = gl_GlobalInvocationID.x;
  if (to >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = to / p.inner, part = row % p.parts;
    float best;
    uint best_index;
    search((row / p.parts * p.n + part) * p.inner + to % p.inner, part, p.parts, best, best_index);
    p.y.v[to] = best;
    p.y_index.v[to] = best_index;
    to += step;
  } while (to < p.count);
}
