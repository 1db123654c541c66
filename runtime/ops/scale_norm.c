/* ScaleNorm (Nguyen & Salazar 2019, equation 6) with a gain for each feature, also for complex
 * features, as the Converter has it; without gain it is FixNorm (Nguyen & Chiang 2018). Called by
 * nn/converter.c and programs. */
#include "ops/support.h"
#include "scale_norm/contract.h"

#include <math.h>

struct scale_norm {
  filtra_tensor *x, *gain, *norm, *y;
  float eps;
  uint32_t parts; /* numbers per feature: 2 if complex */
};

static uint32_t columns_of(const struct scale_norm *c) {
  return (uint32_t)(ft_columns(c->x) * (c->parts == 2 ? c->x->shape[c->x->ndim - 2] : 1));
}

static uint32_t rows_of(const struct scale_norm *c) {
  return (uint32_t)(filtra_tensor_elements(c->x) / columns_of(c));
}

/* For the gradient of the gain: sums over parts of the rows, which are then added up in order. */
static filtra_tensor *gain_sums(filtra_graph *g, const struct scale_norm *c, int64_t parts) {
  return ft_tensor_new(g, "gain sums", FILTRA_F32, 2, (int64_t[]){parts, c->gain->shape[0]});
}

/* Records dx. sums: receives those of the gain if lanes take rows; or NULL. */
static void emit_x_gradient(filtra_graph *g, const struct scale_norm *c, const ft_row_part *part,
                            filtra_tensor *dx, bool accumulate, filtra_tensor *sums) {
  filtra_device *dev = ft_graph_device(g);
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = "scale_norm.backward",
          .kernel = ft_row_kernel(dev, "scale_norm/backward", FILTRA_F32, part),
          .cheap = true,
          FT_ARGUMENTS(scale_norm_backward, .x = FT_READ(c->x), .y_grad = FT_READ(ft_grad(g, c->y)),
                       .gain = FT_READ(c->gain), .norm = FT_READ(c->norm),
                       .x_grad = FT_TARGET(dx, accumulate), .gain_sums = FT_WRITE(sums),
                       .rows = rows_of(c), .columns = columns_of(c), .eps = c->eps),
          .workgroup = part->grid.workgroup,
          .subgroup = part->subgroup,
          .groups = {part->grid.groups},
          FT_CONSTANTS(scale_norm_backward, .HELD = part->held, .WHOLE = part->whole,
                       .parts = c->parts, .accumulate = accumulate, .summed = sums != NULL),
          .flops = (sums ? 10 : 7) * elements,
          .bytes = 12 * elements});
}

/* Sums for the gain over chunks of rows. */
static filtra_tensor *emit_gain_sums(filtra_graph *g, const struct scale_norm *c) {
  const uint32_t rows = rows_of(c), features = columns_of(c) / c->parts,
                 workgroup = ft_caps_of(ft_graph_device(g))->row_workgroup;
  int64_t chunk = ft_chunk_rows(rows);
  const int64_t chunks = (rows + chunk - 1) / chunk;
  filtra_tensor *sums = gain_sums(g, c, chunks);
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(g, &(ft_kernel_call){
                        .label = "scale_norm.backward",
                        .kernel = "scale_norm/columns",
                        .cheap = true,
                        FT_ARGUMENTS(scale_norm_columns, .x = FT_READ(c->x),
                                     .y_grad = FT_READ(ft_grad(g, c->y)), .norm = FT_READ(c->norm),
                                     .sums = FT_WRITE(sums), .rows = rows, .features = features,
                                     .chunk = (uint32_t)chunk, .eps = c->eps),
                        .workgroup = workgroup,
                        .groups = {(features + workgroup - 1) / workgroup, (uint32_t)chunks},
                        FT_CONSTANTS(scale_norm_columns, .parts = c->parts),
                        .flops = 3 * elements,
                        .bytes = 8 * elements});
  return sums;
}

