/* Complex tensors: a trailing axis of two, (re, im). The gradient of a loss L is (dL/dre, dL/dim),
 * so the gradient of a product is the upstream gradient times the other factor's conjugate. Called
 * by nn/converter.c and programs. */
#include "complex/contract.h"
#include "ops/support.h"

/* ---- from and to real tensors ---- */

struct join {
  filtra_tensor *re, *im, *z;
};

static void emit_join(filtra_graph *g, const char *label, const filtra_tensor *re,
                      const filtra_tensor *im, const filtra_tensor *z, bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(z) / 2;
  ft_record_call(g,
                 &(ft_kernel_call){.label = label,
                                   .kernel = "complex/join",
                                   .cheap = true,
                                   FT_ARGUMENTS(complex_join, .re = FT_READ(re), .im = FT_READ(im),
                                                .z = FT_TARGET(z, accumulate), .count = count),
                                   FT_CONSTANTS(complex_join, .accumulate = accumulate),
                                   FT_FLAT(g, count),
                                   .bytes = 16.0 * count});
}

/* re or im may be NULL. */
static void emit_parts(filtra_graph *g, const char *label, const filtra_tensor *z,
                       const filtra_tensor *re, bool accumulate_re, const filtra_tensor *im,
                       bool accumulate_im) {
  uint32_t count = (uint32_t)filtra_tensor_elements(z) / 2;
  ft_record_call(g,
                 &(ft_kernel_call){.label = label,
                                   .kernel = "complex/parts",
                                   .cheap = true,
                                   FT_ARGUMENTS(complex_parts, .z = FT_READ(z),
                                                .re = FT_TARGET(re, accumulate_re),
                                                .im = FT_TARGET(im, accumulate_im), .count = count),
                                   FT_CONSTANTS(complex_parts, .accumulate_re = accumulate_re,
                                                .accumulate_im = accumulate_im),
                                   FT_FLAT(g, count),
                                   .bytes = 16.0 * count});
}

static void join_backward(filtra_graph *g, const void *context) {
  const struct join *c = context;
  filtra_tensor *dz = ft_grad(g, c->z);
  bool accumulate_re, accumulate_im;
  filtra_tensor *re = ft_grad_target(g, c->re, &accumulate_re);
  if (re && c->im && c->im->owner == c->re->owner) { /* one tensor as both parts: two dispatches */
    emit_parts(g, "complex.backward", dz, re, accumulate_re, NULL, false);
    re = NULL;
  }
  filtra_tensor *im = ft_grad_target(g, c->im, &accumulate_im);
  if (re || im) emit_parts(g, "complex.backward", dz, re, accumulate_re, im, accumulate_im);
}

filtra_tensor *filtra_complex(filtra_graph *g, filtra_tensor *re, filtra_tensor *im) {
  if (!ft_usable_dense(g, re, "complex", "re") || (im && !ft_usable_dense(g, im, "complex", "im")))
    return NULL;
  if (im && !ft_same_shape(re, im))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "complex: %s %s and %s %s must have one shape",
                         re->name, ft_shape_text(re), im->name, ft_shape_text(im));
  int64_t shape[FILTRA_MAX_DIMS + 1];
  int ndim = filtra_tensor_shape(re, shape);
  if (ndim == FILTRA_MAX_DIMS)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "complex: %s %s has no axis left for (re, im)",
                         re->name, ft_shape_text(re));
  shape[ndim] = 2;
  struct join call = {re, im, ft_tensor_new(g, "complex", FILTRA_F32, ndim + 1, shape)};
  if (!call.z) return NULL;
  emit_join(g, "complex", re, im, call.z, false);
  return ft_record_op(g, "complex", join_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){re, im}, 1, &call.z);
}

static bool usable_complex(filtra_graph *g, const filtra_tensor *z, const char *op,
                           const char *argument) {
  if (!ft_usable_dense(g, z, op, argument)) return false;
  if (z->ndim >= 2 && ft_columns(z) == 2) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be complex, [.., 2]", op, argument,
                z->name, ft_shape_text(z));
  return false;
}

static void parts_backward(filtra_graph *g, const void *context) {
  const struct join *c = context;
  bool accumulate;
  filtra_tensor *dz = ft_grad_target(g, c->z, &accumulate);
  if (dz)
    emit_join(g, "complex_parts.backward", ft_grad(g, c->re), ft_grad(g, c->im), dz, accumulate);
}

void filtra_complex_parts(filtra_graph *g, filtra_tensor *z, filtra_tensor **re,
                          filtra_tensor **im) {
  if (re) *re = NULL;
  if (im) *im = NULL;
  if (!re || !im) ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "complex_parts: re or im is NULL");
  if (!usable_complex(g, z, "complex_parts", "z")) return;
  struct join call = {.z = z};
  call.re = ft_tensor_new(g, "re", FILTRA_F32, z->ndim - 1, z->shape);
  call.im = ft_tensor_new(g, "im", FILTRA_F32, z->ndim - 1, z->shape);
  if (!call.re || !call.im) return;
  emit_parts(g, "complex_parts", z, call.re, false, call.im, false);
  if (!ft_record_op(g, "complex_parts", parts_backward, &call, sizeof call, 1, &z, 2,
                    (filtra_tensor *[]){call.re, call.im}))
    return;
  *re = call.re;
  *im = call.im;
}

