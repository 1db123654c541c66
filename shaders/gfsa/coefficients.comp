#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "gfsa/contract.h"

// The gradients of w0, w1 and wK from the rows' products; a workgroup per head.
FT_CONSTANTS(gfsa_coefficients)
FT_ARGUMENTS(gfsa_coefficients)

void store(const bool add, F32 dw, uint h, float x) {
  if (present(dw)) dw.v[h] = add ? dw.v[h] + x : x;
}

void main() {
  const uint h = gl_WorkGroupID.x, heads = gl_NumWorkGroups.x;
  vec3 sum = vec3(0);
  uint token = gl_LocalInvocationID.x;
  if (token < p.tokens) do {
      const uint at = 3 * (token * heads + h);
      sum += vec3(p.products.v[at], p.products.v[at + 1], p.products.v[at + 2]);
      token += gl_WorkGroupSize.x;
    } while (token < p.tokens);
  const float of_v = wg_sum(sum.x), of_u = wg_sum(sum.y), of_more = wg_sum(sum.z);
  if (gl_LocalInvocationID.x != 0) return;
  store(ADD_0, p.dw0, h, of_v);
  store(ADD_1, p.dw1, h, of_u);
  store(ADD_K, p.dwK, h, of_u + float(p.order - 1) * of_more);
}
