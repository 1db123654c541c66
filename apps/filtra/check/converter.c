/* Builds the golden ops of the Converter. Called by golden.c through the table golden_converter. */
#include "golden.h"

#include "base/memory.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the unitary transform ---- */

/* The rotations of chain "l" or "u". */
static filtra_tensor *rotations(golden *c, const char *chain) {
  static const char *const names[] = {"alpha", "beta", "gamma"};
  filtra_tensor *angle[3];
  for (int i = 0; i < 3; i++) {
    char name[32];
    snprintf(name, sizeof name, "in.%s_%s", names[i], chain);
    angle[i] = golden_input(c, name);
  }
  return filtra_givens(c->graph, angle[0], angle[1], angle[2], NULL);
}

static int64_t permutation(const golden *c) {
  double stride = golden_number(c, "perm", 0.0);
  if (stride >= 0 && stride <= 1 << 20 && stride == floor(stride)) return (int64_t)stride;
  ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: metadata \"perm\" is %g, accepted are 0 to %d",
                c->path, stride, 1 << 20);
  return 0;
}

static filtra_status build_transform(golden *c, bool inverse) {
  filtra_tensor *x = golden_input(c, "in.x"), *lower = rotations(c, "l"),
                *upper = rotations(c, "u");
  filtra_tensor *phases = filtra_unit_phase(c->graph, golden_input(c, "in.theta"), FILTRA_TURNS);
  filtra_dhhp_options options = {.inverse = inverse, .permutation = permutation(c)};
  golden_output(c, "y", filtra_dhhp(c->graph, x, lower, upper, phases, &options));
  return FILTRA_OK;
}

static filtra_status build_dhhp(golden *c) {
  return build_transform(c, false);
}

static filtra_status build_dhhp_inverse(golden *c) {
  return build_transform(c, true);
}

/* Builds Phi^-1 diag(e^(i phase)) Phi. The diagonal matrices commute, so Phi's own phases cancel
 * and the eigenvalues replace them. */
static filtra_status build_synvolution_core(golden *c) {
  filtra_tensor *value = golden_input(c, "in.value");
  filtra_tensor *lower = rotations(c, "l"), *upper = rotations(c, "u");
  filtra_tensor *eigenvalues =
      filtra_unit_phase(c->graph, golden_input(c, "in.phase"), FILTRA_RADIANS);
  filtra_dhhp_options there = {.permutation = permutation(c)}, back = there;
  back.inverse = true;
  filtra_tensor *spectrum = filtra_dhhp(c->graph, value, lower, upper, eigenvalues, &there);
  golden_output(c, "y", filtra_dhhp(c->graph, spectrum, lower, upper, NULL, &back));
  return FILTRA_OK;
}

/* Builds h_t = c_t h_{t-1} + d_t. Real tensors have no (re, im) axis; h is real if both are. */
static filtra_status build_affine_scan(golden *c) {
  filtra_tensor *factor = golden_input(c, "in.c"), *d = golden_input(c, "in.d"), *re, *im;
  const bool real_factor = factor && factor->ndim == 2, real_d = d && d->ndim == 3;
  if (real_factor) factor = filtra_complex(c->graph, factor, NULL);
  if (real_d) d = filtra_complex(c->graph, d, NULL);
  filtra_tensor *h = filtra_affine_scan(c->graph, factor, d, golden_flag(c, "reverse"));
  if (real_factor && real_d) {
    filtra_complex_parts(c->graph, h, &re, &im);
    h = re;
  }
  golden_output(c, golden_has(c, "out.h") ? "h" : "y", h);
  return FILTRA_OK;
}

/* ---- mixers, block, model: with the code that training uses ---- */

/* The authors call the kernel without damping "none". */
static const char *kernel_of(const golden *c) {
  const char *kernel = golden_text(c, "kernel", "none");
  return strcmp(kernel, "none") ? kernel : "dirichlet";
}

