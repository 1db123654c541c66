#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "pool/contract.h"

// Adds the ranges' sums in order and divides by the number of kept tokens, or by all n.
FT_CONSTANTS(pool_mean)
FT_ARGUMENTS(pool_mean)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint b = i / columns;
    const uint column = i - b * columns;
    uint from = b * p.ranges * (columns + 1);
    const uint end = from + p.ranges * (columns + 1);
    float sum = 0, kept = 0;
    do {
      sum += p.sums.v[from + column];
      kept += p.sums.v[from + columns];
      from += columns + 1;
    } while (from < end);
    if (p.all != 0) kept = float(p.all);
    const float scale = kept > 0 ? 1.0 / kept : 0.0;
    p.y.v[i] = sum * scale;
    if (column == 0) p.scale.v[b] = scale;
    i += step;
  } while (i < p.count);
}
