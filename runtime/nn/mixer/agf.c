/* Attentive graph filter (Wi et al. 2025): U, Sigma and V are learned directly, and a polynomial
 * filters Sigma; O(n d^2). */
#include "ops/agf.h"
#include "nn/mixer.h"

#include <math.h>
#include <string.h>

struct agf_options {
  int64_t order;
  float a, b;
  int basis, rho, theta, variant;
  bool symmetric, ortho_padding;
  float ortho;
};

static const char *const BASES[] = {"jacobi",      "legendre", "chebyshev",
                                    "chebyshev_t", "monomial", NULL};
static const char *const RHOS[] = {"softmax", "sigmoid", "tanh", "none", NULL};
static const char *const THETAS[] = {"fixed0", "learned0", "raw", NULL};
static const char *const VARIANTS[] = {"filter", "uv", "svd", NULL};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct agf_options, order, "K", 5, 0, 32,
               "Order of the polynomial g = sum_k theta_k P_k."),
    FT_FLOAT_KEY(struct agf_options, a, "a", 1.0, -10.0, 10.0,
                 "First Jacobi parameter. Refused where the recurrence divides by zero: a + b = -2 "
                 "with K >= 2, -3 or -4 with K >= 3, and so on."),
    FT_FLOAT_KEY(struct agf_options, b, "b", 1.0, -10.0, 10.0, "Second Jacobi parameter."),
    FT_ENUM_KEY(struct agf_options, basis, "basis", FILTRA_BASIS_JACOBI, BASES,
                "The polynomials P_k. chebyshev is Jacobi(-1/2, -1/2) as the authors scale it; "
                "chebyshev_t has T_k(1) = 1."),
    FT_ENUM_KEY(struct agf_options, rho, "rho", FILTRA_RHO_SOFTMAX, RHOS,
                "Activation of U (softmax: over channels) and V (softmax: over tokens)."),
    FT_ENUM_KEY(
        struct agf_options, theta, "theta", FILTRA_THETA_TANH_FIX0, THETAS,
        "fixed0: theta_0 is 1 and the others are tanh of what is learned. learned0: all are "
        "tanh of it. raw: all are as learned."),
    FT_ENUM_KEY(
        struct agf_options, variant, "variant", FILTRA_AGF_FILTER, VARIANTS,
        "The filter, or the paper's ablations: all singular values 1 (uv), or a free vector "
        "in place of g(Sigma) (svd)."),
    FT_BOOL_KEY(struct agf_options, symmetric, "symmetric_domain", false,
                "The argument of g is 2 sigmoid(s) - 1 instead of sigmoid(s)."),
    FT_FLOAT_KEY(struct agf_options, ortho, "ortho_weight", 0.01, 0.0, 1e3,
                 "Weight of the orthogonality loss of U and V, averaged over layers. 0: none."),
    FT_BOOL_KEY(
        struct agf_options, ortho_padding, "ortho_padding", false,
        "Rows of U at padding count in that loss, as in the authors' code, where it depends "
        "on how far a batch is padded."),
};

/* The ablations have no polynomial, and only Jacobi polynomials have parameters. */
static const char *idle(const void *options, const char *name) {
  static const char *const FILTERS[] = {"K", "basis", "a", "b", "theta", "symmetric_domain"};
  const struct agf_options *o = options;
  const bool of_basis = !strcmp(name, "a") || !strcmp(name, "b");
  if (of_basis && o->variant == FILTRA_AGF_FILTER && o->basis != FILTRA_BASIS_JACOBI)
    return "with a \"basis\" other than jacobi";
  for (size_t i = 0; i < FT_COUNT(FILTERS) && o->variant != FILTRA_AGF_FILTER; i++)
    if (!strcmp(name, FILTERS[i])) return "with a \"variant\" other than filter";
  return NULL;
}

/* Raw theta is initially 0. With theta_0 fixed, g = 1 at first; otherwise g = 0, and theta learns
 * first, since its gradient does not vanish there. */
