/* Layers of the Converter: ScaleNorm, SIREN, unitary factors, the spectral filter of synvolution
 * and kernelution, recurrent positions, and the gated feed-forward network. Called by these mixers,
 * by nn/encoder.c and by model/network.c. */
#include "nn/converter.h"

#include "ops/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

filtra_tensor *ft_scale_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                                   bool complex_features) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  int64_t features = complex_features && x->ndim > 1 ? x->shape[x->ndim - 2] : ft_columns(x);
  filtra_tensor *gain = filtra_scope_parameter(
      &inner, "weight", 1, &features,
      &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1.0f});
  return filtra_scale_norm(scope->graph, x, gain, scope->norm_epsilon,
                           complex_features ? FILTRA_COMPLEX : FILTRA_REAL);
}

/* Linear layer: "NAME.weight" [out, in], U(-bound, bound), and "NAME.bias" [out], zeros. */
static filtra_tensor *linear(const ft_scope *scope, const char *name, filtra_tensor *x, int64_t out,
                             float bound, const filtra_linear_options *options) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  filtra_tensor *w = ft_scope_weight(
      &inner, "weight", (int64_t[]){out, ft_columns(x)},
      &(filtra_parameter_options){.init = FILTRA_INIT_UNIFORM, .value = bound, .decay = true});
  filtra_tensor *b = filtra_scope_parameter(&inner, "bias", 1, &out, NULL);
  return filtra_linear(scope->graph, x, w, b, options);
}

/* ---- SIREN (Sitzmann et al. 2020, without omega_0) and the angles from it ---- */

/* Products are F32 in every precision: results are phases, and an error of 1 % in a number above 2
 * pi is a large angle. */
filtra_tensor *ft_siren(const ft_scope *scope, filtra_tensor *x, float dropout) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope exact = *scope;
  exact.precision = FILTRA_F32;
  int64_t width = ft_columns(x);
  float bound = sqrtf(6.0f / (float)width);
  filtra_linear_options sine = {.activation = FILTRA_ACTIVATION_SIN};
  filtra_tensor *h =
      ft_scale_norm_layer(&exact, "norm", linear(&exact, "1", x, width, bound, &sine), false);
  return linear(&exact, "2", filtra_dropout(scope->graph, h, dropout), width, bound, &sine);
}

/* Makes head h of x [B,N,H,..] sequence b H + h of [B H,N,..]: the transforms have no heads. */
static filtra_tensor *heads_apart(filtra_graph *g, filtra_tensor *x) {
  if (!ft_usable(g, x)) return NULL;
  int64_t shape[FILTRA_MAX_DIMS] = {x->shape[0] * x->shape[2], x->shape[1]};
  for (int i = 3; i < x->ndim; i++)
    shape[i - 1] = x->shape[i];
  const int ndim = x->ndim - 1;
  if (x->shape[2] > 1) x = filtra_transpose(g, x, 1, 2);
  return filtra_reshape(g, x, ndim, shape);
}

filtra_tensor *ft_eigenvalue_phases(const ft_scope *scope, filtra_tensor *x, int64_t heads,
                                    float dropout) {
  filtra_graph *g = scope->graph;
  return heads_apart(g, filtra_pool_channels(g, ft_siren(scope, x, dropout), heads));
}

enum { ANGLES = 7, THETA = 6 }; /* per token: alpha, beta, gamma of both chains, and theta */

/* Cuts pooled [B,N,7] into seven angles: [B,N,1], or if `flat` runs of N numbers, [B,N]. */
static void cut(filtra_graph *g, filtra_tensor *pooled, bool flat, filtra_tensor *angles[ANGLES]) {
  const int64_t runs[] = {pooled->shape[0], ANGLES * pooled->shape[1]};
  filtra_chunk(g, flat ? filtra_reshape(g, pooled, 2, runs) : pooled, ANGLES, angles);
}

