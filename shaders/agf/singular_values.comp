#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "agf/contract.h"

// The ablation with a free vector of singular values: (U diag(sigma)) (V^T value) is
// U (diag(sigma) V^T value), so the values scale the rows of the small product. A workgroup per
// head and feature. Backward: dmatrix = sigma dscaled, dsigma = sum over samples and columns of
// dscaled * matrix.
FT_CONSTANTS(agf_singular_values)
FT_ARGUMENTS(agf_singular_values)

void main() {
  const uint row = gl_WorkGroupID.x, count = p.batch * p.width;
  if (row >= p.rows) return;
  const float sigma = p.sigma.v[row];
  float sum = 0;
  uint i = gl_LocalInvocationID.x; // over samples and columns
  if (i < count) {
    do {
      const uint b = i / p.width;
      const uint at = (b * p.rows + row) * p.width + i - b * p.width;
      if (!backward) {
        p.scaled.v[at] = sigma * p.matrix.v[at];
      } else {
        const float up = p.scaled.v[at];
        sum += up * p.matrix.v[at];
        if (present(p.matrix_grad)) {
          float grad = sigma * up;
          if (accumulate_matrix) grad += p.matrix_grad.v[at];
          p.matrix_grad.v[at] = grad;
        }
      }
      i += gl_WorkGroupSize.x;
    } while (i < count);
  }
  if (!backward || !present(p.sigma_grad)) return;
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x > 0) return;
  if (accumulate_sigma) sum += p.sigma_grad.v[row];
  p.sigma_grad.v[row] = sum;
}
