/* Losses and accuracy per row, and weighted means. Called by model/batch.c and programs. */
#include "loss/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>

static bool usable_rows(filtra_graph *g, const filtra_tensor *x, const char *op,
                        const char *argument) {
  if (!ft_usable_floats(g, x, 2, op, argument)) return false;
  if (x->shape[1] >= 1) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s has no columns", op, x->name,
                ft_shape_text(x));
  return false;
}

static bool usable_labels(filtra_graph *g, const filtra_tensor *logits, const filtra_tensor *labels,
                          const char *op) {
  if (!usable_rows(g, logits, op, "logits") || !ft_usable_integers(g, labels, 1, op, "labels"))
    return false;
  if (labels->shape[0] == logits->shape[0]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s must have one label for each row of %s %s", op,
                labels->name, ft_shape_text(labels), logits->name, ft_shape_text(logits));
  return false;
}

/* ---- cross-entropy ---- */

struct cross_entropy {
  filtra_tensor *logits, *labels, *loss, *scale;
  float smoothing;
};

static void cross_entropy_backward(filtra_graph *g, const void *context) {
  const struct cross_entropy *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->logits, &accumulate);
  if (!dx) return;
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = "cross_entropy.backward",
          .kernel = "loss/cross_entropy_gradient",
          FT_ARGUMENTS(loss_cross_entropy_gradient, .logits = FT_READ(c->logits),
                       .labels = FT_READ(c->labels), .scale = FT_READ(c->scale),
                       .dloss = FT_READ(ft_grad(g, c->loss)), .dlogits = FT_TARGET(dx, accumulate),
                       .count = (uint32_t)filtra_tensor_elements(dx), .smoothing = c->smoothing),
          FT_CONSTANTS(loss_cross_entropy_gradient, .columns = (uint32_t)ft_columns(dx),
                       .accumulate = accumulate),
          FT_FLAT(g, (uint32_t)filtra_tensor_elements(dx)),
          .flops = 4.0 * (uint32_t)filtra_tensor_elements(dx),
          .bytes = 8.0 * (uint32_t)filtra_tensor_elements(dx)});
}

filtra_tensor *filtra_cross_entropy(filtra_graph *g, filtra_tensor *logits, filtra_tensor *labels,
                                    float smoothing) {
  if (!usable_labels(g, logits, labels, "cross_entropy")) return NULL;
  if (!(smoothing >= 0 && smoothing < 1))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "cross_entropy: label smoothing %g must lie in [0,1)", (double)smoothing);
  int64_t rows = logits->shape[0];
  filtra_tensor *loss = ft_tensor_new(g, "cross_entropy", FILTRA_F32, 1, &rows);
  filtra_tensor *scale = ft_tensor_new(g, "softmax scale", FILTRA_F32, 2, (int64_t[]){rows, 2});
  if (!loss || !scale) return NULL;
  const filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, rows);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "cross_entropy",
             .kernel = ft_kernel_name(dev, "loss/cross_entropy"),
             FT_ARGUMENTS(loss_cross_entropy, .logits = FT_READ(logits), .labels = FT_READ(labels),
                          .loss = FT_WRITE(loss), .scale = FT_WRITE(scale), .rows = (uint32_t)rows,
                          .columns = (uint32_t)logits->shape[1], .smoothing = smoothing),
             .workgroup = grid.workgroup,
             .groups = {grid.groups},
             .flops = 4.0 * (double)filtra_tensor_elements(logits),
             .bytes = 4.0 * (double)filtra_tensor_elements(logits)});
  const struct cross_entropy call = {logits, labels, loss, scale, smoothing};
  return ft_record_op(g, "cross_entropy", cross_entropy_backward, &call, sizeof call, 1, &logits, 1,
                      &loss);
}

/* ---- binary cross-entropy ---- */

static bool usable_labelled(filtra_graph *g, const filtra_tensor *logits, const filtra_tensor *y,
                            const char *argument) {
  const char *op = "binary_cross_entropy";
  if (!usable_rows(g, y, op, argument)) return false;
  if (!ft_same_shape(logits, y))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s and %s %s must have one shape", op,
                  logits->name, ft_shape_text(logits), y->name, ft_shape_text(y));
  else if (y->owner->requires_grad)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s has a gradient, and %s have none here", op,
                  y->name, argument);
  return ft_graph_status(g) == FILTRA_OK;
}

