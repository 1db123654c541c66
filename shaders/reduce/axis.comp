#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// Sums along the middle axis of [outer, n, inner], of x or of x * z, cut into interleaved parts:
// y[o, part, k] = scale * sum of x[o, i, k] over i = part, part + parts, .., in order. Neighbouring
// invocations read neighbouring elements, whichever axis it is.
FT_CONSTANTS(reduce_axis)
FT_ARGUMENTS(reduce_axis)

void main() {
  uint to = gl_GlobalInvocationID.x;
  if (to >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = to / p.inner, part = row % p.parts;
    uint i = part, at = (row / p.parts * p.n + part) * p.inner + to % p.inner;
    float sum = 0;
    if (i < p.n) {
      do {
        sum += product ? p.x.v[at] * p.z.v[at] : p.x.v[at];
        at += p.parts * p.inner;
        i += p.parts;
      } while (i < p.n);
    }
    sum *= p.scale;
    if (accumulate) sum += p.y.v[to];
    p.y.v[to] = sum;
    to += step;
  } while (to < p.count);
}
