#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/complex.glsl"
#include "common/sine.glsl"
#include "dhhp/contract.h"

// The entries of a rotation, with A = pi (alpha + beta), B = pi (alpha - beta), C = pi gamma:
//   ii = e^(-iA) cos C, ij = -e^(iB) sin C, ji = e^(-iB) sin C, jj = e^(iA) cos C,
// or, given the entries' gradients, the gradients of the three angles.
FT_CONSTANTS(dhhp_givens)
FT_ARGUMENTS(dhhp_givens)

// (cos, sin) of pi t
vec2 half_turns(float t) { return unit_of_turns(0.5 * t); }

// Whether rotation i mixes two kept tokens.
bool kept(uint i) {
  if (!present(p.mask)) return true;
  const uint first = i + i / p.steps;
  return p.mask.v[first] > 0 && p.mask.v[first + 1] > 0;
}

void put(F32 to, uint i, float x, uint bit) {
  if (!present(to)) return;
  if ((p.accumulate & bit) != 0) x += to.v[i];
  to.v[i] = x;
}

void main() {
  const float pi = 3.14159265358979;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  do {
    const float scale = kept(i) ? 1 : 0;
    const float alpha = scale * p.alpha.v[i], beta = scale * p.beta.v[i];
    const vec2 a = half_turns(alpha + beta), b = half_turns(alpha - beta);
    const vec2 c = half_turns(scale * p.gamma.v[i]);
    if (!backward) {
      p.rotations.v[2 * i] = vec4(c.x * conjugate(a), -c.y * b);
      p.rotations.v[2 * i + 1] = vec4(c.y * conjugate(b), c.x * a);
    } else {
      const vec4 top = p.rotations.v[2 * i], bottom = p.rotations.v[2 * i + 1];
      // Sums and differences in which the phases' derivatives pair the entries.
      const vec2 diagonal = vec2(top.x + bottom.z, bottom.w - top.y);
      const vec2 other = vec2(bottom.x - top.z, -(top.w + bottom.y));
      const float a_grad = scale * pi * c.x * (a.x * diagonal.y - a.y * diagonal.x);
      const float b_grad = scale * pi * c.y * (b.x * other.y - b.y * other.x);
      put(p.alpha_grad, i, a_grad + b_grad, 1u);
      put(p.beta_grad, i, a_grad - b_grad, 2u);
      put(p.gamma_grad, i, scale * pi * (c.x * dot(b, other) - c.y * dot(a, diagonal)), 4u);
    }
    i += step;
  } while (i < p.count);
}