filtra_tensor *filtra_binary_cross_entropy(filtra_graph *g, filtra_tensor *logits,
                                           filtra_tensor *targets, filtra_tensor *weights) {
  if (!usable_rows(g, logits, "binary_cross_entropy", "logits") ||
      !usable_labelled(g, logits, targets, "targets") ||
      (weights && !usable_labelled(g, logits, weights, "weights")))
    return NULL;
  filtra_tensor *wrong = filtra_multiply(g, logits, filtra_affine(g, targets, -2.0f, 1.0f));
  filtra_tensor *each = filtra_activate(g, wrong, FILTRA_ACTIVATION_SOFTPLUS);
  if (weights) each = filtra_multiply(g, each, weights);
  return filtra_mean(g, each, 1, FILTRA_DROP_AXIS);
}

/* ---- squared and absolute error ---- */

struct error {
  filtra_tensor *x, *y, *loss;
  bool absolute;
};

static void error_backward(filtra_graph *g, const void *context) {
  const struct error *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  uint32_t count = (uint32_t)filtra_tensor_elements(dx);
  ft_record_call(g, &(ft_kernel_call){
                        .label = c->absolute ? "absolute_error.backward" : "squared_error.backward",
                        .kernel = "loss/error_gradient",
                        FT_ARGUMENTS(loss_error_gradient, .x = FT_READ(c->x), .y = FT_READ(c->y),
                                     .dloss = FT_READ(ft_grad(g, c->loss)),
                                     .dx = FT_TARGET(dx, accumulate), .count = count),
                        FT_CONSTANTS(loss_error_gradient, .columns = (uint32_t)ft_columns(dx),
                                     .absolute = c->absolute, .accumulate = accumulate),
                        FT_FLAT(g, count),
                        .bytes = 12.0 * count});
}

static filtra_tensor *error_of(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool absolute) {
  const char *op = absolute ? "absolute_error" : "squared_error";
  if (!usable_rows(g, x, op, "x") || !usable_rows(g, y, op, "y")) return NULL;
  if (!ft_same_shape(x, y))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s and %s %s must have one shape", op,
                         x->name, ft_shape_text(x), y->name, ft_shape_text(y));
  filtra_tensor *loss = ft_tensor_new(g, op, FILTRA_F32, 1, &x->shape[0]);
  if (!loss) return NULL;
  const filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, x->shape[0]);
  ft_record_call(
      g, &(ft_kernel_call){.label = op,
                           .kernel = ft_kernel_name(dev, "loss/error"),
                           FT_ARGUMENTS(loss_error, .x = FT_READ(x), .y = FT_READ(y),
                                        .loss = FT_WRITE(loss), .rows = (uint32_t)x->shape[0],
                                        .columns = (uint32_t)x->shape[1]),
                           .workgroup = grid.workgroup,
                           FT_CONSTANTS(loss_error, .absolute = absolute),
                           .groups = {grid.groups},
                           .bytes = 4.0 * (double)filtra_tensor_elements(x)});
  const struct error call = {x, y, loss, absolute};
  return ft_record_op(g, op, error_backward, &call, sizeof call, 1, &x, 1, &loss);
}

filtra_tensor *filtra_squared_error(filtra_graph *g, filtra_tensor *x, filtra_tensor *y) {
  return error_of(g, x, y, false);
}

filtra_tensor *filtra_absolute_error(filtra_graph *g, filtra_tensor *x, filtra_tensor *y) {
  return error_of(g, x, y, true);
}

/* ---- accuracy ---- */

/* Checks the arguments and creates the result. */
static filtra_tensor *new_hits(filtra_graph *g, const filtra_tensor *logits,
                               const filtra_tensor *labels, const char *op) {
  const int64_t most_columns = 1 << 24; /* kernels hold column numbers as floats */
  if (!usable_labels(g, logits, labels, op)) return NULL;
  if (logits->shape[1] > most_columns)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s has more than %lld columns", op,
                         logits->name, ft_shape_text(logits), (long long)most_columns);
  return ft_tensor_new(g, op, FILTRA_F32, 1, &logits->shape[0]);
}

filtra_tensor *filtra_accuracy(filtra_graph *g, filtra_tensor *logits, filtra_tensor *labels) {
  filtra_tensor *hit = new_hits(g, logits, labels, "accuracy");
  if (!hit) return NULL;
  const filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, logits->shape[0]);
  ft_record_call(g, &(ft_kernel_call){.label = "accuracy",
                                      .kernel = ft_kernel_name(dev, "loss/accuracy"),
                                      FT_ARGUMENTS(loss_accuracy, .logits = FT_READ(logits),
                                                   .labels = FT_READ(labels), .hit = FT_WRITE(hit),
                                                   .rows = (uint32_t)logits->shape[0],
                                                   .columns = (uint32_t)logits->shape[1]),
                                      .workgroup = grid.workgroup,
                                      .groups = {grid.groups},
                                      .bytes = 4.0 * (double)filtra_tensor_elements(logits)});
  return ft_record_op(g, "accuracy", NULL, NULL, 0, 1, &logits, 1, &hit);
}

