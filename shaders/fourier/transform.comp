#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "fourier/contract.h"
#include "common/length.glsl"

// y[k] = sum over n < L of cos(2 pi n k / L) a[n] + sin(2 pi n k / L) b[n], along the middle axis
// of [batch, n, inner], L = lengths[batch]; zeros from k = L on. The angle n k / L in turns is that
// of n k modulo L, which is kept as an integer: exact for any length. An invocation computes four
// neighbouring k of one column, which share their loads.
FT_CONSTANTS(fourier_transform)
FT_ARGUMENTS(fourier_transform)

vec4 pick(uint base, uvec4 phase, uint part) {
  const uvec4 at = 2 * (base + phase) + part;
  return vec4(p.table.v[at.x], p.table.v[at.y], p.table.v[at.z], p.table.v[at.w]);
}

vec4 transform(uint b, uint column, uint length, uvec4 k) {
  const uvec4 advance = k % length;
  const uint base = b * p.n;
  vec4 sum = vec4(0);
  uvec4 phase = uvec4(0);
  uint at = base * p.inner + column, left = length;
  do {
    if (has_a) sum += pick(base, phase, 0) * p.a.v[at];
    if (has_b) sum += pick(base, phase, 1) * p.b.v[at];
    phase += advance;
    phase = mix(phase, phase - length, greaterThanEqual(phase, uvec4(length)));
    at += p.inner;
    --left;
  } while (left > 0);
  return sum;
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint column = i % p.inner, row = i / p.inner, b = row / p.quads;
    const uint first = 4 * (row % p.quads), length = length_of(p.lengths, b, p.n);
    const uvec4 k = first + uvec4(0, 1, 2, 3);
    vec4 sum = vec4(0);
    if (first < length) sum = transform(b, column, length, k);
    for (uint j = 0; j < 4; ++j) {
      if (k[j] >= p.n) break;
      const uint at = (b * p.n + k[j]) * p.inner + column;
      const float y = k[j] < length ? sum[j] : 0.0;
      p.y.v[at] = accumulate ? p.y.v[at] + y : y;
    }
    i += step;
  } while (i < p.count);
}
