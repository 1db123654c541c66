#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "complex/contract.h"

// z = (re, im); an absent part is zero; z += the same when accumulating.
FT_CONSTANTS(complex_join)
FT_ARGUMENTS(complex_join)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    float re = present(p.re) ? p.re.v[i] : 0.0, im = present(p.im) ? p.im.v[i] : 0.0;
    if (accumulate) {
      re += p.z.v[2 * i];
      im += p.z.v[2 * i + 1];
    }
    p.z.v[2 * i] = re;
    p.z.v[2 * i + 1] = im;
    i += step;
  } while (i < p.count);
}
