/* Builds golden ops: core ops directly, layers and models with the code that training uses. Called
 * by golden.c through the table golden_attention. */
#include "golden.h"

#include "model/model.h"

#include <stdio.h>

/* ---- softmax attention ---- */

static filtra_status build_softmax(golden *c) {
  filtra_tensor *q = golden_operand(c, "in.q"), *k = golden_operand(c, "in.k"),
                *v = golden_operand(c, "in.v");
  filtra_attention_options options = {.causal = golden_flag(c, "causal"),
                                      .mask = golden_mask(c),
                                      .scale = (float)golden_number(c, "scale", 0.0)};
  filtra_tensor *y = filtra_attention(c->graph, q, k, v, &options);
  const bool narrow = filtra_tensor_dtype(y) != FILTRA_F32;
  if (narrow) {
    filtra_tensor *rows = filtra_cast(c->graph, filtra_merge_heads(c->graph, y), FILTRA_F32);
    y = filtra_split_heads(c->graph, rows, golden_dim(c, "in.q", 1));
  }
  golden_output(c, "y", y);
  return FILTRA_OK;
}

/* ---- AGF ---- */

static const char *const BASES[] = {"jacobi",      "legendre", "chebyshev",
                                    "chebyshev_t", "monomial", NULL};
static const char *const RHOS[] = {"softmax", "sigmoid", "tanh", "none", NULL};
static const char *const THETAS[] = {"tanh_fix0", "tanh", "raw", NULL};
static const char *const VARIANTS[] = {"agf", "uv", "svd", NULL};
static const char *const DOMAINS[] = {"unit", "symmetric", NULL};

typedef struct agf_settings {
  int basis, rho, theta, variant, domain;
} agf_settings;

static filtra_status read_agf(const golden *c, agf_settings *s) {
  FT_TRY(golden_choose(c, "basis", "jacobi", BASES, &s->basis));
  FT_TRY(golden_choose(c, "rho", "softmax", RHOS, &s->rho));
  FT_TRY(golden_choose(c, "theta_mode", "tanh_fix0", THETAS, &s->theta));
  FT_TRY(golden_choose(c, "variant", "agf", VARIANTS, &s->variant));
  return golden_choose(c, "domain", "unit", DOMAINS, &s->domain);
}

static filtra_status build_agf(golden *c) {
  agf_settings s;
  FT_TRY(read_agf(c, &s));
  filtra_tensor *ortho = NULL, *coefficients = NULL;
  if (s.variant == FILTRA_AGF_FILTER) coefficients = golden_input(c, "param.theta_raw");
  if (s.variant == FILTRA_AGF_SVD) coefficients = golden_input(c, "param.sv");
  filtra_agf_options options = {.mask = golden_mask(c),
                                .basis = (filtra_basis)s.basis,
                                .a = (float)golden_number(c, "a", 1.0),
                                .b = (float)golden_number(c, "b", 1.0),
                                .rho = (filtra_rho)s.rho,
                                .theta_mode = (filtra_theta_mode)s.theta,
                                .variant = (filtra_agf_variant)s.variant,
                                .symmetric_domain = s.domain == 1,
                                .ortho = &ortho,
                                .ortho_padding = true};
  filtra_tensor *u = golden_input(c, "in.u"), *sigma = golden_input(c, "in.s"),
                *vv = golden_input(c, "in.vv"), *value = golden_input(c, "in.val");
  golden_output(c, "y", filtra_agf(c->graph, u, sigma, vv, value, coefficients, &options));
  golden_output(c, "ortho", ortho);
  return FILTRA_OK;
}

