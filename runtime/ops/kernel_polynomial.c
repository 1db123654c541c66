/* Kernel polynomial method of the Converter: a damped Chebyshev series of the eigenvalues' phases,
 * and the loss that keeps its coefficients smooth. w_0 includes the half of the classical mu_0 / 2,
 * as in the paper's algorithm 3. Called by nn/mixer/kernelution.c and programs. */
#include "kernel_polynomial/contract.h"
#include "ops/support.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- Gibbs damping factors ---- */

static double or_default(double value, double fallback) {
  return value == 0 ? fallback : value;
}

/* g_k for k >= 1, r = k / (K+1) (Weisse et al. 2006, table 1; the Converter's table 6). */
static double gibbs_factor(filtra_gibbs kernel, int order, int k, const filtra_gibbs_options *o) {
  double r = k / (order + 1.0), xi = or_default(o->lorentz_xi, 4);
  switch (kernel) {
  case FILTRA_GIBBS_FEJER:
    return 1 - r;
  case FILTRA_GIBBS_JACKSON: {
    double c = PI / (order + 2.0);
    return ((order + 2 - k) * cos(k * c) + sin(k * c) / tan(c)) / (order + 2.0);
  }
  case FILTRA_GIBBS_LANCZOS:
    return pow(sin(PI * r) / (PI * r), or_default(o->lanczos_m, 3));
  case FILTRA_GIBBS_LORENTZ:
    return sinh(xi * (1 - r)) / sinh(xi);
  case FILTRA_GIBBS_VEKIC:
    return 0.5 - 0.5 * tanh((r - 0.5) / (r * (1 - r)));
  case FILTRA_GIBBS_WANG:
    return exp(-pow(or_default(o->wang_a, 2) * r, or_default(o->wang_b, 2)));
  default:
    return 1;
  }
}

filtra_status filtra_gibbs_factors(filtra_gibbs kernel, int order,
                                   const filtra_gibbs_options *options, float *factors) {
  static const filtra_gibbs_options defaults;
  const filtra_gibbs_options *o = options ? options : &defaults;
  FT_NEED(factors);
  FT_TRY(FT_CHECK_RESERVED(filtra_gibbs_options, o));
  if ((unsigned)kernel > FILTRA_GIBBS_WANG)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "gibbs_factors: there is no kernel %d", (int)kernel);
  if (order < 0 || order > FILTRA_CHEBYSHEV_MAX_ORDER)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "gibbs_factors: order %d, accepted are 0 to %d", order,
                   FILTRA_CHEBYSHEV_MAX_ORDER);
  const float settings[] = {o->lanczos_m, o->lorentz_xi, o->wang_a, o->wang_b};
  for (size_t i = 0; i < FT_COUNT(settings); i++)
    if (!(settings[i] >= 0 && settings[i] <= 100))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "gibbs_factors: a kernel's parameter is %g, accepted are 0 to 100",
                     (double)settings[i]);
  for (int k = 0; k <= order; k++)
    factors[k] = k ? (float)gibbs_factor(kernel, order, k, o) : 1;
  return FILTRA_OK;
}

/* ---- the polynomial ---- */

struct polynomial {
  filtra_tensor *x, *coefficients, *y;
  float damping[FILTRA_CHEBYSHEV_MAX_ORDER + 1];
};

/* dy NULL: forward. */
static void emit_polynomial(filtra_graph *g, const struct polynomial *c, const filtra_tensor *dy,
                            const filtra_tensor *to, bool accumulate) {
  uint32_t terms = (uint32_t)filtra_tensor_elements(c->coefficients);
  struct ft_kernel_polynomial_polynomial_arguments given = {
      .x = FT_READ(c->x),
      .coefficients = FT_READ(c->coefficients),
      .dy = FT_READ(dy),
      .y = FT_TARGET(to, accumulate),
      .count = (uint32_t)filtra_tensor_elements(c->x)};
  memcpy(given.damping, c->damping, sizeof given.damping);
  ft_record_call(g,
                 &(ft_kernel_call){.label = dy ? "kernel_polynomial.backward" : "kernel_polynomial",
                                   .kernel = "kernel_polynomial/polynomial",
                                   FT_ARGUMENTS_AT(kernel_polynomial_polynomial, &given),
                                   FT_CONSTANTS(kernel_polynomial_polynomial, .terms = terms,
                                                .gradient = dy != NULL, .accumulate = accumulate),
                                   FT_FLAT(g, given.count),
                                   .flops = 4.0 * terms * given.count,
                                   .bytes = (dy ? 12.0 : 8.0) * given.count});
}

