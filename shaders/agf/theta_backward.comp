#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "agf/contract.h"
#include "agf/theta.glsl"

// The raw coefficients' gradient from the per-workgroup sums of filter_backward.comp; a workgroup
// per coefficient.
FT_ARGUMENTS(agf_theta_backward)

void main() {
  const uint k = gl_WorkGroupID.x, count = gl_NumWorkGroups.x;
  float sum = 0;
  for (uint first = 0; first < p.parts; first += gl_WorkGroupSize.x) {
    const uint part = first + gl_LocalInvocationID.x;
    if (part < p.parts) sum += p.sums.v[part * count + k];
  }
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x > 0) return;
  const float theta = p.table.v[k].x;
  if (p.mode != theta_raw) sum *= 1 - theta * theta; // 0 for the fixed theta_0 = 1
  if (p.accumulate != 0) sum += p.raw_grad.v[k];
  p.raw_grad.v[k] = sum;
}