/* ---- unit phases ---- */

struct unit_phase {
  filtra_tensor *x, *y;
  bool turns;
};

static void unit_phase_backward(filtra_graph *g, const void *context) {
  const struct unit_phase *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = "unit_phase.backward",
                     .kernel = "complex/unit_phase_gradient",
                     .cheap = true,
                     FT_ARGUMENTS(complex_unit_phase_gradient, .y = FT_READ(c->y),
                                  .dy = FT_READ(ft_grad(g, c->y)), .dx = FT_TARGET(dx, accumulate),
                                  .count = (uint32_t)filtra_tensor_elements(dx),
                                  .rate = c->turns ? 6.28318531f : 1.0f),
                     FT_CONSTANTS(complex_unit_phase_gradient, .accumulate = accumulate),
                     FT_FLAT(g, (uint32_t)filtra_tensor_elements(dx)),
                     .bytes = 20.0 * (uint32_t)filtra_tensor_elements(dx)});
}

filtra_tensor *filtra_unit_phase(filtra_graph *g, filtra_tensor *x, filtra_angle angle) {
  const bool turns = angle == FILTRA_TURNS;
  if (!ft_known_choice(g, (int)angle, FILTRA_TURNS, "unit_phase", "unit of angles") ||
      !ft_usable_dense(g, x, "unit_phase", "x"))
    return NULL;
  int64_t shape[FILTRA_MAX_DIMS + 1];
  int ndim = filtra_tensor_shape(x, shape);
  if (ndim == FILTRA_MAX_DIMS)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "unit_phase: %s %s has no axis left for (re, im)", x->name,
                         ft_shape_text(x));
  shape[ndim] = 2;
  struct unit_phase call = {x, ft_tensor_new(g, "unit_phase", FILTRA_F32, ndim + 1, shape), turns};
  if (!call.y) return NULL;
  uint32_t count = (uint32_t)filtra_tensor_elements(x);
  ft_record_call(g, &(ft_kernel_call){.label = "unit_phase",
                                      .kernel = "complex/unit_phase",
                                      .cheap = true,
                                      FT_ARGUMENTS(complex_unit_phase, .x = FT_READ(x),
                                                   .y = FT_WRITE(call.y), .count = count),
                                      FT_CONSTANTS(complex_unit_phase, .turns = turns),
                                      FT_FLAT(g, count),
                                      .bytes = 12.0 * count});
  return ft_record_op(g, "unit_phase", unit_phase_backward, &call, sizeof call, 1, &x, 1, &call.y);
}

/* ---- product ---- */

struct product {
  filtra_tensor *a, *z, *y;
};

/* y = a z, or conj(a) z. */
static void emit_product(filtra_graph *g, const char *label, const filtra_tensor *a,
                         const filtra_tensor *z, const filtra_tensor *y, bool conjugate,
                         bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(y) / 2;
  ft_record_call(g, &(ft_kernel_call){
                        .label = label,
                        .kernel = "complex/multiply",
                        .cheap = true,
                        FT_ARGUMENTS(complex_multiply, .a = FT_READ(a), .z = FT_READ(z),
                                     .y = FT_TARGET(y, accumulate), .count = count),
                        FT_CONSTANTS(complex_multiply, .columns = (uint32_t)y->shape[y->ndim - 2],
                                     .conjugate = conjugate, .accumulate = accumulate),
                        FT_FLAT(g, count),
                        .flops = 6.0 * count,
                        .bytes = 16.0 * count});
}

static void product_backward(filtra_graph *g, const void *context) {
  const struct product *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  bool accumulate;
  filtra_tensor *dz = ft_grad_target(g, c->z, &accumulate);
  if (dz) emit_product(g, "complex_multiply.backward", c->a, dy, dz, true, accumulate);
  filtra_tensor *da = ft_grad_target(g, c->a, &accumulate);
  if (!da) return;
  filtra_device *dev = ft_graph_device(g);
  const uint32_t rows = (uint32_t)ft_rows(da);
  ft_team_grid grid = ft_teams(dev, rows);
  double elements = (double)filtra_tensor_elements(dy);
  ft_record_call(
      g, &(ft_kernel_call){.label = "complex_multiply.backward",
                           .kernel = ft_kernel_name(dev, "complex/multiply_gradient"),
                           .cheap = true,
                           FT_ARGUMENTS(complex_multiply_gradient, .z = FT_READ(c->z),
                                        .dy = FT_READ(dy), .da = FT_TARGET(da, accumulate),
                                        .rows = rows, .columns = (uint32_t)dy->shape[dy->ndim - 2]),
                           .workgroup = grid.workgroup,
                           FT_CONSTANTS(complex_multiply_gradient, .accumulate = accumulate),
                           .groups = {grid.groups},
                           .flops = 4 * elements,
                           .bytes = 8 * elements});
}