static filtra_tensor *coefficients(const ft_scope *scope, const struct agf_options *o,
                                   int64_t heads, int64_t head_width) {
  switch (o->variant) {
  case FILTRA_AGF_FILTER:
    return filtra_scope_parameter(scope, "theta", 1, (int64_t[]){o->order + 1}, NULL);
  case FILTRA_AGF_SVD:
    return filtra_scope_parameter(
        scope, "singular_values", 2, (int64_t[]){heads, head_width},
        &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1.0f});
  default:
    return NULL;
  }
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  const struct agf_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  int64_t width = ft_columns(in->x);
  bool filter = o->variant == FILTRA_AGF_FILTER;
  int parts = filter ? 4 : 3;
  filtra_tensor *chunk[4]; /* U, V, value, Sigma; the ablations have no Sigma */
  const filtra_linear_options projection = {.dtype = scope->precision};
  filtra_chunk(g, filtra_scope_linear(scope, "uvxs", in->x, parts * width, &projection), parts,
               chunk);
  ft_observe(scope, "u", chunk[0]);
  ft_observe(scope, "v", chunk[1]);
  ft_observe(scope, "value", chunk[2]);
  if (filter) ft_observe(scope, "sigma", chunk[3]);
  for (int i = 0; i < parts; i++)
    chunk[i] = filtra_split_heads(g, chunk[i], in->heads);
  filtra_tensor *theta = coefficients(scope, o, in->heads, width / in->heads);
  filtra_tensor *ortho = NULL;
  filtra_agf_options agf = {.mask = in->mask,
                            .basis = (filtra_basis)o->basis,
                            .a = o->a,
                            .b = o->b,
                            .rho = (filtra_rho)o->rho,
                            .theta_mode = (filtra_theta_mode)o->theta,
                            .variant = (filtra_agf_variant)o->variant,
                            .symmetric_domain = o->symmetric,
                            .ortho = o->ortho > 0.0f ? &ortho : NULL,
                            .ortho_padding = o->ortho_padding};
  filtra_tensor *y =
      filtra_agf(g, chunk[0], filter ? chunk[3] : NULL, chunk[1], chunk[2], theta, &agf);
  if (ortho) *auxiliary = filtra_affine(g, ortho, o->ortho, 0.0f);
  return filtra_mixer_output(scope, in, y);
}

static void effective_theta(const void *options, float *theta, size_t count) {
  const struct agf_options *o = options;
  for (size_t k = 0; k < count && o->theta != FILTRA_THETA_RAW; k++)
    theta[k] = k == 0 && o->theta == FILTRA_THETA_TANH_FIX0 ? 1.0f : tanhf(theta[k]);
}

static const ft_mixer_coefficients COEFFICIENTS[] = {{"theta", "k", effective_theta},
                                                     {"singular_values", "head and column", NULL}};

/* g as a function of sigmoid(s) (Wi et al. 2025). */
static double filter_at(const void *options, const float *const *values, int64_t heads,
                        int64_t head, double x) {
  (void)heads;
  (void)head;
  const struct agf_options *o = options;
  if (!values[0]) return (double)NAN;
  return ft_agf_response((filtra_basis)o->basis, (double)o->a, (double)o->b, values[0],
                         (int)o->order, o->symmetric ? 2 * x - 1 : x);
}

static const ft_mixer_filter FILTER = {"singular value", 0, 1, false, filter_at};

const ft_mixer_class ft_mixer_agf = {
    .name = "agf",
    .description = "an attentive graph filter, linear in the length (Wi et al. 2025)",
    .options_size = sizeof(struct agf_options),
    .keys = FT_KEYS(KEYS),
    .coefficients = COEFFICIENTS,
    .coefficient_count = FT_COUNT(COEFFICIENTS),
    .filter = &FILTER,
    .idle = idle,
    .not_causal = "its V is normalised over all tokens of a sequence",
    .narrow = true,
    .build = build};
