#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "loss/contract.h"

// dlogits[r, k] = dloss[r] (softmax_k - target_k); 0 for rows whose label is out of range.
FT_CONSTANTS(loss_cross_entropy_gradient)
FT_ARGUMENTS(loss_cross_entropy_gradient)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / columns;
    const uint label = uint(p.labels.v[row]);
    float r = 0;
    if (label < columns) {
      const float softmax = exp(p.logits.v[i] - p.scale.v[2 * row]) * p.scale.v[2 * row + 1];
      float target = p.smoothing / float(columns);
      if (i - row * columns == label) target += 1 - p.smoothing;
      r = p.dloss.v[row] * (softmax - target);
    }
    if (accumulate) r += p.dlogits.v[i];
    p.dlogits.v[i] = r;
    i += step;
  } while (i < p.count);
}
