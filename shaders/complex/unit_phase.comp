#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/sine.glsl"
#include "complex/contract.h"

// y = exp(i x), or exp(2 pi i x) for x in turns.
FT_CONSTANTS(complex_unit_phase)
FT_ARGUMENTS(complex_unit_phase)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float x = p.x.v[i];
    const vec2 y = turns ? unit_of_turns(x) : vec2(cosine(x), sine(x));
    p.y.v[2 * i] = y.x;
    p.y.v[2 * i + 1] = y.y;
    i += step;
  } while (i < p.count);
}
