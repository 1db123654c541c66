#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "loss/contract.h"

// y = sum w x / sum w, 0 when the weights sum to 0; or scale sum w x with a given scale. One
// workgroup.
FT_CONSTANTS(loss_weighted_mean)
FT_ARGUMENTS(loss_weighted_mean)

void main() {
  float sum = 0, weight = 0;
  uint i = gl_LocalInvocationID.x;
  if (i < p.count) {
    do {
      const float w = present(p.weights) ? p.weights.v[i] : 1.0;
      sum += w * p.x.v[i];
      weight += w;
      i += gl_WorkGroupSize.x;
    } while (i < p.count);
  }
  sum = wg_sum(sum);
  weight = wg_sum(weight);
  if (gl_LocalInvocationID.x == 0) {
    const float scale = given ? p.scale.v[0] : weight != 0 ? 1.0 / weight : 0.0;
    p.y.v[0] = sum * scale;
    if (!given) p.scale.v[0] = scale;
  }
}