static filtra_tensor *phases(filtra_graph *g, filtra_tensor *theta) {
  if (!ft_usable(g, theta)) return NULL;
  filtra_tensor *dense = filtra_permute(g, theta, (int[]){0, 1, 2});
  dense = filtra_reshape(g, dense, 2, theta->shape);
  return filtra_unit_phase(g, dense, FILTRA_TURNS);
}

ft_unitary ft_unitary_layer(const ft_scope *scope, filtra_tensor *x, const ft_unitary_options *o) {
  filtra_graph *g = scope->graph;
  ft_unitary u = {0};
  filtra_tensor *features = ft_siren(scope, x, o->dropout);
  if (!ft_usable(g, features)) return u;
  const int64_t *shape = features->shape, heads = o->heads > 1 ? o->heads : 1;
  if (heads > 1)
    features =
        filtra_reshape(g, features, 4, (int64_t[]){shape[0], shape[1], heads, shape[2] / heads});
  filtra_tensor *pooled =
      filtra_pool_channels(g, filtra_scale_norm(g, features, NULL, 0.0f, FILTRA_REAL), ANGLES);
  if (heads > 1) pooled = heads_apart(g, pooled);
  if (!pooled) return u;
  filtra_tensor *angles[ANGLES];
  cut(g, pooled, o->flat, angles);
  u.lower = ft_givens_of_tokens(g, angles, 0, o->mask);
  u.upper = ft_givens_of_tokens(g, angles + THETA / 2, 1, o->mask);
  if (!o->no_phases) u.phases = phases(g, angles[THETA]);
  return u;
}

/* ---- spectral filter ---- */

const char *const ft_transform_layouts[] = {"token", "flat", NULL};
enum { LAYOUT_FLAT = 1 };

/* Repeats the mask [B,N] for each head: [B H,N]. */
static filtra_tensor *mask_of_heads(filtra_graph *g, const filtra_mixer_input *in, int64_t heads) {
  if (!in->mask || heads == 1) return in->mask;
  const int64_t batch = in->x->shape[0], n = in->x->shape[1];
  filtra_tensor *mask = filtra_reshape(g, in->mask, 3, (int64_t[]){batch, 1, n});
  mask = filtra_multiply(g, mask, filtra_constant(g, 3, (int64_t[]){1, heads, 1}, 1.0f));
  return filtra_reshape(g, mask, 2, (int64_t[]){batch * heads, n});
}

const char *ft_transform_idle(const ft_transform_options *options, const char *name) {
  if (!strcmp(name, "sort_temperature") && !options->sorted) return "without \"sort_tokens\"";
  if (!strcmp(name, "triangular") && options->order == 1) return "with an \"order\" of 1";
  return NULL;
}

ft_transform_input ft_ordered_input(const ft_scope *scope, const ft_transform_options *options,
                                    const filtra_mixer_input *in) {
  ft_transform_input input = {.in = *in};
  if (!options->sorted) return input;
  filtra_graph *g = scope->graph;
  input.order = ft_learn_order(scope, in, options->sort_temperature);
  input.in.x = ft_sort_tokens(g, &input.order, in->x, false);
  if (!in->mask || !ft_usable(g, input.in.x)) return input;
  const int64_t *shape = in->mask->shape, column[] = {shape[0], shape[1], 1};
  filtra_tensor *mask = filtra_reshape(g, in->mask, 3, column);
  mask = ft_take_tokens(g, mask, input.order.there);
  input.in.mask = mask ? filtra_reshape(g, mask, 2, shape) : NULL;
  return input;
}

/* The mask of factor m, [rows,n], which leaves the first m tokens unchanged. */
static filtra_tensor *below(filtra_graph *g, filtra_tensor *mask, int64_t rows, int64_t n,
                            int64_t m) {
  const int64_t alone = m < n ? m : n;
  filtra_tensor *parts[2] = {
      filtra_constant(g, 2, (int64_t[]){rows, alone}, 0.0f),
      filtra_constant(g, 2, (int64_t[]){rows, n - alone}, 1.0f),
  };
  filtra_tensor *kept = filtra_concat(g, 1, 2, parts);
  return mask ? filtra_multiply(g, mask, kept) : kept;
}

