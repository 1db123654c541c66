#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "gfsa/contract.h"

// The gradient of one of w0, w1, wK from the rows' products; a workgroup per head.
FT_CONSTANTS(gfsa_coefficient)
FT_ARGUMENTS(gfsa_coefficient)

void main() {
  const uint h = gl_WorkGroupID.x, heads = gl_NumWorkGroups.x;
  float sum = 0;
  uint token = gl_LocalInvocationID.x;
  if (token < p.tokens) do {
      const uint at = 3 * (token * heads + h);
      sum += p.of_v * p.products.v[at] + p.of_u * p.products.v[at + 1] +
             p.of_more * p.products.v[at + 2];
      token += gl_WorkGroupSize.x;
    } while (token < p.tokens);
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0) p.dw.v[h] = ADD ? p.dw.v[h] + sum : sum;
}