/* Reads the mixer as from a configuration. The number of coefficients is the filter's order. */
static filtra_status read_agf_mixer(const golden *c, const char *prefix, double ortho_weight,
                                    ft_mixer *mixer, int *variant) {
  static const char *const MIXER_THETAS[] = {"fixed0", "learned0", "raw"};
  static const char *const MIXER_VARIANTS[] = {"filter", "uv", "svd"};
  agf_settings s;
  char theta[64];
  snprintf(theta, sizeof theta, "%stheta_raw", prefix);
  FT_TRY(read_agf(c, &s));
  *variant = s.variant;
  json_t *json =
      json_pack("{ss ss ss sf sb}", "name", "agf", "rho", RHOS[s.rho], "variant",
                MIXER_VARIANTS[s.variant], "ortho_weight", ortho_weight, "ortho_padding", true);
  if (s.variant == FILTRA_AGF_FILTER)
    json = ft_json_join(json, json_pack("{si ss ss sb}", "K", (int)golden_dim(c, theta, 0) - 1,
                                        "basis", BASES[s.basis], "theta", MIXER_THETAS[s.theta],
                                        "symmetric_domain", s.domain));
  if (s.variant == FILTRA_AGF_FILTER && s.basis == FILTRA_BASIS_JACOBI)
    json = ft_json_join(json, json_pack("{sf sf}", "a", golden_number(c, "a", 1.0), "b",
                                        golden_number(c, "b", 1.0)));
  if (!json) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = ft_mixer_read(json, c->path, mixer);
  json_decref(json);
  return status;
}

static void bind_part(golden *c, const char *golden_prefix, const char *prefix,
                      const golden_name_pair *pair, int part, int parts) {
  char name[64], parameter[96];
  snprintf(name, sizeof name, "%s%s", golden_prefix, pair->golden);
  snprintf(parameter, sizeof parameter, "%s%s", prefix, pair->parameter);
  golden_bind(c, name, parameter, part, parts);
}

/* Binds U, V, value and Sigma to parts of the packed projection; ablations have no Sigma. */
static void bind_agf_layer(golden *c, int variant, const char *golden_prefix, const char *prefix) {
  static const golden_name_pair PACKED[][2] = {{{"wu", "uvxs.weight"}, {"bu", "uvxs.bias"}},
                                               {{"wv", "uvxs.weight"}, {"bv", "uvxs.bias"}},
                                               {{"wx", "uvxs.weight"}, {"bx", "uvxs.bias"}},
                                               {{"ws", "uvxs.weight"}, {"bs", "uvxs.bias"}}};
  static const golden_name_pair OUT[] = {{"wo", "out.weight"}, {"bo", "out.bias"}};
  static const golden_name_pair THETA = {"theta_raw", "theta"}, SVD = {"sv", "singular_values"};
  int parts = variant == FILTRA_AGF_FILTER ? 4 : 3;
  for (int i = 0; i < parts; i++) {
    bind_part(c, golden_prefix, prefix, &PACKED[i][0], i, parts);
    bind_part(c, golden_prefix, prefix, &PACKED[i][1], i, parts);
  }
  golden_bind_pairs(c, golden_prefix, prefix, OUT, FT_COUNT(OUT));
  if (variant == FILTRA_AGF_FILTER) bind_part(c, golden_prefix, prefix, &THETA, 0, 1);
  if (variant == FILTRA_AGF_SVD) bind_part(c, golden_prefix, prefix, &SVD, 0, 1);
}

static void bind_block(golden *c, int variant, const char *golden_prefix, const char *prefix) {
  static const golden_name_pair PAIRS[] = {{"ln1_g", "norm1.weight"}, {"ln1_b", "norm1.bias"},
                                           {"ln2_g", "norm2.weight"}, {"ln2_b", "norm2.bias"},
                                           {"w1", "ffn.1.weight"},    {"b1", "ffn.1.bias"},
                                           {"w2", "ffn.2.weight"},    {"b2", "ffn.2.bias"}};
  char inner[48];
  golden_bind_pairs(c, golden_prefix, prefix, PAIRS, FT_COUNT(PAIRS));
  snprintf(inner, sizeof inner, "%smixer.", prefix);
  bind_agf_layer(c, variant, golden_prefix, inner);
}

static filtra_status build_agf_layer(golden *c) {
  ft_mixer mixer;
  int variant;
  FT_TRY(read_agf_mixer(c, "param.", 1.0, &mixer, &variant));
  ft_scope scope = golden_scope(c);
  filtra_mixer_input in = {
      .x = golden_input(c, "in.x"), .mask = golden_mask(c), .heads = golden_count(c, "heads", 1)};
  filtra_tensor *ortho = NULL;
  golden_output(c, "y", mixer.kind->build(&scope, mixer.options, &in, &ortho));
  golden_output(c, "ortho", ortho);
  bind_agf_layer(c, variant, "", "");
  return FILTRA_OK;
}

