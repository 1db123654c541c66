#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "agf/contract.h"
#include "agf/rho.glsl"
#include "agf/theta.glsl"

// table[k] = (theta_k, A_k, B_k, C_k) for `count` orders from `first` on: the filter's coefficient,
// computed from the raw parameter, and the recurrence's, which the host computed in double
// precision.
FT_ARGUMENTS(agf_theta)

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint k = p.first + i;
  float theta = 1;
  if (p.mode == theta_raw) theta = p.raw.v[k];
  else if (p.mode == theta_tanh || k > 0) theta = saturating_tanh(p.raw.v[k]);
  p.table.v[k] =
      vec4(theta, p.recurrence[3 * i], p.recurrence[3 * i + 1], p.recurrence[3 * i + 2]);
}
