/* Graph-filter self-attention (Choi et al. 2024): a learned polynomial of the attention matrix
 * instead of the matrix. */
#include "nn/formed_filter.h"
#include "nn/mixer.h"
#include "nn/past.h"
#include "ops/decoding.h"

struct gfsa_options {
  int64_t order;
  float w0, w1, wK;
  bool learn_w0, learn_w1, learn_wK;
  float dropout, filter_dropout;
};

/* Defaults as in the authors' code: the filter is initially softmax attention. */
static const ft_key KEYS[] = {
    FT_INT_KEY(struct gfsa_options, order, "K", 3, 1, 32,
               "The power of A that A + (K-1)(A^2 - A) approximates."),
    FT_FLOAT_KEY(struct gfsa_options, w0, "w0", 0.0, -100.0, 100.0,
                 "Weight of the token itself: its initial value, or what it is."),
    FT_FLOAT_KEY(struct gfsa_options, w1, "w1", 1.0, -100.0, 100.0, "Weight of A, likewise."),
    FT_FLOAT_KEY(struct gfsa_options, wK, "wK", 0.0, -100.0, 100.0,
                 "Weight of the approximated power, likewise."),
    FT_BOOL_KEY(struct gfsa_options, learn_w0, "learn_w0", true,
                "`w0` is a parameter, without weight decay."),
    FT_BOOL_KEY(struct gfsa_options, learn_w1, "learn_w1", true,
                "`w1` is a parameter, without weight decay."),
    FT_BOOL_KEY(struct gfsa_options, learn_wK, "learn_wK", true,
                "`wK` is a parameter, without weight decay."),
    FT_FLOAT_KEY(struct gfsa_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on A, the same weights in both uses of it, as the authors do with "
                 "text."),
    FT_FLOAT_KEY(struct gfsa_options, filter_dropout, "filter_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the elements of H, as the authors do with images and speech. An "
                 "element of A^2 sums over all tokens: training then forms H and A^2, in fp32, in "
                 "O(N^3) time and O(N^2) memory for each head. Evaluation and prediction drop "
                 "nothing and do not form them."),
};

/* A coefficient for each head, without weight decay, which would pull the filter to zero. */
static filtra_tensor *coefficient(const ft_scope *scope, const char *name, bool learned,
                                  float value, int64_t heads) {
  if (!learned) return NULL;
  return filtra_scope_parameter(
      scope, name, 1, &heads,
      &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = value});
}

/* Applies the filter. When tokens come one by one, keeps U = A V of earlier tokens beside K and V.
 */
static filtra_tensor *filter(const ft_scope *scope, filtra_tensor *const qkv[3],
                             filtra_tensor *const w[3], const filtra_gfsa_options *o) {
  filtra_graph *g = scope->graph;
  if (!scope->past) return filtra_gfsa(g, qkv[0], qkv[1], qkv[2], w[0], w[1], w[2], o);
  filtra_tensor *k = filtra_scope_keep(scope, "k", qkv[1]),
                *v = filtra_scope_keep(scope, "v", qkv[2]);
  filtra_tensor *u = filtra_attention(g, qkv[0], k, v, &o->attention);
  filtra_tensor *au =
      filtra_attention(g, qkv[0], k, filtra_scope_keep(scope, "u", u), &o->attention);
  return ft_gfsa_combine(g, qkv[2], u, au, w[0], w[1], w[2], o);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct gfsa_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  const bool formed = o->filter_dropout > 0.0f && ft_graph_training(g);
  filtra_tensor *qkv[3];
  ft_mixer_qkv(scope, in, formed ? FILTRA_F32 : ft_mixer_precision(scope), qkv);
  filtra_tensor *w[] = {coefficient(scope, "w0", o->learn_w0, o->w0, in->heads),
                        coefficient(scope, "w1", o->learn_w1, o->w1, in->heads),
                        coefficient(scope, "wK", o->learn_wK, o->wK, in->heads)};
  filtra_gfsa_options gfsa = {
      .attention = {.mask = in->mask, .dropout = o->dropout, .causal = in->causal},
      .order = (int)o->order,
      .w0 = o->w0,
      .w1 = o->w1,
      .wK = o->wK};
  return filtra_mixer_output(scope, in,
                             formed ? ft_formed_filter(g, qkv, w, &gfsa, o->filter_dropout)
                                    : filter(scope, qkv, w, &gfsa));
}

static const ft_mixer_coefficients COEFFICIENTS[] = {
    {"w0", "head", NULL}, {"w1", "head", NULL}, {"wK", "head", NULL}};

static double coefficient_at(const float *learned, float constant, int64_t head) {
  return learned ? (double)learned[head] : (double)constant;
}

/* The factor by which the filter scales an eigenvector of A with eigenvalue x (Choi et al. 2024,
 * section 4). */
static double filter_at(const void *options, const float *const *values, int64_t head, double x) {
  const struct gfsa_options *o = options;
  double power = x + (double)(o->order - 1) * (x * x - x);
  return coefficient_at(values[0], o->w0, head) + coefficient_at(values[1], o->w1, head) * x +
         coefficient_at(values[2], o->wK, head) * power;
}

static const ft_mixer_filter FILTER = {"eigenvalue of A", -1, 1, true, filter_at};

const ft_mixer_class ft_mixer_gfsa = {
    .name = "gfsa",
    .description = "a learned polynomial of the attention matrix (Choi et al. 2024)",
    .options_size = sizeof(struct gfsa_options),
    .keys = FT_KEYS(KEYS),
    .coefficients = COEFFICIENTS,
    .coefficient_count = FT_COUNT(COEFFICIENTS),
    .filter = &FILTER,
    .narrow = true,
    .build = build};
