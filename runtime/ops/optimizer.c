/* Gradient norm, halt, loss scaling, and the update of the Adam family. Called by train/optimizer.c
 * and train/shards.c. */
#include "ops/optimizer.h"
#include "optimizer/contract.h"

#include "ops/support.h"

#include <math.h>

enum {
  INPUT_WORDS = sizeof(ft_optimizer_inputs) / sizeof(float),
  METRIC_WORDS = sizeof(ft_step_metrics) / sizeof(float)
};

/* Liu et al. 2020, algorithm 2: the factor r_t that corrects for the second moment's variance in
 * early steps; 0 while that variance is unbounded. The paper's threshold for the length is 4, its
 * authors' program has 5, and so do we. */
static double rectification(double beta2, double decayed2, double step) {
  double longest = 2 / (1 - beta2) - 1;
  double length = longest - 2 * step * decayed2 / (1 - decayed2);
  if (length < 5) return 0;
  return sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
}

void ft_optimizer_prepare(const ft_optimizer_settings *s, uint64_t step,
                          ft_optimizer_inputs *inputs) {
  double decayed2 = pow(s->beta2, (double)step);
  double rate = s->learning_rate / (1 - pow(s->beta1, (double)step));
  double root2 = sqrt(1 - decayed2), second_scale = 1 / root2, epsilon = s->epsilon;
  if (s->kind == FILTRA_OPTIMIZER_RADAM) {
    double r = rectification(s->beta2, decayed2, (double)step);
    second_scale = r > 0;
    if (r > 0)
      rate *= r * root2; /* epsilon is added to the uncorrected root, as in the authors' program */
    else
      epsilon = 1; /* a step along the first moment */
  }
  bool coupled = s->kind == FILTRA_OPTIMIZER_ADAM;
  *inputs = (ft_optimizer_inputs){
      .clip_norm = (float)s->clip_norm,
      .shrink = coupled ? 0 : (float)(s->learning_rate * s->weight_decay),
      .l2 = coupled ? (float)s->weight_decay : 0,
      .beta1 = (float)s->beta1,
      .fresh1 = (float)(1 - s->beta1),
      .beta2 = (float)s->beta2,
      .fresh2 = (float)(1 - s->beta2),
      .step_size = (float)rate,
      .second_scale = (float)second_scale,
      .epsilon = (float)epsilon,
      .step_low = (uint32_t)step,
      .step_high = (uint32_t)(step >> 32),
  };
}

/* The same as `rescale` in shaders/optimizer/watch.comp. */
uint32_t ft_loss_scale_step(ft_loss_scale *s, uint32_t halt, uint64_t step) {
  const float least = 0x1p-14f, largest = 0x1p24f;
  if (halt == FT_HALT_GRADIENT && s->scale > least) {
    s->scale *= 0.5f;
    s->steady = 0;
    s->skipped++;
    s->step_low = (uint32_t)step;
    s->step_high = (uint32_t)(step >> 32);
    return FT_HALT_SKIPPED;
  }
  if (halt) return halt;
  const bool grows = ++s->steady >= s->window;
  if (grows) s->steady = 0;
  if (grows && s->scale < largest) s->scale *= 2.0f;
  return 0;
}

filtra_tensor *ft_optimizer_input(filtra_graph *g) {
  return filtra_graph_input(g, "optimizer", FILTRA_F32, 1, (int64_t[]){INPUT_WORDS});
}

void ft_emit_accumulate(filtra_graph *g, filtra_tensor *x, filtra_tensor *scale, filtra_tensor *sum,
                        bool more) {
  if (!ft_usable_floats(g, x, 1, "accumulate", "x") ||
      !ft_usable_floats(g, scale, 1, "accumulate", "scale") ||
      !ft_usable_floats(g, sum, 1, "accumulate", "sum"))
    return;
  uint32_t count = (uint32_t)filtra_tensor_elements(x);
  ft_record_call(g, &(ft_kernel_call){.label = "accumulate",
                                      .kernel = "optimizer/accumulate",
                                      FT_ARGUMENTS(optimizer_accumulate, .x = FT_READ(x),
                                                   .scale = FT_READ(scale),
                                                   .sum = FT_TARGET(sum, more), .count = count),
                                      FT_CONSTANTS(optimizer_accumulate, .more = more),
                                      FT_FLAT(g, count),
                                      .flops = 2.0 * count,
                                      .bytes = 12.0 * count});
}

/* Workgroups that sum one tensor's squares. */
static int64_t square_groups(const filtra_tensor *x) {
  const int64_t per_group = 4096, most_groups = 1024;
  int64_t groups = (filtra_tensor_elements(x) + per_group - 1) / per_group;
  return groups < 1 ? 1 : groups > most_groups ? most_groups : groups;
}

