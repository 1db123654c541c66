#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "optimizer/contract.h"

// Sums of squares, one for each workgroup, with compensated addition (Kahan 1965): a norm over 10^8
// gradients keeps its digits.
FT_ARGUMENTS(optimizer_square_sums)

void main() {
  precise float sum = 0, lost = 0;
  uint i = gl_GlobalInvocationID.x;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (i < p.count) {
    do {
      const float x = p.x.v[i];
      precise float term = x * x - lost;
      precise float next = sum + term;
      lost = (next - sum) - term;
      sum = next;
      i += step;
    } while (i < p.count);
  }
  const float total = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0) p.sums.v[gl_WorkGroupID.x] = total;
}
