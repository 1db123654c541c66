#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"

// The gradient of one of w0, w1, wK from the rows' products; a workgroup per head.
layout(constant_id = 1) const bool ADD = false;

layout(push_constant, std430) uniform Arguments {
  F32 products;          // [tokens, heads, 3]
  F32 dw;                // [heads]
  float of_v, of_u, of_more;  // what its slope is to each product
  uint tokens;
}
args;

void main() {
  const uint h = gl_WorkGroupID.x, heads = gl_NumWorkGroups.x;
  float sum = 0;
  uint token = gl_LocalInvocationID.x;
  if (token < args.tokens) do {
      const uint at = 3 * (token * heads + h);
      sum += args.of_v * args.products.v[at] + args.of_u * args.products.v[at + 1] +
             args.of_more * args.products.v[at + 2];
      token += gl_WorkGroupSize.x;
    } while (token < args.tokens);
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0) args.dw.v[h] = ADD ? args.dw.v[h] + sum : sum;
}
