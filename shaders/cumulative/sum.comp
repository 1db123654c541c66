#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "cumulative/contract.h"

// Prefix sums along the middle axis of [outer, n, inner], cut into chunks. An invocation walks one
// chunk: in the first pass to store its sum, in the last, given the prefix sums over chunks, to
// write its elements.
FT_CONSTANTS(cumulative_sum)
FT_ARGUMENTS(cumulative_sum)

void main() {
  uint c = gl_GlobalInvocationID.x;
  if (c >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = c / p.inner, part = row % p.chunks;
    const uint first = part * p.chunk, length = min(p.chunk, p.n - first);
    const uint from = reversed ? first + length - 1 : first;
    uint at = (row / p.chunks * p.n + from) * p.inner + c % p.inner, left = length;
    float sum = 0;
    if (!sums && part != (reversed ? p.chunks - 1 : 0))
      sum = p.before.v[reversed ? c + p.inner : c - p.inner];
    do {
      sum += p.x.v[at];
      if (!sums) p.y.v[at] = accumulate ? p.y.v[at] + sum : sum;
      at = reversed ? at - p.inner : at + p.inner;
      --left;
    } while (left > 0);
    if (sums) p.y.v[c] = sum;
    c += step;
  } while (c < p.count);
}
