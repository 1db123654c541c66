#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "kernel_polynomial/contract.h"

// y = sum over k of pi k^2 w_k^2 for every sample, or dw_k = 2 pi k^2 w_k times the sum of dy. One
// invocation, in order.
FT_CONSTANTS(kernel_polynomial_loss)
FT_ARGUMENTS(kernel_polynomial_loss)

void main() {
  const float pi = 3.14159265;
  if (gl_GlobalInvocationID.x > 0) return;
  float loss = 0, upstream = 0;
  uint k = 0, i = 0;
  if (gradient) {
    do {
      upstream += p.dy.v[i];
    } while (++i < p.samples);
  }
  do {
    const float w = p.coefficients.v[k], weight = pi * float(k * k) * w;
    loss += weight * w;
    if (gradient) {
      float dw = 2.0 * weight * upstream;
      if (accumulate) dw += p.y.v[k];
      p.y.v[k] = dw;
    }
    ++k;
  } while (k < p.terms);
  if (gradient) return;
  do {
    p.y.v[i] = loss;
  } while (++i < p.samples);
}