/* Checks that the file's damping factors are those of its kernel and K. */
static filtra_status check_damping(golden *c, const json_t *mixer) {
  static const char *const names[] = {"dirichlet", "fejer", "jackson", "lanczos",
                                      "lorentz",   "vekic", "wang"};
  int kernel = 0, order = (int)json_integer_value(json_object_get(mixer, "K"));
  float factors[FILTRA_CHEBYSHEV_MAX_ORDER + 1];
  while (strcmp(names[kernel], kernel_of(c))) /* terminates: the mixer accepted the name */
    kernel++;
  filtra_gibbs_options options = {
      .lanczos_m = (float)json_number_value(json_object_get(mixer, "lanczos_m")),
      .lorentz_xi = (float)json_number_value(json_object_get(mixer, "lorentz_xi")),
      .wang_a = (float)json_number_value(json_object_get(mixer, "wang_a")),
      .wang_b = (float)json_number_value(json_object_get(mixer, "wang_b"))};
  FT_TRY(filtra_gibbs_factors((filtra_gibbs)kernel, order, &options, factors));
  const float *given = golden_values(c, "fixed.damp", order + 1);
  for (int k = 0; given && k <= order; k++)
    if (!(fabsf(given[k] - factors[k]) <= 1e-6f))
      return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                     "%s: fixed.damp holds %g for k = %d, the kernel's factor is %g", c->path,
                     (double)given[k], k, (double)factors[k]);
  return FILTRA_OK;
}

/* Reads the mixer as from a configuration: Kernelution if the file has coefficients. */
static filtra_status read_mixer(golden *c, const char *prefix, double loss_weight,
                                ft_mixer *mixer) {
  char name[64];
  snprintf(name, sizeof name, "param.%scheb", prefix);
  json_t *json = json_pack("{ss sI ss}", "name", "synvolution", "permutation",
                           (json_int_t)permutation(c), "layout", golden_text(c, "layout", "token"));
  if (!json) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = FILTRA_OK;
  if (golden_has(c, name)) {
    json_t *more = json_pack(
        "{ss sI ss sf sf sf sf sf}", "name", "kernelution", "K",
        (json_int_t)golden_dim(c, name, 0) - 1, "kernel", kernel_of(c), "lanczos_m",
        golden_number(c, "lanczos_m", 3.0), "lorentz_xi", golden_number(c, "lorentz_xi", 4.0),
        "wang_a", golden_number(c, "wang_a", 2.0), "wang_b", golden_number(c, "wang_b", 2.0),
        "kernel_polynomial_weight", loss_weight);
    if (json_object_update_missing(more, json))
      status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    json_decref(json);
    json = more;
  }
  if (!status) status = ft_mixer_read(json, c->path, mixer);
  if (!status && golden_has(c, name)) status = check_damping(c, json);
  json_decref(json);
  return status;
}

static void bind_mixer(golden *c, const char *golden_prefix, const char *prefix) {
  char name[64], parameter[64];
  snprintf(name, sizeof name, "%sval.", golden_prefix);
  snprintf(parameter, sizeof parameter, "%svalues.", prefix);
  golden_bind_siren(c, name, parameter);
  snprintf(name, sizeof name, "%svec.", golden_prefix);
  snprintf(parameter, sizeof parameter, "%svectors.0.", prefix);
  golden_bind_siren(c, name, parameter);
  snprintf(parameter, sizeof parameter, "%svalue.weight", prefix);
  snprintf(name, sizeof name, "%sw_re", golden_prefix);
  golden_bind_rows(c, name, parameter, 0, 2);
  snprintf(name, sizeof name, "%sw_im", golden_prefix);
  golden_bind_rows(c, name, parameter, 1, 2);
  snprintf(name, sizeof name, "param.%scheb", golden_prefix);
  snprintf(parameter, sizeof parameter, "%schebyshev", prefix);
  if (golden_has(c, name)) golden_bind(c, name + strlen("param."), parameter, 0, 1);
}

static filtra_status build_kernelution(golden *c) {
  ft_mixer mixer;
  FT_TRY(read_mixer(c, "", 0.0, &mixer));
  ft_scope scope = golden_scope(c);
  filtra_mixer_input in = {.x = golden_input(c, "in.x"), .heads = 1};
  filtra_tensor *auxiliary = NULL;
  golden_output(c, "y", mixer.kind->build_complex(&scope, mixer.options, &in, &auxiliary));
  bind_mixer(c, "", "");
  return FILTRA_OK;
}

