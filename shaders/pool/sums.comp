#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/contract.h"

// Sums of kept tokens over ranges of `range` tokens; a last column counts them.
FT_CONSTANTS(pool_sums)
FT_ARGUMENTS(pool_sums)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint cell = i / (columns + 1);
    const uint column = i - cell * (columns + 1);
    const uint b = cell / p.ranges;
    uint t = b * p.n + (cell - b * p.ranges) * p.range;
    const uint end = min(t + p.range, (b + 1) * p.n);
    float sum = 0;
    if (t < end) {
      do {
        const bool kept = !masked || p.mask.v[t] > 0;
        if (kept) sum += column < columns ? p.x.v[t * columns + column] : 1.0;
        ++t;
      } while (t < end);
    }
    p.sums.v[i] = sum;
    i += step;
  } while (i < p.count);
}
