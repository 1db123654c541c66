/* Kernelution (Converter, 2025): Synvolution whose phases pass through a learned Chebyshev
 * polynomial, damped against Gibbs oscillations (kernel polynomial method); O(n d). */
#include "nn/converter.h"

#include <string.h>

struct kernelution_options {
  ft_transform_options transform;
  int64_t order; /* K */
  int kernel;
  float lanczos_m, lorentz_xi, wang_a, wang_b;
  float loss_weight;
};

static const char *const KERNELS[] = {"dirichlet", "fejer", "jackson", "lanczos",
                                      "lorentz",   "vekic", "wang",    NULL};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct kernelution_options, order, "K", 2, 0, FILTRA_CHEBYSHEV_MAX_ORDER,
               "Order of the polynomial."),
    FT_ENUM_KEY(struct kernelution_options, kernel, "kernel", FILTRA_GIBBS_DIRICHLET, KERNELS,
                "The factors g_k that damp Gibbs oscillations. dirichlet: no damping.",
                .paper = "Weisse et al. 2006, table 1"),
    FT_FLOAT_KEY(struct kernelution_options, lanczos_m, "lanczos_m", 3.0, 0.01, 100.0,
                 "m of `kernel` lanczos: (sin(pi r) / (pi r))^m, r = k / (K + 1)."),
    FT_FLOAT_KEY(struct kernelution_options, lorentz_xi, "lorentz_xi", 4.0, 0.01, 100.0,
                 "xi of `kernel` lorentz: sinh(xi (1 - r)) / sinh(xi)."),
    FT_FLOAT_KEY(struct kernelution_options, wang_a, "wang_a", 2.0, 0.01, 100.0,
                 "a of `kernel` wang: exp(-(a r)^b)."),
    FT_FLOAT_KEY(struct kernelution_options, wang_b, "wang_b", 2.0, 0.01, 100.0,
                 "b of `kernel` wang."),
    FT_FLOAT_KEY(struct kernelution_options, loss_weight, "kernel_polynomial_weight", 0.001, 0.0,
                 0.999,
                 "eta of the kernel polynomial loss: training minimizes (1 - eta) times the task's "
                 "loss + eta sum_k pi k^2 w_k^2, averaged over layers. The authors have it with "
                 "dirichlet only."),
    FT_TRANSFORM_KEYS(struct kernelution_options),
};

/* Each damping uses its own numbers only; the transform has idle options, too. */
static const char *idle(const void *options, const char *name) {
  const struct kernelution_options *o = options;
  if (!strcmp(name, "lanczos_m") && o->kernel != FILTRA_GIBBS_LANCZOS)
    return "with a \"kernel\" other than lanczos";
  if (!strcmp(name, "lorentz_xi") && o->kernel != FILTRA_GIBBS_LORENTZ)
    return "with a \"kernel\" other than lorentz";
  if (!strncmp(name, "wang_", 5) && o->kernel != FILTRA_GIBBS_WANG)
    return "with a \"kernel\" other than wang";
  return ft_transform_idle(&o->transform, name);
}

static filtra_status damping(const struct kernelution_options *o, float *factors) {
  filtra_gibbs_options options = {.lanczos_m = o->lanczos_m,
                                  .lorentz_xi = o->lorentz_xi,
                                  .wang_a = o->wang_a,
                                  .wang_b = o->wang_b};
  return filtra_gibbs_factors((filtra_gibbs)o->kernel, (int)o->order, &options, factors);
}

/* Initial w_0 = 1/(K+1), all others 2/(K+1): w_0 includes the half of the classical mu_0 / 2. */
static filtra_tensor *coefficients(const ft_scope *scope, int64_t order) {
  const filtra_parameter_options options = {.init = FILTRA_INIT_SERIES,
                                            .value = 2.0f / (float)(order + 1)};
  return filtra_scope_parameter(scope, "chebyshev", 1, (int64_t[]){order + 1}, &options);
}

static filtra_tensor *mixed(const ft_scope *scope, const struct kernelution_options *o,
                            const filtra_mixer_input *in, bool unit_rows,
                            filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  float factors[FILTRA_CHEBYSHEV_MAX_ORDER + 1];
  if (!ft_usable(g, in->x)) return NULL;
  filtra_status status = damping(o, factors);
  if (status) return ft_graph_fail(g, status, "%s", filtra_error_message());
  ft_scope values = ft_scope_enter(scope, "values");
  const ft_transform_input input = ft_ordered_input(scope, &o->transform, in);
  filtra_tensor *w = coefficients(scope, o->order);
  filtra_tensor *phase = filtra_chebyshev(
      g, ft_eigenvalue_phases(&values, input.in.x, o->transform.heads, in->dropout), w, factors);
  if (o->loss_weight > 0.0f)
    *auxiliary =
        filtra_affine(g, filtra_chebyshev_loss(g, w, in->x->shape[0]), o->loss_weight, 0.0f);
  return ft_spectral_filter(scope, &o->transform, &input, phase, unit_rows);
}

static filtra_tensor *build_complex(const ft_scope *scope, const void *options,
                                    const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  return mixed(scope, options, in, true, auxiliary);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  return ft_blend_mixed(scope, in, mixed(scope, options, in, false, auxiliary));
}

static float auxiliary_share(const void *options) {
  return ((const struct kernelution_options *)options)->loss_weight;
}

static void effective_coefficients(const void *options, float *w, size_t count) {
  float factors[FILTRA_CHEBYSHEV_MAX_ORDER + 1] = {0};
  if (damping(options, factors)) return;
  for (size_t k = 0; k < count && k <= FILTRA_CHEBYSHEV_MAX_ORDER; k++)
    w[k] *= factors[k];
}

static const ft_mixer_coefficients COEFFICIENTS[] = {{"chebyshev", "k", effective_coefficients}};

/* p(x), by Clenshaw's recurrence. */
static double filter_at(const void *options, const float *const *values, int64_t heads,
                        int64_t head, double x) {
  (void)heads;
  (void)head;
  const struct kernelution_options *o = options;
  double next = 0, last = 0;
  for (int64_t k = o->order; k > 0; k--) {
    double now = (double)values[0][k] + 2 * x * next - last;
    last = next;
    next = now;
  }
  return (double)values[0][0] + x * next - last;
}

static const ft_mixer_filter FILTER = {"phase", -1, 1, false, filter_at, "filtered phase"};

const ft_mixer_class ft_mixer_kernelution = {
    .name = "kernelution",
    .description = "Synvolution with a learned polynomial of the phases (the Converter)",
    .options_size = sizeof(struct kernelution_options),
    .keys = FT_KEYS(KEYS),
    .idle = idle,
    .coefficients = COEFFICIENTS,
    .coefficient_count = FT_COUNT(COEFFICIENTS),
    .filter = &FILTER,
    .not_causal = "its rotations carry every token to both ends of a sequence",
    .auxiliary_share = auxiliary_share,
    .build = build,
    .build_complex = build_complex};
