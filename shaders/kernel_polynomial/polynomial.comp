#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "kernel_polynomial/contract.h"

// y = sum over k of g_k w_k T_k(x), or dx = dy sum over k of g_k w_k T'_k(x), by
// T_{k+1} = 2 x T_k - T_{k-1} and its derivative; dx += the same when accumulating.
FT_CONSTANTS(kernel_polynomial_polynomial)
FT_ARGUMENTS(kernel_polynomial_polynomial)

void main() {
  float a[terms];
  [[unroll]] for (uint k = 0; k < terms; ++k) a[k] = p.damping[k] * p.coefficients.v[k];
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float x = p.x.v[i];
    float t = 1, t_last = 0, slope = 0, slope_last = 0;
    float r = gradient ? 0.0 : a[0];
    [[unroll]] for (uint k = 1; k < terms; ++k) {
      const float t_next = k == 1 ? x : 2.0 * x * t - t_last;
      const float slope_next = k == 1 ? 1.0 : 2.0 * (t + x * slope) - slope_last;
      t_last = t;
      t = t_next;
      slope_last = slope;
      slope = slope_next;
      r += a[k] * (gradient ? slope : t);
    }
    if (gradient) r *= p.dy.v[i];
    if (accumulate) r += p.y.v[i];
    p.y.v[i] = r;
    i += step;
  } while (i < p.count);
}
