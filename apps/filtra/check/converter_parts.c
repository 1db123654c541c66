/* Builds golden ops that are parts of the Converter's layers: norms, SIREN, recurrence,
 * feed-forward, kernel polynomials. Called by golden.c through the table golden_converter_parts. */
#include "golden.h"

#include "base/memory.h"
#include "nn/converter.h"

#include <stdio.h>
#include <string.h>

static ft_scope scope_of(const golden *c) {
  return (ft_scope){.graph = c->graph, .params = c->params};
}

/* ---- norms ---- */

static filtra_status build_norm(golden *c, bool gain, bool complex_features) {
  filtra_tensor *x = golden_input(c, "in.x"), *g = gain ? golden_input(c, "param.g") : NULL;
  float eps = (float)golden_number(c, "eps", 1e-5);
  golden_output(c, "y", filtra_scale_norm(c->graph, x, g, eps, complex_features));
  return FILTRA_OK;
}

static filtra_status build_scale_norm(golden *c) {
  return build_norm(c, true, false);
}

static filtra_status build_scale_norm_complex(golden *c) {
  return build_norm(c, true, true);
}

static filtra_status build_fix_norm(golden *c) {
  return build_norm(c, false, false);
}

/* ---- SIREN ---- */

void golden_bind_siren(golden *c, const char *golden_prefix, const char *prefix) {
  static const golden_name_pair PAIRS[] = {{"w1", "1.weight"},
                                           {"b1", "1.bias"},
                                           {"g", "norm.weight"},
                                           {"w2", "2.weight"},
                                           {"b2", "2.bias"}};
  golden_bind_pairs(c, golden_prefix, prefix, PAIRS, FT_COUNT(PAIRS));
}

static filtra_status build_siren(golden *c) {
  ft_scope scope = scope_of(c);
  golden_output(c, "y", ft_siren(&scope, golden_input(c, "in.x"), 0.0f));
  golden_bind_siren(c, "", "");
  return FILTRA_OK;
}

static filtra_status build_eigenvalues(golden *c) {
  ft_scope scope = scope_of(c);
  golden_output(c, "y", ft_eigenvalue_phases(&scope, golden_input(c, "in.x"), 1, 0.0f));
  golden_bind_siren(c, "", "");
  return FILTRA_OK;
}

static filtra_status build_dhhp_parameters(golden *c) {
  int flat;
  FT_TRY(golden_choose(c, "layout", "token", ft_transform_layouts, &flat));
  ft_scope scope = scope_of(c);
  ft_unitary u =
      ft_unitary_layer(&scope, golden_input(c, "in.x"), &(ft_unitary_options){.flat = flat != 0});
  golden_output(c, "gl", u.lower);
  golden_output(c, "gu", u.upper);
  golden_output(c, "diag", u.phases);
  golden_bind_siren(c, "", "");
  return FILTRA_OK;
}

/* ---- recurrence and feed-forward ---- */

void golden_bind_gru(golden *c, const char *golden_prefix, const char *prefix, int64_t layers) {
  static const golden_name_pair PAIRS[] = {
      {"w_ih", "weight_ih"}, {"w_hh", "weight_hh"}, {"b_ih", "bias_ih"}, {"b_hh", "bias_hh"}};
  for (int64_t i = 0; i < layers; i++)
    for (size_t k = 0; k < FT_COUNT(PAIRS); k++) {
      char name[48], parameter[80];
      snprintf(name, sizeof name, "%s%s%lld", golden_prefix, PAIRS[k].golden, (long long)i);
      snprintf(parameter, sizeof parameter, "%s%lld.%s", prefix, (long long)i, PAIRS[k].parameter);
      golden_bind(c, name, parameter, 0, 1);
    }
}

static filtra_status build_gru(golden *c) {
  ft_scope scope = scope_of(c);
  int64_t layers = golden_count(c, "layers", 1);
  golden_output(c, "y", ft_recurrent_positions(&scope, golden_input(c, "in.x"), layers, 0.0f));
  golden_bind_gru(c, "", "", layers);
  return FILTRA_OK;
}