filtra_tensor *filtra_top_k_accuracy(filtra_graph *g, filtra_tensor *logits, filtra_tensor *labels,
                                     int64_t k) {
  const char *op = "top_k_accuracy";
  filtra_tensor *hit = new_hits(g, logits, labels, op);
  if (!hit) return NULL;
  if (k < 1 || k > logits->shape[1])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: k is %lld; %s %s takes 1 to %lld", op,
                         (long long)k, logits->name, ft_shape_text(logits),
                         (long long)logits->shape[1]);
  const filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, logits->shape[0]);
  ft_record_call(
      g, &(ft_kernel_call){.label = op,
                           .kernel = ft_kernel_name(dev, "loss/top_k_accuracy"),
                           FT_ARGUMENTS(loss_top_k_accuracy, .logits = FT_READ(logits),
                                        .labels = FT_READ(labels), .hit = FT_WRITE(hit),
                                        .rows = (uint32_t)logits->shape[0],
                                        .columns = (uint32_t)logits->shape[1], .k = (uint32_t)k),
                           .workgroup = grid.workgroup,
                           .groups = {grid.groups},
                           .bytes = 4.0 * (double)filtra_tensor_elements(logits)});
  return ft_record_op(g, op, NULL, NULL, 0, 1, &logits, 1, &hit);
}

/* ---- weighted mean ---- */

struct weighted_mean {
  filtra_tensor *x, *weights, *y, *scale;
};

static void weighted_mean_backward(filtra_graph *g, const void *context) {
  const struct weighted_mean *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  uint32_t count = (uint32_t)filtra_tensor_elements(dx);
  ft_record_call(g, &(ft_kernel_call){
                        .label = "weighted_mean.backward",
                        .kernel = "loss/weighted_mean_gradient",
                        FT_ARGUMENTS(loss_weighted_mean_gradient, .dy = FT_READ(ft_grad(g, c->y)),
                                     .scale = FT_READ(c->scale), .weights = FT_READ(c->weights),
                                     .dx = FT_TARGET(dx, accumulate), .count = count),
                        FT_CONSTANTS(loss_weighted_mean_gradient, .accumulate = accumulate),
                        FT_FLAT(g, count)});
}

static filtra_tensor *weighted(filtra_graph *g, filtra_tensor *x, filtra_tensor *weights,
                               filtra_tensor *scale) {
  if (!ft_usable_floats(g, x, 1, "weighted_mean", "x")) return NULL;
  if (weights && !ft_usable_floats(g, weights, 1, "weighted_mean", "weights")) return NULL;
  if (weights && !ft_same_shape(x, weights))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "weighted_mean: weights %s do not fit %s %s",
                         ft_shape_text(weights), x->name, ft_shape_text(x));
  struct weighted_mean call = {x, weights, NULL, scale};
  call.y = ft_tensor_new(g, "weighted_mean", FILTRA_F32, 1, (int64_t[]){1});
  if (!scale) call.scale = ft_tensor_new(g, "weight scale", FILTRA_F32, 1, (int64_t[]){1});
  if (!call.y || !call.scale) return NULL;
  const filtra_device *dev = ft_graph_device(g);
  ft_access_mode mode = scale ? FT_ACCESS_READ : FT_ACCESS_WRITE;
  ft_kernel_call kernel = {.label = "weighted_mean",
                           .kernel = ft_kernel_name(dev, "loss/weighted_mean"),
                           FT_ARGUMENTS(loss_weighted_mean, .x = FT_READ(x),
                                        .weights = FT_READ(weights), .y = FT_WRITE(call.y),
                                        .scale = {call.scale, mode},
                                        .count = (uint32_t)x->shape[0]),
                           .workgroup = ft_caps_of(dev)->row_workgroup,
                           FT_CONSTANTS(loss_weighted_mean, .given = true)};
  if (!scale) kernel.constant_count = 0; /* the kernel computes the scale */
  ft_record_call(g, &kernel);
  return ft_record_op(g, "weighted_mean", weighted_mean_backward, &call, sizeof call, 1, &x, 1,
                      &call.y);
}

filtra_tensor *filtra_weighted_mean(filtra_graph *g, filtra_tensor *x, filtra_tensor *weights) {
  return weighted(g, x, weights, NULL);
}

filtra_tensor *ft_weighted_sum(filtra_graph *g, filtra_tensor *x, filtra_tensor *weights,
                               filtra_tensor *scale) {
  return ft_usable_floats(g, scale, 1, "weighted_sum", "scale") ? weighted(g, x, weights, scale)
                                                                : NULL;
}