static void bind_block(golden *c, const char *prefix) {
  static const golden_name_pair PAIRS[] = {
      {"g1", "norm1.weight"}, {"g2", "norm2.weight"}, {"zeta", "zeta"}};
  char inner[48];
  golden_bind_pairs(c, "", prefix, PAIRS, FT_COUNT(PAIRS));
  snprintf(inner, sizeof inner, "%smixer.", prefix);
  bind_mixer(c, "k.", inner);
  snprintf(inner, sizeof inner, "%sffn.", prefix);
  golden_bind_gffn(c, "f.", inner);
}

static filtra_status build_encoder(golden *c) {
  ft_mixer mixer;
  FT_TRY(read_mixer(c, "k.", 0.0, &mixer));
  ft_scope scope = golden_scope(c);
  ft_encoder_options options = {.mixer = &mixer,
                                .heads = 1,
                                .ffn_width = golden_dim(c, "param.f.w_re", 0),
                                .converter = true};
  FT_TRY(golden_softplus(c, &options.activation));
  filtra_tensor *auxiliary;
  golden_output(c, "y",
                ft_encoder_block(&scope, &options, golden_input(c, "in.x"), NULL, &auxiliary));
  bind_block(c, "");
  return FILTRA_OK;
}

static void bind_classifier(golden *c) {
  static const golden_name_pair PAIRS[] = {
      {"tok", "embedding.weight"}, {"g0", "embedding.norm.weight"}, {"wh1", "head.1.weight"},
      {"bh1", "head.1.bias"},      {"wh2", "head.2.weight"},        {"bh2", "head.2.bias"}};
  golden_bind_pairs(c, "", "", PAIRS, FT_COUNT(PAIRS));
  golden_bind_gru(c, "gru.", "positions.", 2);
  bind_block(c, "layers.0.");
}

static filtra_status build_classifier(golden *c) {
  filtra_model_config config = {.task = FILTRA_TASK_CLASSIFICATION,
                                .block = FILTRA_BLOCK_CONVERTER,
                                .positions = FILTRA_POSITIONS_RECURRENT,
                                .pooling = FILTRA_POOLING_MEAN_ALL,
                                .head_activation = FILTRA_ACTIVATION_LEAKY_RELU,
                                .vocabulary = golden_dim(c, "param.tok", 0),
                                .classes = golden_dim(c, "param.wh2", 0),
                                .max_length =
                                    golden_dim(c, "fixed.tokens", 1), /* mean over all tokens */
                                .layers = 1,
                                .heads = 1,
                                .width = golden_dim(c, "param.tok", 1),
                                .ffn_width = golden_dim(c, "param.f.w_re", 0),
                                .head_width = golden_dim(c, "param.wh1", 0)};
  FT_TRY(golden_softplus(c, &config.activation));
  ft_model_options o = {.config = config, .mixers = {.count = 1}};
  FT_TRY(read_mixer(c, "k.", golden_number(c, "eta", 0.0), &o.mixers.list[0]));
  ft_scope scope = golden_scope(c);
  filtra_tensor *tokens = golden_ids(c, "fixed.tokens", config.vocabulary), *auxiliary;
  filtra_tensor *label = golden_ids(c, "fixed.label", config.classes), *mask = NULL;
  if (tokens) { /* no padding */
    mask = ft_tensor_new(c->graph, "mask", FILTRA_F32, 2, tokens->shape);
    ft_emit_fill(c->graph, mask, 1.0f);
  }
  ft_network_input in = {.tokens = tokens, .mask = mask};
  filtra_tensor *logits = ft_network_build(&scope, &o, &in, &auxiliary);
  filtra_tensor *loss = filtra_cross_entropy(c->graph, logits, label, 0.0f);
  loss = filtra_weighted_mean(c->graph, loss, NULL);
  if (auxiliary) auxiliary = filtra_weighted_mean(c->graph, auxiliary, NULL);
  golden_output(c, "logits", logits);
  golden_output(c, "loss", ft_total_loss(c->graph, &o, loss, auxiliary));
  bind_classifier(c);
  return FILTRA_OK;
}

/* ---- the table ---- */

const golden_op golden_converter[] = {{"dhhp", build_dhhp},
                                      {"dhhp_inverse", build_dhhp_inverse},
                                      {"synvolution_core", build_synvolution_core},
                                      {"affine_scan", build_affine_scan},
                                      {"synvolution", build_kernelution},
                                      {"kernelution", build_kernelution},
                                      {"converter_encoder", build_encoder},
                                      {"converter_classifier", build_classifier},
                                      {0}};
