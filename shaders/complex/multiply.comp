#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "complex/contract.h"

// y[r, c] = a[r] z[r, c], or conj(a[r]) z[r, c]; y += the same when accumulating.
FT_CONSTANTS(complex_multiply)
FT_ARGUMENTS(complex_multiply)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / columns;
    const float a_re = p.a.v[2 * row], a_im = conjugate ? -p.a.v[2 * row + 1] : p.a.v[2 * row + 1];
    const float z_re = p.z.v[2 * i], z_im = p.z.v[2 * i + 1];
    float re = a_re * z_re - a_im * z_im, im = a_re * z_im + a_im * z_re;
    if (accumulate) {
      re += p.y.v[2 * i];
      im += p.y.v[2 * i + 1];
    }
    p.y.v[2 * i] = re;
    p.y.v[2 * i + 1] = im;
    i += step;
  } while (i < p.count);
}
