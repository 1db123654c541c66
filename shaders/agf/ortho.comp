#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "agf/contract.h"

// loss[b] = mean over heads and D*D entries of |G - I|, added up for G = U^T U and G = V^T V; a
// workgroup per sample. Backward: dG = loss_grad[b] sign(G - I) / (H D D). If V's columns are
// stored without their scales, entry i, j of V^T V is multiplied by the scales of i and j.
FT_CONSTANTS(agf_ortho)
FT_ARGUMENTS(agf_ortho)

void main() {
  const uint start = gl_WorkGroupID.x * p.entries;
  const float scale = 1 / float(p.entries);
  const float up = backward ? p.loss.v[gl_WorkGroupID.x] * scale : 0;
  float sum = 0;
  uint i = gl_LocalInvocationID.x;
  if (i < p.entries) {
    do {
      const float diagonal = i % width == i / width % width ? 1 : 0;
      float scales = 1;
      if (present(p.v_scale)) {
        const uint row = (start + i) / width, head = row / width * width;
        scales = p.v_scale.v[row] * p.v_scale.v[head + i % width];
      }
      const float u = p.u_gram.v[start + i] - diagonal;
      const float v = scales * p.v_gram.v[start + i] - diagonal;
      if (backward) {
        if (present(p.u_grad)) p.u_grad.v[start + i] = up * sign(u);
        if (present(p.v_grad)) p.v_grad.v[start + i] = up * sign(v) * scales;
      } else {
        sum += abs(u) + abs(v);
      }
      i += gl_WorkGroupSize.x;
    } while (i < p.entries);
  }
  if (backward) return;
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x == 0) p.loss.v[gl_WorkGroupID.x] = sum * scale;
}
