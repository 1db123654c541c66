#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/contract.h"

const uint IN_FLIGHT = 8;  // loads in flight

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
        float next[IN_FLIGHT];
        [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k) {
          const uint token = min(t + k, end - 1);
          const bool kept = !masked || p.mask.v[token] > 0;
          const float x = p.x.v[token * columns + min(column, columns - 1)];
          next[k] = !kept ? 0.0 : column < columns ? x : 1.0;
        }
        [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k)
          if (t + k < end) sum += next[k];
        t += IN_FLIGHT;
      } while (t < end);
    }
    p.sums.v[i] = sum;
    i += step;
  } while (i < p.count);
}
