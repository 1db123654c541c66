#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "kernel_polynomial/contract.h"

// For dw_k = g_k sum of dy T_k(x): each workgroup's sums over the elements it strides over.
FT_CONSTANTS(kernel_polynomial_coefficients)
FT_ARGUMENTS(kernel_polynomial_coefficients)

void main() {
  float sum[terms];
  [[unroll]] for (uint k = 0; k < terms; ++k) sum[k] = 0;
  uint i = gl_GlobalInvocationID.x;
  if (i < p.count) {
    do {
      const float x = p.x.v[i], up = p.dy.v[i];
      float t = 1, t_last = 0;
      [[unroll]] for (uint k = 0; k < terms; ++k) {
        sum[k] += up * t;
        const float t_next = k == 0 ? x : 2.0 * x * t - t_last;
        t_last = t;
        t = t_next;
      }
      i += gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    } while (i < p.count);
  }
  [[unroll]] for (uint k = 0; k < terms; ++k) {
    // Not sum[k]: NVK does not unroll loops with barriers, and would keep the array in memory.
    float mine = sum[0];
    [[unroll]] for (uint j = 1; j < terms; ++j) mine = j == k ? sum[j] : mine;
    const float all = p.damping[k] * wg_sum(mine);
    if (gl_LocalInvocationID.x == 0) p.sums.v[gl_WorkGroupID.x * terms + k] = all;
  }
}
