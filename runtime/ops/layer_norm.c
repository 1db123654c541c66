/* Layer normalisation (Ba et al. 2016). */
#include "ops/support.h"

#include <filtra/ops.h>
#include <math.h>

struct layer_norm {
  filtra_tensor *x, *gain, *bias, *mean, *rstd, *y;
};

static void emit_x_gradient(filtra_graph *g, const struct layer_norm *c, filtra_tensor *dy) {
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, ft_rows(c->x));
  uint32_t push[] = {(uint32_t)ft_rows(c->x), (uint32_t)ft_columns(c->x)};
  double elements = (double)filtra_tensor_elements(c->x);
  ft_call(g, &(ft_kernel_call){
                 .label = "layer_norm.backward",
                 .kernel = ft_kernel_typed(dev, "layer_norm/backward", filtra_tensor_dtype(dy)),
                 .args = {FT_READ(c->x), FT_READ(dy), FT_READ(c->gain), FT_READ(c->mean),
                          FT_READ(c->rstd), FT_TARGET(dx, accumulate)},
                 FT_PUSH(push),
                 .workgroup = grid.workgroup,
                 .groups = {grid.groups},
                 FT_SPEC(accumulate),
                 .flops = 14 * elements,
                 .bytes = 12 * elements});
}

/* The gradients of gain and bias: sums over chunks of rows, then over chunks, in order. */
static void emit_column_gradients(filtra_graph *g, const struct layer_norm *c, filtra_tensor *dy) {
  bool accumulate_gain, accumulate_bias;
  filtra_tensor *gain = ft_grad_target(g, c->gain, &accumulate_gain);
  filtra_tensor *bias = ft_grad_target(g, c->bias, &accumulate_bias);
  if (!gain && !bias) return;
  const ft_caps *caps = ft_caps_of(ft_graph_device(g));
  uint32_t held = ft_constants_of(caps)->column_sums;
  int64_t rows = ft_rows(c->x), columns = ft_columns(c->x), chunk = ft_chunk_rows(rows);
  int64_t sums_shape[] = {(rows + chunk - 1) / chunk, columns};
  int64_t block = (int64_t)held * caps->row_workgroup;
  filtra_tensor *gain_sums = gain ? ft_tensor_new(g, "gain sums", FILTRA_F32, 2, sums_shape) : NULL;
  filtra_tensor *bias_sums = bias ? ft_tensor_new(g, "bias sums", FILTRA_F32, 2, sums_shape) : NULL;
  if ((gain && !gain_sums) || (bias && !bias_sums)) return;
  uint32_t push[] = {(uint32_t)rows, (uint32_t)columns, (uint32_t)chunk};
  double elements = (double)filtra_tensor_elements(c->x);
  ft_call(g, &(ft_kernel_call){
                 .label = "layer_norm.backward",
                 .kernel = ft_kernel_typed(ft_graph_device(g), "layer_norm/columns",
                                           filtra_tensor_dtype(dy)),
                 .args = {FT_READ(c->x), FT_READ(dy), FT_READ(c->mean), FT_READ(c->rstd),
                          FT_WRITE(gain_sums), FT_WRITE(bias_sums)},
                 FT_PUSH(push),
                 .workgroup = caps->row_workgroup,
                 .groups = {(uint32_t)((columns + block - 1) / block), (uint32_t)sums_shape[0]},
                 FT_SPEC(held),
                 .flops = 5 * elements,
                 .bytes = 8 * elements});
  if (gain) ft_emit_sum_leading(g, "layer_norm.backward", gain_sums, gain, accumulate_gain);
  if (bias) ft_emit_sum_leading(g, "layer_norm.backward", bias_sums, bias, accumulate_bias);
}

static void layer_norm_backward(filtra_graph *g, const void *context) {
  const struct layer_norm *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  emit_column_gradients(g, c, dy);
  emit_x_gradient(g, c, dy);
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
  if (!ft_tape(g, "layer_norm", layer_norm_backward, &call, sizeof call, 3,
               (filtra_tensor *[]){x, gain, bias}, 1, &y) ||
      !mean || !rstd)
    return NULL;
  filtra_device *dev = ft_graph_device(g);
  ft_team_grid grid = ft_teams(dev, rows);
  struct {
    uint32_t rows, columns;
    float eps;
  } push = {(uint32_t)rows, (uint32_t)ft_columns(x), eps};
  double elements = (double)filtra_tensor_elements(x);
  ft_call(g, &(ft_kernel_call){.label = "layer_norm",
                               .kernel = ft_kernel_typed(dev, "layer_norm/forward", dtype),
                               .args = {FT_READ(x), FT_READ(gain), FT_READ(bias), FT_WRITE(y),
                                        FT_WRITE(mean), FT_WRITE(rstd)},
                               FT_PUSH(push),
                               .workgroup = grid.workgroup,
                               .groups = {grid.groups},
                               .flops = 8 * elements,
                               .bytes = 8 * elements});
  return y;
}