static void emit_square_sums(filtra_graph *g, filtra_tensor *x, const filtra_tensor *sums) {
  uint32_t count = (uint32_t)filtra_tensor_elements(x);
  const filtra_device *dev = ft_graph_device(g);
  ft_record_call(g, &(ft_kernel_call){.label = "gradient_norm",
                                      .kernel = ft_kernel_name(dev, "optimizer/square_sums"),
                                      FT_ARGUMENTS(optimizer_square_sums, .x = FT_READ(x),
                                                   .sums = FT_WRITE(sums), .count = count),
                                      .workgroup = ft_caps_of(dev)->row_workgroup,
                                      .groups = {(uint32_t)filtra_tensor_elements(sums)},
                                      .flops = 2.0 * count,
                                      .bytes = 4.0 * count});
}

/* Sums of squares of all tensors, one after the other in one tensor. */
static filtra_tensor *emit_all_square_sums(filtra_graph *g, size_t count,
                                           filtra_tensor *const *gradients) {
  int64_t all = 0, at = 0;
  for (size_t i = 0; i < count; i++) {
    if (!ft_usable_floats(g, gradients[i], 1, "gradient_norm", "gradients")) return NULL;
    all += square_groups(gradients[i]);
  }
  filtra_tensor *sums = ft_tensor_new(g, "square sums", FILTRA_F32, 1, &all);
  for (size_t i = 0; i < count && sums; i++) {
    int64_t groups = square_groups(gradients[i]);
    filtra_tensor *part = ft_tensor_view(g, sums, 1, &groups, (int64_t[]){1});
    if (!part) return NULL;
    part->offset += at;
    at += groups;
    emit_square_sums(g, gradients[i], part);
  }
  return sums;
}

filtra_tensor *ft_emit_gradient_norm(filtra_graph *g, size_t count, filtra_tensor *const *gradients,
                                     filtra_tensor *loss, filtra_tensor *inputs,
                                     filtra_tensor *state, filtra_tensor *scaling) {
  if (!ft_usable_floats(g, loss, 1, "gradient_norm", "loss") || !ft_usable(g, inputs) ||
      !ft_usable(g, state))
    return NULL;
  filtra_tensor *sums = emit_all_square_sums(g, count, gradients);
  filtra_tensor *metrics =
      ft_tensor_new(g, "step metrics", FILTRA_I32, 1, (int64_t[]){METRIC_WORDS});
  if (!sums || !metrics) return NULL;
  uint32_t push = (uint32_t)filtra_tensor_elements(sums);
  const filtra_device *dev = ft_graph_device(g);
  ft_record_call(
      g, &(ft_kernel_call){.label = "gradient_norm",
                           .kernel = ft_kernel_name(dev, "optimizer/watch"),
                           FT_ARGUMENTS(optimizer_watch, .sums = FT_READ(sums),
                                        .loss = FT_READ(loss), .inputs = FT_READ(inputs),
                                        .state = FT_UPDATE(state), .metrics = FT_WRITE(metrics),
                                        .scaling = FT_UPDATE(scaling), .count = push),
                           .workgroup = ft_caps_of(dev)->row_workgroup});
  return metrics;
}

void ft_emit_adam(filtra_graph *g, const ft_adam_tensors *t, int64_t decayed, filtra_tensor *inputs,
                  filtra_tensor *metrics) {
  if (!ft_usable_floats(g, t->values, 1, "adam", "values") ||
      !ft_usable_floats(g, t->gradients, 1, "adam", "gradients") ||
      !ft_usable_floats(g, t->first, 1, "adam", "first moments") ||
      !ft_usable_floats(g, t->second, 1, "adam", "second moments") || !ft_usable(g, inputs) ||
      !ft_usable(g, metrics))
    return;
  if (!ft_same_shape(t->values, t->gradients) || !ft_same_shape(t->values, t->first) ||
      !ft_same_shape(t->values, t->second)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "adam: values, gradients and moments must have one length");
    return;
  }
  uint32_t count = (uint32_t)filtra_tensor_elements(t->values);
  ft_record_call(g, &(ft_kernel_call){
                        .label = "adam",
                        .kernel = "optimizer/adam",
                        FT_ARGUMENTS(optimizer_adam, .values = FT_UPDATE(t->values),
                                     .gradients = FT_READ(t->gradients),
                                     .first = FT_UPDATE(t->first), .second = FT_UPDATE(t->second),
                                     .inputs = FT_READ(inputs), .metrics = FT_READ(metrics),
                                     .count = count, .decayed = (uint32_t)decayed),
                        FT_FLAT(g, count),
                        .flops = 15.0 * count,
                        .bytes = 28.0 * count});
}
