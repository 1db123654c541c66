#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "softmax/contract.h"

// The largest element m along the middle axis of [outer, n, inner] and the sum s of exp(x - m), in
// one pass (Milakov & Gimelshein 2018), cut into interleaved parts as in reduce/axis.comp. If x
// holds the maxima of an earlier step, the kernel also reads their sums.
FT_CONSTANTS(softmax_stats)
FT_ARGUMENTS(softmax_stats)

const float lowest_float = -3.402823466e38;

void main() {
  uint to = gl_GlobalInvocationID.x;
  if (to >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = to / p.inner, part = row % p.parts;
    uint i = part, at = (row / p.parts * p.n + part) * p.inner + to % p.inner;
    float m = lowest_float, s = 0;
    do {
      const float x = p.x.v[at], weight = merge ? p.x_sum.v[at] : 1.0;
      if (x > m) {
        s = s * exp(m - x) + weight;
        m = x;
      } else {
        s += weight * exp(x - m);
      }
      at += p.parts * p.inner;
      i += p.parts;
    } while (i < p.n);
    p.m.v[to] = m;
    p.s.v[to] = s;
    to += step;
  } while (to < p.count);
}
