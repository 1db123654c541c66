#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "optimizer/contract.h"
#include "optimizer/inputs.glsl"

// Gradient norm and clipping factor; the halt state is set once, by the first step whose loss or
// norm is not finite. With a loss scale, gradients are multiplied by it, and a norm that is not
// finite means that they exceeded the range of 16 bits: then the step is skipped and the scale
// halved. The scale doubles after `window` steps without overflow. One workgroup.
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Scaling {
  float scale;
  uint steady, window; // steps since the scale changed; steps until it doubles
  uint skipped, step_low, step_high; // number of skipped steps; the last of them
};

FT_ARGUMENTS(optimizer_watch)

const uint LOSS = 1u, GRADIENT = 2u, SKIPPED = 4u;
const float LEAST_SCALE = 6.103515625e-5, LARGEST_SCALE = 16777216.0;


// Tests bits, since compilers may assume that isnan() is false for floats that they believe finite.
bool finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }

// Updates the scale after a step with `halt`. Returns the remaining `halt`, or SKIPPED.
uint rescale(Scaling s, uint halt, float scale) {
  if (halt == GRADIENT && scale > LEAST_SCALE) {
    s.scale = 0.5 * scale;
    s.steady = 0;
    s.skipped++;
    s.step_low = p.inputs.step_low;
    s.step_high = p.inputs.step_high;
    return SKIPPED;
  }
  if (halt != 0) return halt;
  const uint steady = s.steady + 1;
  const bool grows = steady >= s.window;
  s.steady = grows ? 0 : steady;
  if (grows && scale < LARGEST_SCALE) s.scale = 2.0 * scale;
  return 0;
}

void main() {
  float sum = 0;
  uint i = gl_LocalInvocationID.x;
  if (i < p.count) {
    do {
      sum += p.sums.v[i];
      i += gl_WorkGroupSize.x;
    } while (i < p.count);
  }
  sum = wg_sum(sum);
  if (gl_LocalInvocationID.x != 0) return;
  const bool scaled = any(notEqual(uvec2(p.scaling), uvec2(0)));
  float scale = 1.0;
  // Lavapipe 26 executes loads with a uniform address even if no lane needs them.
  Scaling scaling = scaled ? p.scaling : Scaling(uvec2(p.inputs));
  if (scaled) scale = scaling.scale;
  const float norm = sqrt(sum) / scale, loss = p.loss.v[0], clip = p.inputs.clip_norm;
  uint halt = p.state.v[0];
  if (halt == 0) {
    halt = (finite(loss) ? 0u : LOSS) | (finite(sum) ? 0u : GRADIENT);
    if (scaled) halt = rescale(scaling, halt, scale);
    if ((halt & (LOSS | GRADIENT)) != 0) {
      p.state.v[0] = halt;
      p.state.v[1] = p.inputs.step_low;
      p.state.v[2] = p.inputs.step_high;
    }
  }
  p.metrics.loss = loss;
  p.metrics.gradient_norm = halt == SKIPPED ? 0.0 : norm;
  p.metrics.clip_scale = (clip > 0 && norm > clip ? clip / norm : 1.0) / scale;
  p.metrics.halt = halt;
  p.metrics.halt_step_low = p.state.v[1];
  p.metrics.halt_step_high = p.state.v[2];
  p.metrics.loss_scale = scaled ? scale : 0.0;
  uint skipped = 0, step_low = 0, step_high = 0;
  if (scaled) {
    skipped = scaling.skipped;
    step_low = scaling.step_low;
    step_high = scaling.step_high;
  }
  p.metrics.skipped = skipped;
  p.metrics.skipped_step_low = step_low;
  p.metrics.skipped_step_high = step_high;
}
