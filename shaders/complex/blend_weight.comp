#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "complex/contract.h"

const uint IN_FLIGHT = 4;  // products whose loads are in flight together

// For the gradient of a blend's weight: each workgroup's sum of dy (re - im) over the elements that
// it strides over; 0 if the weight is clamped.
FT_ARGUMENTS(complex_blend_weight)

#if FILTRA_ROW_UNIFORM
#include "common/elements.glsl"
#include "common/pairs.glsl"
#include "common/uniform.glsl"

// A workgroup's lanes have an element each, and i counts the first of them.
const uint BLOCK = gl_WorkGroupSize.x;
uint first_element() { return gl_WorkGroupID.x * BLOCK; }
float product(uint i) {
  const vec2 z = own_pair(after(p.z, 2 * i), 0, gl_SubgroupInvocationID);
  return own_of(after(p.dy, i), 0, BLOCK - 1, gl_SubgroupInvocationID) * (z.x - z.y);
}
#else
const uint BLOCK = 1;
uint first_element() { return gl_GlobalInvocationID.x; }
float product(uint i) { return p.dy.v[i] * (p.z.v[2 * i] - p.z.v[2 * i + 1]); }
#endif

void main() {
  const float w = p.weight.v[0];
  float sum = 0;
  uint i = first_element();
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (i < p.count) {
    do {
      float next[IN_FLIGHT];
      [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k)
        next[k] = product(min(i + k * step, p.count - BLOCK));
      [[unroll]] for (uint k = 0; k < IN_FLIGHT; ++k)
        if (i + k * step < p.count) sum += next[k];
      i += IN_FLIGHT * step;
    } while (i < p.count);
  }
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0)
    p.sums.v[gl_WorkGroupID.x] = w < 0.0 || w > 1.0 ? 0.0 : sum;
}
