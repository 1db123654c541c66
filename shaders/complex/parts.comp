#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "complex/contract.h"

// re, im = parts of z, either of which may be absent; added to what is there when accumulating.
FT_CONSTANTS(complex_parts)
FT_ARGUMENTS(complex_parts)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    if (present(p.re)) {
      float re = p.z.v[2 * i];
      if (accumulate_re) re += p.re.v[i];
      p.re.v[i] = re;
    }
    if (present(p.im)) {
      float im = p.z.v[2 * i + 1];
      if (accumulate_im) im += p.im.v[i];
      p.im.v[i] = im;
    }
    i += step;
  } while (i < p.count);
}