static void scale_norm_backward(filtra_graph *g, const void *context) {
  const struct scale_norm *c = context;
  bool add_gain, add_x;
  filtra_tensor *gain = ft_grad_target(g, c->gain, &add_gain), *sums = NULL;
  filtra_tensor *dx = ft_grad_target(g, c->x, &add_x);
  const bool in_pairs = ft_in_pairs(c->x) && ft_in_pairs(ft_grad(g, c->y)) && ft_in_pairs(dx);
  const ft_row_part part =
      ft_f32_row_parts(ft_graph_device(g), rows_of(c), columns_of(c), in_pairs);
  if (gain) sums = part.variant && dx ? gain_sums(g, c, part.grid.groups) : emit_gain_sums(g, c);
  if (dx) emit_x_gradient(g, c, &part, dx, add_x, part.variant ? sums : NULL);
  if (gain) ft_emit_sum_leading(g, "scale_norm.backward", sums, gain, add_gain);
}

static bool check_scale_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain, float eps,
                             bool complex_features) {
  if (!ft_usable_dense(g, x, "scale_norm", "x")) return false;
  if (!filtra_tensor_elements(x)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "scale_norm: x (%s %s) is empty", x->name,
                  ft_shape_text(x));
    return false;
  }
  if (complex_features && (x->ndim < 2 || ft_columns(x) != 2)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "scale_norm: complex x (%s %s) must be [.., C, 2]",
                  x->name, ft_shape_text(x));
    return false;
  }
  if (!(eps >= 0) || isinf(eps)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "scale_norm: eps is %g, accepted are > 0", (double)eps);
    return false;
  }
  if (!gain) return true;
  if (!ft_usable_floats(g, gain, 1, "scale_norm", "gain")) return false;
  if (gain->shape[0] == x->shape[x->ndim - (complex_features ? 2 : 1)]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "scale_norm: gain %s %s does not fit the features of x (%s %s)", gain->name,
                ft_shape_text(gain), x->name, ft_shape_text(x));
  return false;
}

filtra_tensor *filtra_scale_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain, float eps,
                                 filtra_number number) {
  const bool complex_features = number == FILTRA_COMPLEX;
  const float default_eps = 1e-5f;
  if (!ft_known_choice(g, (int)number, FILTRA_COMPLEX, "scale_norm", "kind of number") ||
      !check_scale_norm(g, x, gain, eps, complex_features))
    return NULL;
  struct scale_norm s = {
      .x = x, .gain = gain, .eps = eps == 0 ? default_eps : eps, .parts = complex_features ? 2 : 1};
  s.y = ft_tensor_like(g, x, "scale_norm");
  s.norm = ft_tensor_new(g, "norm", FILTRA_F32, 1, (int64_t[]){rows_of(&s)});
  if (!ft_record_op(g, "scale_norm", scale_norm_backward, &s, sizeof s, 2,
                    (filtra_tensor *[]){x, gain}, 1, &s.y) ||
      !s.norm)
    return NULL;
  filtra_device *dev = ft_graph_device(g);
  const ft_row_part part =
      ft_f32_row_parts(dev, rows_of(&s), columns_of(&s), ft_in_pairs(x) && ft_in_pairs(s.y));
  double elements = (double)filtra_tensor_elements(x);
  ft_record_call(g, &(ft_kernel_call){
                        .label = "scale_norm",
                        .kernel = ft_row_kernel(dev, "scale_norm/forward", FILTRA_F32, &part),
                        .cheap = true,
                        FT_ARGUMENTS(scale_norm_forward, .x = FT_READ(x), .gain = FT_READ(gain),
                                     .y = FT_WRITE(s.y), .norm = FT_WRITE(s.norm),
                                     .rows = rows_of(&s), .columns = columns_of(&s), .eps = s.eps),
                        .workgroup = part.grid.workgroup,
                        .subgroup = part.subgroup,
                        .groups = {part.grid.groups},
                        FT_CONSTANTS(scale_norm_forward, .HELD = part.held, .WHOLE = part.whole,
                                     .parts = s.parts),
                        .flops = 4 * elements,
                        .bytes = 8 * elements});
  return s.y;
}