/* Builds the rotations of each factor from parameters "vectors.M". Rotations after the end of a
 * sequence are the identity, so that padding does not affect the result. With a permutation or the
 * flat layout this is not possible: they depend on the padded length. */
static void factors(const ft_scope *scope, const ft_transform_options *o,
                    const filtra_mixer_input *in, ft_unitary *list) {
  ft_unitary_options options = {
      .heads = o->heads, .flat = o->layout == LAYOUT_FLAT, .dropout = in->dropout};
  if (!options.flat && !o->permutation) options.mask = mask_of_heads(scope->graph, in, o->heads);
  filtra_tensor *mask = options.mask;
  for (int64_t i = 0; i < o->order; i++) {
    ft_scope inner = ft_scope_enter(scope, "vectors.%lld", (long long)i);
    if (o->triangular && i)
      options.mask = below(scope->graph, mask, in->x->shape[0] * o->heads, in->x->shape[1], i);
    options.no_phases = i == o->order - 1;
    list[i] = ft_unitary_layer(&inner, in->x, &options);
  }
}

/* The value [B,N,C,2] by heads: [B H,N,C/H,2]. */
static filtra_tensor *value(const ft_scope *scope, const filtra_mixer_input *in, int64_t heads,
                            bool unit_rows) {
  int64_t batch = in->x->shape[0], n = in->x->shape[1], width = ft_columns(in->x);
  float spread = sqrtf(0.5f / (unit_rows ? 1.0f : (float)width));
  filtra_tensor *w = ft_scope_weight(
      scope, "value.weight", (int64_t[]){2 * width, width},
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = spread, .decay = true});
  filtra_tensor *y =
      filtra_linear(scope->graph, in->x, w, NULL, &(filtra_linear_options){.dropout = in->dropout});
  ft_observe(scope, "value", y);
  if (!ft_usable(scope->graph, y)) return NULL;
  if (heads > 1)
    y = heads_apart(scope->graph, filtra_reshape(scope->graph, y, 4,
                                                 (int64_t[]){batch, n, heads, 2 * width / heads}));
  return filtra_reshape(scope->graph, y, 4, (int64_t[]){batch * heads, n, width / heads, 2});
}

/* [B H,N,C/H,2] -> [B,N,C,2]. */
static filtra_tensor *heads_joined(filtra_graph *g, filtra_tensor *z, int64_t heads) {
  if (!ft_usable(g, z) || heads == 1) return z;
  const int64_t batch = z->shape[0] / heads, n = z->shape[1], width = z->shape[2];
  z = filtra_reshape(g, z, 4, (int64_t[]){batch, heads, n, 2 * width});
  z = filtra_transpose(g, z, 1, 2);
  return filtra_reshape(g, z, 4, (int64_t[]){batch, n, heads * width, 2});
}

/* The last factor's diagonal and the eigenvalues commute, so its phases would cancel against those
 * of its inverse; the eigenvalues take their place. */
filtra_tensor *ft_spectral_filter(const ft_scope *scope, const ft_transform_options *o,
                                  const ft_transform_input *input, filtra_tensor *phase,
                                  bool unit_rows) {
  filtra_graph *g = scope->graph;
  const filtra_mixer_input *in = &input->in;
  if (!ft_usable_floats(g, in->x, 3, "spectral filter", "x")) return NULL;
  if (ft_columns(in->x) % o->heads)
    return ft_graph_fail(g, FILTRA_ERROR_INPUT,
                         "mixer: \"heads\" is %lld, which does not divide \"width\" %lld",
                         (long long)o->heads, (long long)ft_columns(in->x));
  ft_unitary list[FT_MOST_FACTORS];
  factors(scope, o, in, list);
  list[o->order - 1].phases = filtra_unit_phase(g, phase, FILTRA_RADIANS);
  filtra_dhhp_options there = {.permutation = o->permutation},
                      back = {.permutation = o->permutation, .inverse = true};
  filtra_tensor *z = value(scope, in, o->heads, unit_rows);
  for (int64_t i = 0; i < o->order; i++)
    z = filtra_dhhp(g, z, list[i].lower, list[i].upper, list[i].phases, &there);
  list[o->order - 1].phases = NULL;
  for (int64_t i = o->order; i-- > 0;)
    z = filtra_dhhp(g, z, list[i].lower, list[i].upper, list[i].phases, &back);
  z = heads_joined(g, z, o->heads);
  if (!ft_usable(g, z)) return NULL;
  const int64_t *shape = z->shape;
  filtra_tensor *flat = filtra_reshape(g, z, 3, (int64_t[]){shape[0], shape[1], 2 * shape[2]});
  if (o->sorted) flat = ft_sort_tokens(g, &input->order, flat, true);
  ft_observe(scope, "mixed", flat);
  return flat ? filtra_reshape(g, flat, 4, shape) : NULL;
}

