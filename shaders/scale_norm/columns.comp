#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "scale_norm/contract.h"

// For the gain's gradient: sums of dy x / (|x| + eps) over chunks of rows, per feature. Workgroup
// (x, y) = (features, chunk of rows).
FT_CONSTANTS(scale_norm_columns)
const uint AHEAD = 4;

FT_ARGUMENTS(scale_norm_columns)

void main() {
  const uint feature = gl_GlobalInvocationID.x, first = gl_WorkGroupID.y * p.chunk;
  const uint last = min(first + p.chunk, p.rows);
  if (feature >= p.features || first >= last) return;
  float sum = 0;
  uint row = first;
  do {
    // AHEAD rows are loaded together; rows past the last are loaded but not used.
    float product[AHEAD], norm[AHEAD];
    [[unroll]] for (uint k = 0; k < AHEAD; ++k) {
      const uint r = min(row + k, last - 1), at = (r * p.features + feature) * parts;
      norm[k] = p.norm.v[r];
      product[k] = p.x.v[at] * p.y_grad.v[at];
      if (parts == 2) product[k] += p.x.v[at + 1] * p.y_grad.v[at + 1];
    }
    [[unroll]] for (uint k = 0; k < AHEAD; ++k)
      if (row + k < last) sum += product[k] / (norm[k] + p.eps);
    row += AHEAD;
  } while (row < last);
  p.sums.v[gl_WorkGroupID.y * p.features + feature] = sum;
}
