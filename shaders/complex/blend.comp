#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "complex/contract.h"

// y = w re + (1 - w) im, w the weight clamped to [0, 1]; or its gradient dz = (w dy, (1 - w) dy),
// added to what is there when accumulating.
FT_CONSTANTS(complex_blend)
FT_ARGUMENTS(complex_blend)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const float given = p.weight.v[0], w = given < 0.0 ? 0.0 : given > 1.0 ? 1.0 : given;
  do {
    if (gradient) {
      float re = w * p.y.v[i], im = (1.0 - w) * p.y.v[i];
      if (accumulate) {
        re += p.z.v[2 * i];
        im += p.z.v[2 * i + 1];
      }
      p.z.v[2 * i] = re;
      p.z.v[2 * i + 1] = im;
    } else {
      p.y.v[i] = w * p.z.v[2 * i] + (1.0 - w) * p.z.v[2 * i + 1];
    }
    i += step;
  } while (i < p.count);
}
