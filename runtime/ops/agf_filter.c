/* The factor U of the attentive graph filter, and the polynomial that weights it. Called by
 * ops/agf.c; ft_agf_response by nn/mixer/agf.c for plots. */
#include "agf/contract.h"
#include "ops/agf.h"

#include <math.h>

struct filter {
  filtra_tensor *u, *s, *raw, *table, *w, *factor, *mask;
  filtra_rho rho;
  filtra_theta_mode theta_mode;
  uint32_t order;
  bool symmetric;
};

/* ---- basis ---- */

/* P_k = (A_k x + B_k) P_{k-1} - C_k P_{k-2}, with P_{-1} = 0 so that it holds from k = 1 on. The
 * Jacobi coefficients are those of DLMF 18.9.1-2 (Wi et al. 2025 print A_k with a wrong sign). */
static void recurrence(filtra_basis basis, double a, double b, int k, double abc[3]) {
  if (basis == FILTRA_BASIS_LEGENDRE) a = b = 0;
  if (basis == FILTRA_BASIS_CHEBYSHEV) a = b = -0.5;
  double s = a + b, m = 2 * k + s;
  abc[0] = 1;
  abc[1] = abc[2] = 0;
  if (basis == FILTRA_BASIS_MONOMIAL || (basis == FILTRA_BASIS_CHEBYSHEV_T && k == 1)) return;
  if (basis == FILTRA_BASIS_CHEBYSHEV_T) {
    abc[0] = 2;
    abc[2] = 1;
  } else if (k == 1) {
    abc[0] = (s + 2) / 2;
    abc[1] = (a - b) / 2;
  } else {
    abc[0] = m * (m - 1) / (2 * k * (k + s));
    abc[1] = (m - 1) * (a * a - b * b) / (2 * k * (k + s) * (m - 2));
    abc[2] = (k + a - 1) * (k + b - 1) * m / (k * (k + s) * (m - 2));
  }
}

double ft_agf_response(filtra_basis basis, double a, double b, const float *theta, int order,
                       double x) {
  double before = 0, now = 1, sum = (double)theta[0];
  for (int k = 1; k <= order; k++) {
    double abc[3];
    recurrence(basis, a, b, k, abc);
    double next = (abc[0] * x + abc[1]) * now - abc[2] * before;
    before = now;
    now = next;
    sum += (double)theta[k] * now;
  }
  return sum;
}

bool ft_agf_check_basis(filtra_graph *g, const filtra_agf_options *options, int64_t order) {
  const double singular = 1e-6; /* a and b are rounded to float */
  double a = options->a, b = options->b;
  if (options->basis != FILTRA_BASIS_JACOBI) return true;
  if (!isfinite(a) || !isfinite(b)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "agf: a = %g, b = %g must be finite", a, b);
    return false;
  }
  for (int64_t k = 2; k <= order; k++) {
    if (fabs((double)k + a + b) > singular && fabs(2 * (double)k + a + b - 2) > singular) continue;
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "agf: a = %g, b = %g: with a + b = %g the Jacobi recurrence divides by zero at "
                  "order %lld; use other a, b or K < %lld",
                  a, b, a + b, (long long)k, (long long)k);
    return false;
  }
  return true;
}

/* The table of filter.glsl: theta_k and the recurrence for each order. Written on the device, so
 * many orders per call as fit into the push constants. */
static filtra_tensor *emit_table(filtra_graph *g, filtra_tensor *raw,
                                 const filtra_agf_options *options) {
  enum { PIECE = 8, WORKGROUP = 8 };
  int64_t orders = raw->shape[0];
  filtra_tensor *table = ft_tensor_new(g, "agf theta", FILTRA_F32, 2, (int64_t[]){orders, 4});
  for (int64_t first = 0; first < orders; first += PIECE) {
    struct ft_agf_theta_arguments given = {
        .raw = FT_READ(raw),
        .table = FT_WRITE(table),
        .first = (uint32_t)first,
        .count = (uint32_t)(orders - first < PIECE ? orders - first : PIECE),
        .mode = options->theta_mode};
    for (uint32_t i = 0; i < given.count; i++) {
      int k = (int)(given.first + i);
      double abc[3] = {0};
      if (k > 0) recurrence(options->basis, options->a, options->b, k, abc);
      for (int j = 0; j < 3; j++)
        given.recurrence[3 * i + (uint32_t)j] = (float)abc[j];
    }
    ft_record_call(g, &(ft_kernel_call){.label = "agf.theta",
                                        .kernel = "agf/theta",
                                        FT_ARGUMENTS_AT(agf_theta, &given),
                                        .workgroup = WORKGROUP});
  }
  return table;
}

