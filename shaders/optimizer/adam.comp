#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "optimizer/contract.h"
#include "optimizer/inputs.glsl"

// One pass of Adam (Kingma & Ba 2015, algorithm 1), AdamW (Loshchilov & Hutter 2019, algorithm 2)
// or RAdam (Liu et al. 2020, algorithm 2): they differ only in the scalars the host prepares.
FT_ARGUMENTS(optimizer_adam)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count || p.metrics.halt != 0) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const float clip = p.metrics.clip_scale;
  const float shrink = p.inputs.shrink, l2 = p.inputs.l2;
  const float beta1 = p.inputs.beta1, fresh1 = p.inputs.fresh1;
  const float beta2 = p.inputs.beta2, fresh2 = p.inputs.fresh2;
  const float step_size = p.inputs.step_size;
  const float second_scale = p.inputs.second_scale, epsilon = p.inputs.epsilon;
  do {
    float w = p.values.v[i];
    float g = clip * p.gradients.v[i];
    if (i < p.decayed) {
      g += l2 * w;
      w -= shrink * w;
    }
    const float m = beta1 * p.first.v[i] + fresh1 * g;
    const float v = beta2 * p.second.v[i] + fresh2 * g * g;
    p.first.v[i] = m;
    p.second.v[i] = v;
    p.values.v[i] = w - step_size * m / (second_scale * sqrt(v) + epsilon);
    i += step;
  } while (i < p.count);
}
