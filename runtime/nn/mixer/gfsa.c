/* Graph-filter self-attention (Choi et al. 2024): a learned polynomial of the attention matrix
 * instead of the matrix. */
#include "nn/formed_attention.h"
#include "nn/formed_filter.h"
#include "nn/mixer.h"
#include "nn/past.h"
#include "ops/decoding.h"

#include <math.h>
#include <string.h>

enum { W0, W1, WK, COEFFICIENTS };

struct gfsa_options {
  int64_t order;
  ft_floats w[COEFFICIENTS]; /* w0, w1, wK */
  bool learn[COEFFICIENTS];
  char fixed_heads[160];
  float dropout, filter_dropout;
  bool talking;
};

static const float ZERO[] = {0, NAN}, ONE[] = {1, NAN};
static const char *const NAMES[] = {"w0", "w1", "wK"};

/* Defaults as in the authors' code: the filter is initially softmax attention. */
static const ft_key KEYS[] = {
    FT_INT_KEY(struct gfsa_options, order, "K", 3, 1, 32,
               "The power of A that A + (K-1)(A^2 - A) approximates."),
    FT_FLOATS_KEY(struct gfsa_options, w[W0], "w0", ZERO, -100.0, 100.0,
                  "Weight of the token itself: its initial value, or what it is. One number for "
                  "all heads; two, for the first half (the larger one where heads are odd) and the "
                  "second; or one for each head. Heads that learn it begin with the same number."),
    FT_FLOATS_KEY(struct gfsa_options, w[W1], "w1", ONE, -100.0, 100.0, "Weight of A, likewise."),
    FT_FLOATS_KEY(struct gfsa_options, w[WK], "wK", ZERO, -100.0, 100.0,
                  "Weight of the approximated power, likewise."),
    FT_BOOL_KEY(struct gfsa_options, learn[W0], "learn_w0", true,
                "`w0` is a parameter, without weight decay."),
    FT_BOOL_KEY(struct gfsa_options, learn[W1], "learn_w1", true,
                "`w1` is a parameter, without weight decay."),
    FT_BOOL_KEY(struct gfsa_options, learn[WK], "learn_wK", true,
                "`wK` is a parameter, without weight decay."),
    FT_STRING_KEY(struct gfsa_options, fixed_heads, "fixed_heads",
                  "Heads whose `w0`, `w1` and `wK` are as given and not learned, as in \"0, 4-7\"; "
                  "they count from 0. Laplacian heads, I - A, have 1, -1 and 0.",
                  .numbered = true),
    FT_FLOAT_KEY(struct gfsa_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on A, the same weights in both uses of it, as the authors do with "
                 "text."),
    FT_FLOAT_KEY(struct gfsa_options, filter_dropout, "filter_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the elements of H, as the authors do with images and speech. An "
                 "element of A^2 sums over all tokens: training then forms H and A^2, in fp32, in "
                 "O(N^3) time and O(N^2) memory for each head. Evaluation and prediction drop "
                 "nothing and do not form them."),
    FT_TALKING_HEADS_KEY(struct gfsa_options, talking),
};

static const char *idle(const void *options, const char *name) {
  const struct gfsa_options *o = options;
  const bool learned = o->learn[W0] || o->learn[W1] || o->learn[WK];
  return learned || strcmp(name, "fixed_heads") != 0 ? NULL : "where no coefficient is learned";
}

/* ---- coefficients ---- */

/* The first head with a learned coefficient; -1: there is none, or, with the graph failed, their
 * initial values differ. */
static int64_t first_learning(filtra_graph *g, const char *name, const float *number,
                              const bool *fixed, int64_t heads) {
  int64_t first = -1;
  for (int64_t h = 0; h < heads; h++) {
    if (fixed[h]) continue;
    if (first < 0) first = h;
    if (number[h] == number[first]) continue;
    ft_graph_fail(g, FILTRA_ERROR_INPUT,
                  "mixer \"gfsa\": \"%s\" is %g for head %lld and %g for head %lld; heads that "
                  "learn it begin with the same number, others are \"fixed_heads\", or all with "
                  "\"learn_%s\" false",
                  name, (double)number[first], (long long)first, (double)number[h], (long long)h,
                  name);
    return -1;
  }
  return first;
}

/* Number of heads from `head` on that are alike: all learned, or all fixed to the same number. */
static int64_t count_alike(const float *number, const bool *fixed, int64_t heads, int64_t head) {
  int64_t end = head + 1;
  while (end < heads && fixed[end] == fixed[head] && (!fixed[head] || number[end] == number[head]))
    end++;
  return end - head;
}

/* A coefficient for each head, without weight decay, which would pull the filter to zero. NULL: all
 * heads are fixed to the first number. */
static filtra_tensor *coefficient(const ft_scope *scope, const char *name, const float *number,
                                  const bool *fixed, int64_t heads) {
  filtra_graph *g = scope->graph;
  filtra_tensor *learned = NULL, *all = NULL;
  const int64_t first = first_learning(g, name, number, fixed, heads);
  if (first >= 0)
    learned = filtra_scope_parameter(
        scope, name, 1, &heads,
        &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = number[first]});
  for (int64_t h = 0, count; h < heads; h += count) {
    count = count_alike(number, fixed, heads, h);
    if (count == heads) return learned;
    filtra_tensor *part =
        fixed[h] ? filtra_constant(g, 1, &count, number[h]) : filtra_slice(g, learned, &h, &count);
    all = all ? filtra_concat(g, 0, 2, (filtra_tensor *[]){all, part}) : part;
  }
  return all;
}