/* ---- filter ---- */

/* Strides of batch, head and token; zeros for NULL. */
static void strides(const filtra_tensor *t, uint32_t to[3]) {
  for (int i = 0; i < 3; i++)
    to[i] = t ? (uint32_t)t->stride[i] : 0;
}

static double bytes_of(const filtra_tensor *u) {
  return (double)filtra_tensor_elements(u) * (double)filtra_dtype_bytes(filtra_tensor_dtype(u));
}

/* Teams may have any size, as none holds a whole row, except those of the variant "uniform", for
 * which `numbers` is the width; else it is 0. On CPU drivers lanes were measured to be 1.3 to 2.5
 * times as fast as teams. */
static ft_row_part filter_rows(const filtra_device *dev, const filtra_tensor *u, bool in_pairs) {
  enum { MOST_GROUPS = 2048 }; /* each writes one partial sum of theta's gradient */
  ft_row_part part;
  const bool f32 = filtra_tensor_dtype(u) == FILTRA_F32;
  if (ft_take_uniform_rows(dev, ft_rows(u), ft_columns(u), in_pairs && f32, &part)) return part;
  part = ft_row_parts(dev, ft_rows(u), ft_columns(u), in_pairs);
  part.numbers = 0;
  if (part.grid.groups > MOST_GROUPS) part.grid.groups = MOST_GROUPS;
  if (!part.variant) part.subgroup = 0;
  return part;
}

static void emit_theta_gradient(filtra_graph *g, const struct filter *c, filtra_tensor *sums,
                                filtra_tensor *target, bool accumulate) {
  filtra_device *dev = ft_graph_device(g);
  ft_record_call(g, &(ft_kernel_call){.label = "agf.theta.backward",
                                      .kernel = ft_kernel_name(dev, "agf/theta_backward"),
                                      FT_ARGUMENTS(agf_theta_backward, .sums = FT_READ(sums),
                                                   .table = FT_READ(c->table),
                                                   .raw_grad = FT_TARGET(target, accumulate),
                                                   .parts = (uint32_t)sums->shape[0],
                                                   .mode = c->theta_mode, .accumulate = accumulate),
                                      .workgroup = ft_caps_of(dev)->row_workgroup,
                                      .groups = {c->order + 1}});
}

static void filter_backward(filtra_graph *g, const void *context) {
  const struct filter *c = context;
  filtra_device *dev = ft_graph_device(g);
  filtra_tensor *dw = ft_grad(g, c->w), *dfactor = c->factor ? ft_grad(g, c->factor) : NULL;
  if (!dw) { /* only the orthogonality loss was differentiated */
    dw = ft_tensor_like(g, c->w, "zeros");
    if (dw) ft_emit_fill(g, dw, 0);
  }
  bool add_u, add_s = false, add_raw = false;
  filtra_tensor *du = ft_grad_target(g, c->u, &add_u);
  filtra_tensor *ds = c->raw ? ft_grad_target(g, c->s, &add_s) : NULL;
  filtra_tensor *draw = c->raw ? ft_grad_target(g, c->raw, &add_raw) : NULL;
  filtra_tensor *s = c->raw ? c->s : NULL, *mask = dfactor ? c->mask : NULL;
  const bool pairs = ft_in_pairs(c->u) && ft_in_pairs(s) && ft_in_pairs(c->w) && ft_in_pairs(dw) &&
                     ft_in_pairs(dfactor) && ft_in_pairs(du) && ft_in_pairs(ds);
  const ft_row_part part = filter_rows(dev, c->u, pairs);
  filtra_tensor *sums = NULL;
  if (draw)
    sums =
        ft_tensor_new(g, "theta sums", FILTRA_F32, 2, (int64_t[]){part.grid.groups, c->order + 1});
  if (!dw || (draw && !sums)) return;
  const bool narrow = filtra_tensor_dtype(c->u) != FILTRA_F32;
  struct ft_agf_filter_backward_arguments given = {.u = FT_READ(c->u),
                                                   .s = FT_READ(s),
                                                   .table = FT_READ(c->table),
                                                   .w = FT_READ(narrow ? NULL : c->w),
                                                   .w_grad = FT_READ(dw),
                                                   .factor_grad = FT_READ(dfactor),
                                                   .u_grad = FT_TARGET(du, add_u),
                                                   .s_grad = FT_TARGET(ds, add_s),
                                                   .theta_sums = FT_WRITE(sums),
                                                   .mask = FT_READ(mask),
                                                   .rows = (uint32_t)ft_rows(c->u),
                                                   .heads = (uint32_t)c->u->shape[1],
                                                   .tokens = (uint32_t)c->u->shape[2],
                                                   .width = (uint32_t)c->u->shape[3]};
  strides(c->u, given.u_stride);
  strides(s, given.s_stride);
  double elements = (double)filtra_tensor_elements(c->u);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "agf.filter.backward",
             .kernel = ft_row_kernel(dev, "agf/filter_backward", filtra_tensor_dtype(c->u), &part),
             FT_ARGUMENTS_AT(agf_filter_backward, &given),
             .workgroup = part.grid.workgroup,
             .subgroup = part.subgroup,
             .groups = {part.grid.groups},
             FT_CONSTANTS(agf_filter_backward, .order = c->order, .rho = c->rho,
                          .filtered = c->raw != NULL, .symmetric = c->symmetric,
                          .masked = mask != NULL, .WIDTH = part.numbers, .accumulate_u = add_u,
                          .accumulate_s = add_s),
             .flops = (24.0 + (narrow ? 19.0 : 13.0) * c->order) * elements,
             .bytes = (narrow ? 5 : 6) * bytes_of(c->u)});
  if (draw) emit_theta_gradient(g, c, sums, draw, add_raw);
}

