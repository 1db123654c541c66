/* Layer normalisation (Ba et al. 2016). Called by nn/layers.c and programs. */
#include "layer_norm/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>
#include <math.h>

struct layer_norm {
  filtra_tensor *x, *gain, *bias, *mean, *rstd, *y;
};

/* Whether rows are aligned pairs of F32. y: the result or its gradient; dx: NULL in the forward
 * pass. Pairs are of F32 only: their gain with 16 bits was not measured. */
static bool in_pairs(const struct layer_norm *c, const filtra_tensor *y, const filtra_tensor *dx) {
  return filtra_tensor_dtype(y) == FILTRA_F32 && ft_in_pairs(y) && ft_in_pairs(c->x) &&
         ft_in_pairs(c->gain) && ft_in_pairs(c->bias) && ft_in_pairs(dx);
}

/* The gradient of gain or bias: sums over parts of the rows, which are then added up in order. */
typedef struct parameter_gradient {
  filtra_tensor *target, *sums; /* NULL: not wanted */
  bool accumulate;
} parameter_gradient;

static parameter_gradient begin(filtra_graph *g, filtra_tensor *t, int64_t parts) {
  const int64_t shape[] = {parts, t->shape[0]};
  parameter_gradient d = {0};
  d.target = ft_grad_target(g, t, &d.accumulate);
  if (d.target) d.sums = ft_tensor_new(g, "sums", FILTRA_F32, 2, shape);
  return d;
}

static void end(filtra_graph *g, const parameter_gradient *d) {
  if (d->sums) ft_emit_sum_leading(g, "layer_norm.backward", d->sums, d->target, d->accumulate);
}

/* Sums over chunks of rows, separate from dx: for rows too long for a team's registers, and on CPU
 * drivers, where one kernel for both is not faster. */
static void emit_column_gradients(filtra_graph *g, const struct layer_norm *c, filtra_tensor *dy) {
  const ft_caps *caps = ft_caps_of(ft_graph_device(g));
  uint32_t held = ft_constants_of(caps)->column_sums;
  int64_t rows = ft_rows(c->x), columns = ft_columns(c->x), chunk = ft_chunk_rows(rows);
  int64_t parts = (rows + chunk - 1) / chunk, block = (int64_t)held * caps->row_workgroup;
  const parameter_gradient gain = begin(g, c->gain, parts), bias = begin(g, c->bias, parts);
  if (!gain.sums && !bias.sums) return;
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(
      g, &(ft_kernel_call){.label = "layer_norm.backward",
                           .kernel = ft_kernel_typed(ft_graph_device(g), "layer_norm/columns",
                                                     filtra_tensor_dtype(dy)),
                           .cheap = true,
                           FT_ARGUMENTS(layer_norm_columns, .x = FT_READ(c->x),
                                        .y_grad = FT_READ(dy), .mean = FT_READ(c->mean),
                                        .rstd = FT_READ(c->rstd), .gain_sums = FT_WRITE(gain.sums),
                                        .bias_sums = FT_WRITE(bias.sums), .rows = (uint32_t)rows,
                                        .columns = (uint32_t)columns, .chunk = (uint32_t)chunk),
                           .workgroup = caps->row_workgroup,
                           .groups = {(uint32_t)((columns + block - 1) / block), (uint32_t)parts},
                           FT_CONSTANTS(layer_norm_columns, .held = held),
                           .flops = 5 * elements,
                           .bytes = 8 * elements});
  end(g, &gain);
  end(g, &bias);
}

