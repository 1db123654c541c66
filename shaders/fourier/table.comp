#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/sine.glsl"
#include "fourier/contract.h"
#include "common/length.glsl"

// table[b, j] = (cos, sin) of j / L_b turns for j < L_b; other entries are not written.
FT_ARGUMENTS(fourier_table)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint j = i % p.n, length = length_of(p.lengths, i / p.n, p.n);
    if (j < length) {
      const float part = 2 * j > length ? -float(length - j) : float(j);
      const vec2 y = unit_of_turns(part / float(length));
      p.table.v[2 * i] = y.x;
      p.table.v[2 * i + 1] = y.y;
    }
    i += step;
  } while (i < p.count);
}