filtra_tensor *ft_agf_filter(filtra_graph *g, filtra_tensor *u, filtra_tensor *s,
                             filtra_tensor *raw, const filtra_agf_options *options,
                             filtra_tensor **factor) {
  filtra_device *dev = ft_graph_device(g);
  const filtra_dtype type = filtra_tensor_dtype(u);
  filtra_tensor *w = ft_tensor_token_major(g, "agf W", type, u->shape);
  filtra_tensor *mask = options->ortho_padding ? NULL : options->mask, *apart = NULL;
  if (factor && (raw || mask)) apart = ft_tensor_token_major(g, "agf U", type, u->shape);
  filtra_tensor *table = raw ? emit_table(g, raw, options) : NULL;
  uint32_t order = raw ? (uint32_t)raw->shape[0] - 1 : 0;
  const struct filter call = {u,
                              s,
                              raw,
                              table,
                              w,
                              apart,
                              apart ? mask : NULL,
                              options->rho,
                              options->theta_mode,
                              order,
                              options->symmetric_domain};
  if (factor) *factor = apart ? apart : w;
  if (!ft_record_op(g, "agf.filter", filter_backward, &call, sizeof call, 3,
                    (filtra_tensor *[]){u, raw ? s : NULL, raw}, 2,
                    (filtra_tensor *[]){w, apart}) ||
      (raw && !table) || (factor && (raw || mask) && !apart))
    return NULL;
  const ft_row_part part = filter_rows(dev, u, ft_in_pairs(u) && (!raw || ft_in_pairs(s)));
  struct ft_agf_filter_arguments given = {.u = FT_READ(u),
                                          .s = FT_READ(raw ? s : NULL),
                                          .table = FT_READ(table),
                                          .w = FT_WRITE(w),
                                          .factor = FT_WRITE(apart),
                                          .mask = FT_READ(call.mask),
                                          .rows = (uint32_t)ft_rows(u),
                                          .heads = (uint32_t)u->shape[1],
                                          .tokens = (uint32_t)u->shape[2],
                                          .width = (uint32_t)u->shape[3]};
  strides(u, given.u_stride);
  strides(raw ? s : NULL, given.s_stride);
  double elements = (double)filtra_tensor_elements(u);
  ft_record_call(
      g, &(ft_kernel_call){.label = "agf.filter",
                           .kernel = ft_row_kernel(dev, "agf/filter", type, &part),
                           FT_ARGUMENTS_AT(agf_filter, &given),
                           .workgroup = part.grid.workgroup,
                           .subgroup = part.subgroup,
                           .groups = {part.grid.groups},
                           FT_CONSTANTS(agf_filter, .order = order, .rho = call.rho,
                                        .filtered = raw != NULL, .symmetric = call.symmetric,
                                        .masked = call.mask != NULL, .WIDTH = part.numbers),
                           .flops = (16.0 + 6.0 * order) * elements,
                           .bytes = 3 * bytes_of(u)});
  return w;
}