static void layer_norm_backward(filtra_graph *g, const void *context) {
  const struct layer_norm *c = context;
  filtra_device *dev = ft_graph_device(g);
  filtra_tensor *dy = ft_grad(g, c->y);
  const uint32_t rows = (uint32_t)ft_rows(c->x), columns = (uint32_t)ft_columns(c->x);
  const uint32_t most = ft_constants_of(ft_caps_of(dev))->sum_groups;
  bool accumulate = false;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  const bool pairs = in_pairs(c, dy, dx);
  ft_row_part part = ft_f32_row_parts(dev, rows, columns, pairs);
  parameter_gradient gain = {0}, bias = {0};
  if (part.variant || (part.whole && most)) {
    const uint32_t groups = part.grid.groups;
    const uint32_t parts = part.variant || groups < most ? groups : most;
    gain = begin(g, c->gain, parts);
    bias = begin(g, c->bias, parts);
    if (gain.sums || bias.sums) part.grid.groups = parts;
  } else {
    emit_column_gradients(g, c, dy);
  }
  const bool sums = gain.sums || bias.sums;
  if (!dx && !sums) return;
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = "layer_norm.backward",
          .kernel = ft_row_kernel(dev, "layer_norm/backward", filtra_tensor_dtype(dy), &part),
          .cheap = true,
          FT_ARGUMENTS(layer_norm_backward, .x = FT_READ(c->x), .y_grad = FT_READ(dy),
                       .gain = FT_READ(c->gain), .mean = FT_READ(c->mean), .rstd = FT_READ(c->rstd),
                       .x_grad = FT_TARGET(dx, accumulate), .gain_sums = FT_WRITE(gain.sums),
                       .bias_sums = FT_WRITE(bias.sums), .rows = rows, .columns = columns),
          .workgroup = part.grid.workgroup,
          .subgroup = part.subgroup,
          .groups = {part.grid.groups},
          FT_CONSTANTS(layer_norm_backward, .HELD = part.held, .WHOLE = part.whole,
                       .accumulate = accumulate, .SPACE = sums ? part.numbers : 0),
          .flops = (dx ? 14 : 0) * elements + (sums ? 5 : 0) * elements,
          .bytes = (dx ? 12 : 8) * elements});
  end(g, &gain);
  end(g, &bias);
}

static bool check_vector(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *t,
                         const char *argument) {
  if (!ft_usable_floats(g, t, 1, "layer_norm", argument)) return false;
  if (t->shape[0] == ft_columns(x)) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "layer_norm: %s %s %s does not fit the last axis of x (%s %s)", argument, t->name,
                ft_shape_text(t), x->name, ft_shape_text(x));
  return false;
}

filtra_tensor *filtra_layer_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                                 filtra_tensor *bias, float eps) {
  return ft_layer_norm(g, x, gain, bias, eps, FILTRA_F32);
}

filtra_tensor *ft_layer_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                             filtra_tensor *bias, float eps, filtra_dtype dtype) {
  const float default_eps = 1e-5f;
  if (!ft_usable_dense(g, x, "layer_norm", "x") || !check_vector(g, x, gain, "gain") ||
      !check_vector(g, x, bias, "bias"))
    return NULL;
  if (!filtra_tensor_elements(x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "layer_norm: x (%s %s) is empty", x->name,
                         ft_shape_text(x));
  if (!(eps >= 0) || isinf(eps))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "layer_norm: eps is %g, accepted are > 0",
                         (double)eps);
  if (eps == 0) eps = default_eps;
  int64_t rows = ft_rows(x);
  filtra_tensor *y = ft_tensor_new(g, "layer_norm", dtype, x->ndim, x->shape);
  if (!ft_usable_elements(g, y, "layer_norm", "y")) return NULL;
  filtra_tensor *mean = ft_tensor_new(g, "mean", FILTRA_F32, 1, &rows);
  filtra_tensor *rstd = ft_tensor_new(g, "rstd", FILTRA_F32, 1, &rows);
  const struct layer_norm call = {x, gain, bias, mean, rstd, y};
  if (!ft_record_op(g, "layer_norm", layer_norm_backward, &call, sizeof call, 3,
                    (filtra_tensor *[]){x, gain, bias}, 1, &y) ||
      !mean || !rstd)
    return NULL;
  filtra_device *dev = ft_graph_device(g);
  const bool pairs = in_pairs(&call, y, NULL);
  const ft_row_part part = ft_f32_row_parts(dev, rows, ft_columns(x), pairs);
  double elements = (double)filtra_tensor_elements(x);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = "layer_norm",
                     .kernel = ft_row_kernel(dev, "layer_norm/forward", dtype, &part),
                     .cheap = true,
                     FT_ARGUMENTS(layer_norm_forward, .x = FT_READ(x), .gain = FT_READ(gain),
                                  .bias = FT_READ(bias), .y = FT_WRITE(y), .mean = FT_WRITE(mean),
                                  .rstd = FT_WRITE(rstd), .rows = (uint32_t)rows,
                                  .columns = (uint32_t)ft_columns(x), .eps = eps),
                     .workgroup = part.grid.workgroup,
                     .subgroup = part.subgroup,
                     .groups = {part.grid.groups},
                     FT_CONSTANTS(layer_norm_forward, .HELD = part.held, .WHOLE = part.whole),
                     .flops = 8 * elements,
                     .bytes = 8 * elements});
  return y;
}