/* Whether z has the shape of a with a feature axis before the last. */
static bool broadcasts(const filtra_tensor *a, const filtra_tensor *z) {
  if (z->ndim != a->ndim + 1) return false;
  for (int i = 0; i < a->ndim - 1; i++)
    if (a->shape[i] != z->shape[i]) return false;
  return z->shape[z->ndim - 2] > 0;
}

filtra_tensor *filtra_complex_multiply(filtra_graph *g, filtra_tensor *a, filtra_tensor *z) {
  if (!usable_complex(g, a, "complex_multiply", "a") ||
      !usable_complex(g, z, "complex_multiply", "z"))
    return NULL;
  if (!broadcasts(a, z))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "complex_multiply: z (%s %s) must be a (%s %s) with a feature axis",
                         z->name, ft_shape_text(z), a->name, ft_shape_text(a));
  struct product call = {a, z, ft_tensor_like(g, z, "complex_multiply")};
  if (!call.y) return NULL;
  emit_product(g, "complex_multiply", a, z, call.y, false, false);
  return ft_record_op(g, "complex_multiply", product_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){a, z}, 1, &call.y);
}

/* ---- blend of the parts ---- */

struct blend {
  filtra_tensor *z, *weight, *y;
};

static void emit_blend(filtra_graph *g, const filtra_tensor *z, const filtra_tensor *weight,
                       const filtra_tensor *y, bool gradient, bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(y);
  ft_arg whole = FT_TARGET(z, accumulate), part = FT_READ(y);
  if (!gradient) {
    whole = (ft_arg)FT_READ(z);
    part = (ft_arg)FT_WRITE(y);
  }
  ft_record_call(g, &(ft_kernel_call){
                        .label = gradient ? "complex_blend.backward" : "complex_blend",
                        .kernel = "complex/blend",
                        .cheap = true,
                        FT_ARGUMENTS(complex_blend, .z = whole, .weight = FT_READ(weight),
                                     .y = part, .count = count),
                        FT_CONSTANTS(complex_blend, .gradient = gradient, .accumulate = accumulate),
                        FT_FLAT(g, count),
                        .flops = 3.0 * count,
                        .bytes = 12.0 * count});
}

static void blend_backward(filtra_graph *g, const void *context) {
  const struct blend *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  bool accumulate;
  filtra_tensor *dz = ft_grad_target(g, c->z, &accumulate);
  if (dz) emit_blend(g, dz, c->weight, dy, true, accumulate);
  filtra_tensor *dw = ft_grad_target(g, c->weight, &accumulate);
  if (!dw) return;
  filtra_device *dev = ft_graph_device(g);
  const uint32_t count = (uint32_t)filtra_tensor_elements(dy);
  const uint32_t lanes = ft_uniform_lanes(ft_caps_of(dev));
  const bool uniform = lanes && count % lanes == 0 && ft_begins_at(c->z, 8);
  int64_t groups = ft_sum_groups(dev, count);
  filtra_tensor *sums = ft_tensor_new(g, "weight sums", FILTRA_F32, 2, (int64_t[]){groups, 1});
  if (!sums) return;
  ft_record_call(g,
                 &(ft_kernel_call){.label = "complex_blend.backward",
                                   .kernel = uniform ? "complex/blend_weight.uniform"
                                                     : ft_kernel_name(dev, "complex/blend_weight"),
                                   .cheap = true,
                                   FT_ARGUMENTS(complex_blend_weight, .z = FT_READ(c->z),
                                                .weight = FT_READ(c->weight), .dy = FT_READ(dy),
                                                .sums = FT_WRITE(sums), .count = count),
                                   .workgroup = ft_caps_of(dev)->row_workgroup,
                                   .subgroup = uniform ? lanes : 0,
                                   .groups = {(uint32_t)groups},
                                   .flops = 3.0 * count,
                                   .bytes = 12.0 * count});
  ft_emit_sum_leading(g, "complex_blend.backward", sums, dw, accumulate);
}

filtra_tensor *filtra_complex_blend(filtra_graph *g, filtra_tensor *z, filtra_tensor *weight) {
  if (!usable_complex(g, z, "complex_blend", "z") ||
      !ft_usable_floats(g, weight, 1, "complex_blend", "weight"))
    return NULL;
  if (weight->shape[0] != 1 || !filtra_tensor_elements(z))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "complex_blend: weight (%s %s) must be [1] and z (%s %s) not empty",
                         weight->name, ft_shape_text(weight), z->name, ft_shape_text(z));
  struct blend call = {z, weight,
                       ft_tensor_new(g, "complex_blend", FILTRA_F32, z->ndim - 1, z->shape)};
  if (!call.y) return NULL;
  emit_blend(g, z, weight, call.y, false, false);
  return ft_record_op(g, "complex_blend", blend_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){z, weight}, 1, &call.y);
}
