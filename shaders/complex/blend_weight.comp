#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "complex/contract.h"

const uint IN_FLIGHT = 4;  // products whose loads are in flight together

// For the gradient of a blend's weight: each workgroup's sum of dy (re - im) over the elements that
// it strides over; 0 if the weight is clamped.
FT_ARGUMENTS(complex_blend_weight)

void main() {
  const float w = p.weight.v[0];
  float sum = 0;
  uint i = gl_GlobalInvocationID.x;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (i < p.count) {
    do {
      float next[IN_FLIGHT];
      [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k) {
        const uint at = min(i + k * step, p.count - 1);
        next[k] = p.dy.v[at] * (p.z.v[2 * at] - p.z.v[2 * at + 1]);
      }
      [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k)
        if (i + k * step < p.count) sum += next[k];
      i += IN_FLIGHT * step;
    } while (i < p.count);
  }
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0)
    p.sums.v[gl_WorkGroupID.x] = w < 0.0 || w > 1.0 ? 0.0 : sum;
}