void golden_bind_gffn(golden *c, const char *golden_prefix, const char *prefix) {
  static const golden_name_pair PAIRS[] = {{"w_re", "re.weight"}, {"b_re", "re.bias"},
                                           {"w_im", "im.weight"}, {"b_im", "im.bias"},
                                           {"w_o", "out.weight"}, {"b_o", "out.bias"}};
  golden_bind_pairs(c, golden_prefix, prefix, PAIRS, FT_COUNT(PAIRS));
}

filtra_status golden_softplus(golden *c, filtra_activation *activation) {
  *activation = FILTRA_ACTIVATION_SOFTPLUS;
  if (!strcmp(golden_text(c, "softplus_threshold", "none"), "none")) return FILTRA_OK;
  double threshold = golden_number(c, "softplus_threshold", 0.0);
  if (threshold >= 17.0) return FILTRA_OK; /* there softplus(x) rounds to x in fp32 */
  if (threshold != 5.0)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                   "%s: softplus_threshold %g; there are \"none\", 5, and 17 or more here", c->path,
                   threshold);
  *activation = FILTRA_ACTIVATION_SOFTPLUS5;
  return FILTRA_OK;
}

static filtra_status build_gffn(golden *c) {
  ft_scope scope = scope_of(c);
  ft_gffn_options options = {.width = golden_dim(c, "param.w_re", 0)};
  FT_TRY(golden_softplus(c, &options.activation));
  golden_output(c, "y", ft_gffn(&scope, golden_input(c, "in.z"), &options));
  golden_bind_gffn(c, "", "");
  return FILTRA_OK;
}

/* ---- kernel polynomials ---- */

static filtra_status build_kernel_polynomial(golden *c) {
  filtra_tensor *x = golden_input(c, "in.x"), *coefficients = golden_input(c, "param.cheb");
  const float *damping = golden_values(c, "fixed.damp", golden_dim(c, "param.cheb", 0));
  golden_output(c, "y", filtra_chebyshev(c->graph, x, coefficients, damping));
  golden_output(c, "kpl", filtra_chebyshev_loss(c->graph, coefficients, 1));
  return FILTRA_OK;
}

/* One table per kernel: row K has the factors k of order K, then zeros. */
static filtra_status build_gibbs_table(golden *c) {
  enum { ORDERS = 11 };
  static const char *const names[] = {[FILTRA_GIBBS_DIRICHLET] = "dirichlet",
                                      [FILTRA_GIBBS_FEJER] = "fejer",
                                      [FILTRA_GIBBS_JACKSON] = "jackson",
                                      [FILTRA_GIBBS_LANCZOS] = "lanczos",
                                      [FILTRA_GIBBS_LORENTZ] = "lorentz",
                                      [FILTRA_GIBBS_VEKIC] = "vekic",
                                      [FILTRA_GIBBS_WANG] = "wang"};
  static float tables[FT_COUNT(names)][ORDERS][ORDERS];
  filtra_gibbs_options options = {.lanczos_m = (float)golden_number(c, "lanczos_m", 3.0),
                                  .lorentz_xi = (float)golden_number(c, "lorentz_xi", 4.0),
                                  .wang_a = (float)golden_number(c, "wang_a", 2.0),
                                  .wang_b = (float)golden_number(c, "wang_b", 2.0)};
  for (size_t k = 0; k < FT_COUNT(names); k++) {
    for (int order = 0; order < ORDERS; order++)
      FT_TRY(filtra_gibbs_factors((filtra_gibbs)k, order, &options, tables[k][order]));
    golden_host_output(c, names[k], tables[k][0], (int64_t)ORDERS * ORDERS);
  }
  return FILTRA_OK;
}

/* ---- the table ---- */

const golden_op golden_converter_parts[] = {{"scale_norm", build_scale_norm},
                                            {"scale_norm_complex", build_scale_norm_complex},
                                            {"fix_norm", build_fix_norm},
                                            {"siren", build_siren},
                                            {"eigenvalues", build_eigenvalues},
                                            {"dhhp_parameters", build_dhhp_parameters},
                                            {"gru", build_gru},
                                            {"gffn", build_gffn},
                                            {"kernel_polynomial", build_kernel_polynomial},
                                            {"gibbs_table", build_gibbs_table},
                                            {0}};
