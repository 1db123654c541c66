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

// Whether rotation k of sequence b mixes two kept tokens.
bool kept(uint b, uint k) {
  if (!present(p.mask)) return true;
  const uint first = b * (p.steps + 1) + k;
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
    const uint b = i / p.steps, k = i % p.steps;
    const uint at = b * p.period + (k + p.first) * p.stride;
    const float scale = kept(b, k) ? 1 : 0;
    const float alpha = scale * p.alpha.v[at], beta = scale * p.beta.v[at];
    const vec2 sum = half_turns(alpha + beta), difference = half_turns(alpha - beta);
    const vec2 c = half_turns(scale * p.gamma.v[at]);
    if (!backward) {
      p.rotations.v[2 * i] = vec4(c.x * conjugate(sum), -c.y * difference);
      p.rotations.v[2 * i + 1] = vec4(c.y * conjugate(difference), c.x * sum);
    } else {
      const vec4 top = p.rotations.v[2 * i], bottom = p.rotations.v[2 * i + 1];
      // Sums and differences in which the phases' derivatives pair the entries.
      const vec2 diagonal = vec2(top.x + bottom.z, bottom.w - top.y);
      const vec2 other = vec2(bottom.x - top.z, -(top.w + bottom.y));
      const float a_grad = scale * pi * c.x * (sum.x * diagonal.y - sum.y * diagonal.x);
      const float b_grad = scale * pi * c.y * (difference.x * other.y - difference.y * other.x);
      put(p.alpha_grad, at, a_grad + b_grad, 1u);
      put(p.beta_grad, at, a_grad - b_grad, 2u);
      put(p.gamma_grad, at,
          scale * pi * (c.x * dot(difference, other) - c.y * dot(sum, diagonal)), 4u);
      if (spare && k == 0) {
        const uint unused = b * p.period + (p.first == 0 ? p.steps : 0) * p.stride;
        put(p.alpha_grad, unused, 0, 1u);
        put(p.beta_grad, unused, 0, 2u);
        put(p.gamma_grad, unused, 0, 4u);
      }
    }
    i += step;
  } while (i < p.count);
}
