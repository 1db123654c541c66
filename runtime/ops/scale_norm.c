/* ScaleNorm (Nguyen & Salazar 2019, equation 6), with a gain per feature and for complex features
 * too, as the Converter uses it; without a gain it is FixNorm (Nguyen & Chiang 2018). */
#include "ops/support.h"

#include <math.h>

struct scale_norm {
  filtra_tensor *x, *gain, *norm, *y;
  float eps;
  uint32_t parts; /* numbers per feature: 2 for complex ones */
};

struct row_push {
  uint32_t rows, columns;
  float eps;
};

static int64_t columns_of(const struct scale_norm *c) {
  return ft_columns(c->x) * (c->parts == 2 ? c->x->shape[c->x->ndim - 2] : 1);
}

static struct row_push row_arguments(const struct scale_norm *c) {
  int64_t columns = columns_of(c);
  return (struct row_push){(uint32_t)(filtra_tensor_elements(c->x) / columns), (uint32_t)columns,
                           c->eps};
}

/* The gain's gradient: sums over parts of the rows, which are then added up in order. */
static filtra_tensor *gain_sums(filtra_graph *g, const struct scale_norm *c, int64_t parts) {
  return ft_tensor_new(g, "gain sums", FILTRA_F32, 2, (int64_t[]){parts, c->gain->shape[0]});
}

/* sums: the gain's, by lanes; or NULL. */
static void emit_x_gradient(filtra_graph *g, const struct scale_norm *c, const ft_row_part *part,
                            filtra_tensor *dx, bool accumulate, filtra_tensor *sums) {
  filtra_device *dev = ft_graph_device(g);
  const struct row_push push = row_arguments(c);
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(
      g, &(ft_kernel_call){.label = "scale_norm.backward",
                           .kernel = ft_row_kernel(dev, "scale_norm/backward", FILTRA_F32, part),
                           .cheap = true,
                           .args = {FT_READ(c->x), FT_READ(ft_grad(g, c->y)), FT_READ(c->gain),
                                    FT_READ(c->norm), FT_TARGET(dx, accumulate), FT_WRITE(sums)},
                           FT_PUSH(push),
                           .workgroup = part->grid.workgroup,
                           .subgroup = part->subgroup,
                           .groups = {part->grid.groups},
                           FT_SPEC(part->held, part->whole, c->parts, accumulate, sums != NULL),
                           .flops = (sums ? 10 : 7) * elements,
                           .bytes = 12 * elements});
}

/* Sums over chunks of rows. */
static filtra_tensor *emit_gain_sums(filtra_graph *g, const struct scale_norm *c) {
  struct row_push row = row_arguments(c);
  uint32_t features = row.columns / c->parts,
           workgroup = ft_caps_of(ft_graph_device(g))->row_workgroup;
  int64_t chunk = ft_chunk_rows(row.rows);
  const int64_t chunks = (row.rows + chunk - 1) / chunk;
  filtra_tensor *sums = gain_sums(g, c, chunks);
  struct {
    uint32_t rows, features, chunk;
    float eps;
  } push = {row.rows, features, (uint32_t)chunk, c->eps};
  double elements = (double)filtra_tensor_elements(c->x);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "scale_norm.backward",
             .kernel = "scale_norm/columns",
             .cheap = true,
             .args = {FT_READ(c->x), FT_READ(ft_grad(g, c->y)), FT_READ(c->norm), FT_WRITE(sums)},
             FT_PUSH(push),
             .workgroup = workgroup,
             .groups = {(features + workgroup - 1) / workgroup, (uint32_t)chunks},
             FT_SPEC(c->parts),
             .flops = 3 * elements,
             .bytes = 8 * elements});
  return sums;
}

static void scale_norm_backward(filtra_graph *g, const void *context) {
  const struct scale_norm *c = context;
  bool add_gain, add_x;
  filtra_tensor *gain = ft_grad_target(g, c->gain, &add_gain), *sums = NULL;
  filtra_tensor *dx = ft_grad_target(g, c->x, &add_x);
  const struct row_push row = row_arguments(c);
  const bool in_pairs = ft_in_pairs(c->x) && ft_in_pairs(ft_grad(g, c->y)) && ft_in_pairs(dx);
  const ft_row_part part = ft_row_parts(ft_graph_device(g), row.rows, row.columns, in_pairs);
  if (gain) sums = part.lanes && dx ? gain_sums(g, c, part.grid.groups) : emit_gain_sums(g, c);
  if (dx) emit_x_gradient(g, c, &part, dx, add_x, part.lanes ? sums : NULL);
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
  if (!check_scale_norm(g, x, gain, eps, complex_features)) return NULL;
  struct scale_norm s = {
      .x = x, .gain = gain, .eps = eps == 0 ? default_eps : eps, .parts = complex_features ? 2 : 1};
  struct row_push push = row_arguments(&s);
  s.y = ft_tensor_like(g, x, "scale_norm");
  s.norm = ft_tensor_new(g, "norm", FILTRA_F32, 1, (int64_t[]){push.rows});
  if (!ft_record_op(g, "scale_norm", scale_norm_backward, &s, sizeof s, 2,
                    (filtra_tensor *[]){x, gain}, 1, &s.y) ||
      !s.norm)
    return NULL;
  filtra_device *dev = ft_graph_device(g);
  const ft_row_part part =
      ft_row_parts(dev, push.rows, push.columns, ft_in_pairs(x) && ft_in_pairs(s.y));
  double elements = (double)filtra_tensor_elements(x);
  ft_record_call(
      g, &(ft_kernel_call){.label = "scale_norm",
                           .kernel = ft_row_kernel(dev, "scale_norm/forward", FILTRA_F32, &part),
                           .cheap = true,
                           .args = {FT_READ(x), FT_READ(gain), FT_WRITE(s.y), FT_WRITE(s.norm)},
                           FT_PUSH(push),
                           .workgroup = part.grid.workgroup,
                           .subgroup = part.subgroup,
                           .groups = {part.grid.groups},
                           FT_SPEC(part.held, part.whole, s.parts),
                           .flops = 4 * elements,
                           .bytes = 8 * elements});
  return s.y;
}