static filtra_status build_agf_block(golden *c) {
  ft_mixer mixer;
  int variant;
  FT_TRY(read_agf_mixer(c, "param.", 1.0, &mixer, &variant));
  ft_scope scope = golden_scope(c);
  ft_encoder_options options = {.mixer = &mixer,
                                .heads = golden_count(c, "heads", 1),
                                .ffn_width = golden_dim(c, "param.w1", 0),
                                .activation = FILTRA_ACTIVATION_GELU};
  filtra_tensor *ortho = NULL, *x = golden_input(c, "in.x");
  golden_output(c, "y", ft_encoder_block(&scope, &options, x, golden_mask(c), &ortho));
  golden_output(c, "ortho", ortho);
  bind_block(c, variant, "", "");
  return FILTRA_OK;
}

static void bind_classifier(golden *c, int variant, int64_t layers) {
  static const golden_name_pair PAIRS[] = {{"tok", "embedding.weight"}, {"pos", "positions.weight"},
                                           {"lnf_g", "norm.weight"},    {"lnf_b", "norm.bias"},
                                           {"wh1", "head.1.weight"},    {"bh1", "head.1.bias"},
                                           {"wh2", "head.2.weight"},    {"bh2", "head.2.bias"}};
  golden_bind_pairs(c, "", "", PAIRS, FT_COUNT(PAIRS));
  for (int64_t i = 0; i < layers; i++) {
    char golden_prefix[32], prefix[32];
    snprintf(golden_prefix, sizeof golden_prefix, "l%lld.", (long long)i);
    snprintf(prefix, sizeof prefix, "layers.%lld.", (long long)i);
    bind_block(c, variant, golden_prefix, prefix);
  }
}

static filtra_status build_agf_classifier(golden *c) {
  int variant;
  const filtra_model_config config = {
      .vocabulary = golden_dim(c, "param.tok", 0),
      .classes = golden_dim(c, "param.wh2", 0),
      .max_length = golden_dim(c, "fixed.tokens", 1), /* mean over all tokens */
      .layers = golden_count(c, "layers", 1),
      .heads = golden_count(c, "heads", 1),
      .width = golden_dim(c, "param.tok", 1),
      .ffn_width = golden_dim(c, "param.l0.w1", 0),
      .head_width = golden_dim(c, "param.wh1", 0),
      .pooling = FILTRA_POOLING_MEAN_ALL,
      .activation = FILTRA_ACTIVATION_GELU,
      .head_activation = FILTRA_ACTIVATION_RELU};
  ft_model_options o = {.config = config, .mixers = {.count = 1}};
  double gamma = golden_number(c, "gamma", 0.0);
  FT_TRY(read_agf_mixer(c, "param.l0.", gamma, &o.mixers.list[0], &variant));
  ft_scope scope = golden_scope(c);
  filtra_tensor *tokens = golden_ids(c, "fixed.tokens", config.vocabulary), *auxiliary;
  ft_network_input in = {.tokens = tokens, .mask = golden_input(c, "fixed.mask")};
  filtra_tensor *label = golden_ids(c, "fixed.label", config.classes);
  filtra_tensor *logits = ft_network_build(&scope, &o, &in, &auxiliary);
  filtra_tensor *loss = filtra_cross_entropy(c->graph, logits, label, 0.0f);
  golden_output(c, "logits", logits);
  golden_output(c, "loss", ft_total_loss(c->graph, &o, loss, auxiliary));
  bind_classifier(c, variant, config.layers);
  return FILTRA_OK;
}

/* ---- the table ---- */

const golden_op golden_attention[] = {{"softmax_attention", build_softmax},

                                      {"agf", build_agf},
                                      {"agf_layer", build_agf_layer},
                                      {"agf_block", build_agf_block},
                                      {"agf_classifier", build_agf_classifier},
                                      {0}};