filtra_tensor *ft_blend_layer(const ft_scope *scope, filtra_tensor *z) {
  const int64_t one = 1;
  filtra_tensor *zeta = filtra_scope_parameter(
      scope, "zeta", 1, &one,
      &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1.0f});
  return filtra_complex_blend(scope->graph, z, zeta);
}

filtra_tensor *ft_blend_mixed(const ft_scope *scope, const filtra_mixer_input *in,
                              filtra_tensor *z) {
  filtra_graph *g = scope->graph;
  filtra_tensor *y = filtra_dropout(g, ft_blend_layer(scope, z), in->dropout);
  return in->residual ? filtra_add(g, y, in->residual) : y;
}

/* ---- positions ---- */

static filtra_tensor *gru_layer(const ft_scope *scope, filtra_tensor *x) {
  if (!ft_usable(scope->graph, x)) return NULL;
  int64_t width = ft_columns(x), gates = 3 * width;
  filtra_parameter_options weight = {
      .init = FILTRA_INIT_UNIFORM, .value = 1.0f / sqrtf((float)width), .decay = true};
  filtra_parameter_options bias = {.init = weight.init, .value = weight.value};
  const int64_t shape[] = {gates, width};
  filtra_tensor *w_ih = filtra_scope_parameter(scope, "weight_ih", 2, shape, &weight);
  filtra_tensor *w_hh = filtra_scope_parameter(scope, "weight_hh", 2, shape, &weight);
  filtra_tensor *b_ih = filtra_scope_parameter(scope, "bias_ih", 1, &gates, &bias);
  filtra_tensor *b_hh = filtra_scope_parameter(scope, "bias_hh", 1, &gates, &bias);
  return filtra_gru(scope->graph, x, w_ih, w_hh, b_ih, b_hh);
}

filtra_tensor *ft_recurrent_positions(const ft_scope *scope, filtra_tensor *x, int64_t layers,
                                      float dropout) {
  for (int64_t i = 0; i < layers; i++) {
    ft_scope inner = ft_scope_enter(scope, "%lld", (long long)i);
    x = gru_layer(&inner, i ? filtra_dropout(scope->graph, x, dropout) : x);
  }
  return x;
}

/* ---- feed-forward ---- */

filtra_tensor *ft_gffn(const ft_scope *scope, filtra_tensor *z, const ft_gffn_options *o) {
  filtra_graph *g = scope->graph;
  filtra_tensor *re, *im;
  filtra_complex_parts(g, z, &re, &im);
  if (!re) return NULL;
  int64_t features = ft_columns(re);
  float bound = sqrtf(6.0f / (float)(features + o->width));
  re = linear(scope, "re", re, o->width, bound,
              &(filtra_linear_options){.activation = o->activation});
  im = linear(scope, "im", im, o->width, bound,
              &(filtra_linear_options){.activation = FILTRA_ACTIVATION_TANH});
  filtra_tensor *gated = filtra_dropout(g, filtra_multiply(g, re, im), o->dropout);
  return linear(scope, "out", gated, features, bound,
                &(filtra_linear_options){.residual = o->residual});
}
