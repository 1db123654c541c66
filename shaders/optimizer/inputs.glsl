// The host's inputs of each step and the metrics that a step reports: ft_optimizer_inputs and
// ft_step_metrics in runtime/ops/optimizer.h. Include common/types.glsl first.
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Inputs {
  float clip_norm;
  float shrink, l2;
  float beta1, fresh1, beta2, fresh2;
  float step_size, second_scale, epsilon;
  uint step_low, step_high;
};

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Metrics {
  float loss, gradient_norm, clip_scale;
  uint halt, halt_step_low, halt_step_high;
  float loss_scale;
  uint skipped, skipped_step_low, skipped_step_high;
};