/* w0, w1 and wK, each NULL if all heads have the constant in options.w0 .. Fails the graph and
 * returns false for options that do not fit the heads. */
static bool make_coefficients(const ft_scope *scope, const struct gfsa_options *o, int64_t heads,
                              filtra_tensor *w[COEFFICIENTS], filtra_gfsa_options *options) {
  float *const constant[] = {&options->w0, &options->w1, &options->wK}, number[FT_MOST_FLOATS];
  for (int i = 0; i < COEFFICIENTS; i++) {
    bool fixed[FT_MOST_FLOATS];
    if (!ft_mixer_spread(scope->graph, "gfsa", NAMES[i], &o->w[i], heads, number)) return false;
    if (!ft_mark_heads(o->fixed_heads, heads, fixed)) {
      ft_graph_fail(scope->graph, FILTRA_ERROR_INPUT,
                    "mixer \"gfsa\": \"fixed_heads\" is \"%s\"; accepted are numbers and ranges "
                    "from 0 to %lld, as in \"0, 4-7\"",
                    o->fixed_heads, (long long)heads - 1);
      return false;
    }
    for (int64_t h = 0; h < heads; h++)
      fixed[h] |= !o->learn[i];
    *constant[i] = number[0];
    w[i] = coefficient(scope, NAMES[i], number, fixed, heads);
  }
  return true;
}

/* ---- the layer ---- */

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

/* Applies the filter of a stored matrix A. */
static filtra_tensor *form(const ft_scope *scope, filtra_tensor *const qkv[3],
                           filtra_tensor *const w[3], const filtra_gfsa_options *o, bool talking,
                           float dropout) {
  filtra_tensor *k = filtra_scope_keep(scope, "k", qkv[1]);
  filtra_tensor *a = ft_formed_attention(scope, qkv[0], k, &o->attention, talking);
  return ft_formed_filter(scope, a, qkv[2], w, o, dropout);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct gfsa_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  const float dropout = ft_graph_training(g) ? o->filter_dropout : 0.0f;
  filtra_tensor *qkv[3];
  ft_mixer_qkv(scope, in, dropout > 0.0f ? FILTRA_F32 : ft_mixer_precision(scope), qkv);
  filtra_tensor *w[COEFFICIENTS];
  filtra_gfsa_options gfsa = {.attention = {.mask = in->mask,
                                            .bias = in->bias,
                                            .dropout = o->dropout,
                                            .causal = in->causal},
                              .order = (int)o->order};
  if (!make_coefficients(scope, o, in->heads, w, &gfsa)) return NULL;
  return filtra_mixer_output(scope, in,
                             o->talking || dropout > 0.0f
                                 ? form(scope, qkv, w, &gfsa, o->talking, dropout)
                                 : filter(scope, qkv, w, &gfsa));
}

/* ---- what was learned ---- */

/* Replaces the values of fixed heads by their fixed numbers. */
static void set_fixed(const struct gfsa_options *o, int i, float *values, size_t heads) {
  bool fixed[FT_MOST_FLOATS];
  if (!ft_mark_heads(o->fixed_heads, (int64_t)heads, fixed)) return; /* no model has such options */
  for (size_t h = 0; h < heads; h++)
    if (fixed[h]) values[h] = ft_head_number(&o->w[i], (int64_t)heads, (int64_t)h);
}

static void set_w0(const void *options, float *values, size_t heads) {
  set_fixed(options, W0, values, heads);
}
static void set_w1(const void *options, float *values, size_t heads) {
  set_fixed(options, W1, values, heads);
}
static void set_wK(const void *options, float *values, size_t heads) {
  set_fixed(options, WK, values, heads);
}

static const ft_mixer_coefficients LEARNED[] = {
    {"w0", "head", set_w0}, {"w1", "head", set_w1}, {"wK", "head", set_wK}};

/* The factor by which the filter scales an eigenvector of A with eigenvalue x (Choi et al. 2024,
 * section 4). */
static double filter_at(const void *options, const float *const *values, int64_t heads,
                        int64_t head, double x) {
  const struct gfsa_options *o = options;
  const double powers[] = {1, x, x + (double)(o->order - 1) * (x * x - x)};
  double sum = 0;
  for (int i = 0; i < COEFFICIENTS; i++)
    sum +=
        powers[i] * (double)(values[i] ? values[i][head] : ft_head_number(&o->w[i], heads, head));
  return sum;
}

static const ft_mixer_filter FILTER = {"eigenvalue of A", -1, 1, true, filter_at};

const ft_mixer_class ft_mixer_gfsa = {
    .name = "gfsa",
    .description = "a learned polynomial of the attention matrix (Choi et al. 2024)",
    .options_size = sizeof(struct gfsa_options),
    .keys = FT_KEYS(KEYS),
    .coefficients = LEARNED,
    .coefficient_count = FT_COUNT(LEARNED),
    .filter = &FILTER,
    .idle = idle,
    .narrow = true,
    .takes_bias = true,
    .build = build};
