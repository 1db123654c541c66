#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "chord/contract.h"
#include "chord/ring.glsl"
#include "common/length.glsl"

// dw[i, k] = dy[i] . x[j], j the token that link k of token i leads to; zeros after the ring. An
// invocation computes one element.
FT_CONSTANTS(chord_weights)
FT_ARGUMENTS(chord_weights)

void main() {
  uint at = gl_GlobalInvocationID.x;
  if (at >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint k = at % p.links, row = at / p.links, b = row / p.n, i = row % p.n;
    const uint length = length_of(p.lengths, b, p.n);
    float sum = 0;
    if (i < length) {
      const uint j = b * p.n + linked(i, k, length, false);
      uint c = 0;
      do {
        sum += p.dy.v[row * p.inner + c] * p.x.v[j * p.inner + c];
        ++c;
      } while (c < p.inner);
    }
    p.dw.v[at] = accumulate ? p.dw.v[at] + sum : sum;
    at += step;
  } while (at < p.count);
}
