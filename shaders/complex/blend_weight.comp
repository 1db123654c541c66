#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "complex/contract.h"

// For the weight of a blend: each workgroup's sum of dy (re - im) over the elements it strides
// over; nothing where the weight is clamped.
FT_ARGUMENTS(complex_blend_weight)

void main() {
  const float w = p.weight.v[0];
  float sum = 0;
  uint i = gl_GlobalInvocationID.x;
  if (i < p.count) {
    do {
      sum += p.dy.v[i] * (p.z.v[2 * i] - p.z.v[2 * i + 1]);
      i += gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    } while (i < p.count);
  }
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0)
    p.sums.v[gl_WorkGroupID.x] = w < 0.0 || w > 1.0 ? 0.0 : sum;
}
