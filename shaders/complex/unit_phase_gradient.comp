#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "complex/contract.h"

// dx = rate <dy, i y>, rate = 1 (radians) or 2 pi (turns).
FT_CONSTANTS(complex_unit_phase_gradient)
FT_ARGUMENTS(complex_unit_phase_gradient)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float re = p.y.v[2 * i], im = p.y.v[2 * i + 1];
    float dx = p.rate * (re * p.dy.v[2 * i + 1] - im * p.dy.v[2 * i]);
    if (accumulate) dx += p.dx.v[i];
    p.dx.v[i] = dx;
    i += step;
  } while (i < p.count);
}
