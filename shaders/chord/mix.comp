#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "chord/contract.h"
#include "chord/ring.glsl"
#include "common/length.glsl"

// y[i] = sum over links k of w[i, k] x[j], j the token that link k of token i leads to, in each
// sequence's ring of its first lengths[b] tokens; transposed: y[j] is the sum over links that lead
// to j. Zeros after the ring. An invocation computes one element.
FT_CONSTANTS(chord_mix)
FT_ARGUMENTS(chord_mix)

void main() {
  uint at = gl_GlobalInvocationID.x;
  if (at >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint column = at % p.inner, row = at / p.inner, b = row / p.n, i = row % p.n;
    const uint length = length_of(p.lengths, b, p.n);
    float sum = 0;
    if (i < length) {
      uint k = 0;
      do {
        const uint j = b * p.n + linked(i, k, length, transposed);
        sum += p.w.v[(transposed ? j : row) * p.links + k] * p.x.v[j * p.inner + column];
        ++k;
      } while (k < p.links);
    }
    p.y.v[at] = accumulate ? p.y.v[at] + sum : sum;
    at += step;
  } while (at < p.count);
}