static void emit_coefficients(filtra_graph *g, const struct polynomial *c, const filtra_tensor *dy,
                              const filtra_tensor *dw, bool accumulate) {
  filtra_device *dev = ft_graph_device(g);
  const uint32_t count = (uint32_t)filtra_tensor_elements(c->x);
  int64_t groups = ft_sum_groups(dev, count);
  int64_t shape[] = {groups, filtra_tensor_elements(dw)};
  filtra_tensor *sums = ft_tensor_new(g, "coefficient sums", FILTRA_F32, 2, shape);
  if (!sums) return;
  struct ft_kernel_polynomial_coefficients_arguments given = {
      .x = FT_READ(c->x), .dy = FT_READ(dy), .sums = FT_WRITE(sums), .count = count};
  memcpy(given.damping, c->damping, sizeof given.damping);
  ft_record_call(g, &(ft_kernel_call){
                        .label = "kernel_polynomial.backward",
                        .kernel = ft_kernel_name(dev, "kernel_polynomial/coefficients"),
                        FT_ARGUMENTS_AT(kernel_polynomial_coefficients, &given),
                        .workgroup = ft_caps_of(dev)->row_workgroup,
                        FT_CONSTANTS(kernel_polynomial_coefficients, .terms = (uint32_t)shape[1]),
                        .groups = {(uint32_t)groups},
                        .flops = 4.0 * (double)shape[1] * count,
                        .bytes = 8.0 * count});
  ft_emit_sum_leading(g, "kernel_polynomial.backward", sums, dw, accumulate);
}

static void polynomial_backward(filtra_graph *g, const void *context) {
  const struct polynomial *c = context;
  filtra_tensor *dy = ft_grad(g, c->y);
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_polynomial(g, c, dy, dx, accumulate);
  filtra_tensor *dw = ft_grad_target(g, c->coefficients, &accumulate);
  if (dw) emit_coefficients(g, c, dy, dw, accumulate);
}

static bool usable_coefficients(filtra_graph *g, const filtra_tensor *w, const char *op) {
  if (!ft_usable_floats(g, w, 1, op, "coefficients")) return false;
  if (w->shape[0] >= 1 && w->shape[0] <= FILTRA_CHEBYSHEV_MAX_ORDER + 1) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: coefficients (%s %s) must be 1 to %d", op, w->name,
                ft_shape_text(w), FILTRA_CHEBYSHEV_MAX_ORDER + 1);
  return false;
}

filtra_tensor *filtra_chebyshev(filtra_graph *g, filtra_tensor *x, filtra_tensor *coefficients,
                                const float *damping) {
  if (!ft_usable_dense(g, x, "kernel_polynomial", "x") ||
      !usable_coefficients(g, coefficients, "kernel_polynomial"))
    return NULL;
  if (!filtra_tensor_elements(x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "kernel_polynomial: x (%s %s) is empty", x->name,
                         ft_shape_text(x));
  for (int64_t k = 0; damping && k < coefficients->shape[0]; k++)
    if (!isfinite(damping[k]))
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "kernel_polynomial: damping[%lld] is %g",
                           (long long)k, (double)damping[k]);
  struct polynomial call = {x, coefficients, ft_tensor_like(g, x, "kernel_polynomial"), {0}};
  if (!call.y) return NULL;
  for (int64_t k = 0; k < coefficients->shape[0]; k++)
    call.damping[k] = damping ? damping[k] : 1;
  emit_polynomial(g, &call, NULL, call.y, false);
  return ft_record_op(g, "kernel_polynomial", polynomial_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){x, coefficients}, 1, &call.y);
}

/* ---- the loss ---- */

struct loss {
  filtra_tensor *coefficients, *y;
};

static void emit_loss(filtra_graph *g, const char *label, const filtra_tensor *w,
                      const filtra_tensor *dy, const filtra_tensor *to, bool accumulate) {
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = label,
          .kernel = "kernel_polynomial/loss",
          FT_ARGUMENTS(kernel_polynomial_loss, .coefficients = FT_READ(w), .dy = FT_READ(dy),
                       .y = FT_TARGET(to, accumulate), .terms = (uint32_t)filtra_tensor_elements(w),
                       .samples = (uint32_t)filtra_tensor_elements(dy ? dy : to)),
          .workgroup = 1,
          FT_CONSTANTS(kernel_polynomial_loss, .gradient = dy != NULL, .accumulate = accumulate)});
}

static void loss_backward(filtra_graph *g, const void *context) {
  const struct loss *c = context;
  bool accumulate;
  filtra_tensor *dw = ft_grad_target(g, c->coefficients, &accumulate);
  if (dw)
    emit_loss(g, "kernel_polynomial_loss.backward", c->coefficients, ft_grad(g, c->y), dw,
              accumulate);
}

filtra_tensor *filtra_chebyshev_loss(filtra_graph *g, filtra_tensor *coefficients,
                                     int64_t samples) {
  if (!usable_coefficients(g, coefficients, "kernel_polynomial_loss")) return NULL;
  if (samples < 1 || samples > INT32_MAX)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "kernel_polynomial_loss: %lld samples, accepted are 1 to %d",
                         (long long)samples, INT32_MAX);
  filtra_tensor *y = ft_tensor_new(g, "kernel_polynomial_loss", FILTRA_F32, 1, &samples);
  if (!y) return NULL;
  emit_loss(g, "kernel_polynomial_loss", coefficients, NULL, y, false);
  const struct loss call = {coefficients, y};
  return ft_record_op(g, "kernel_polynomial_loss", loss_backward, &call, sizeof call, 1,
                      (filtra_tensor *[]){coefficients}, 1, &y);
}
