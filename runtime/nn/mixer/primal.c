/* Primal-Attention (Chen et al. 2023): attention as an asymmetric kernel's singular value
 * decomposition in its primal form. Queries and keys of length 1 are projected to s scores each, by
 * weights computed from p tokens of the sequence, and the output is computed from the scores; a
 * loss, the decomposition's objective, is 0 at its solution. O(n p d). */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

#include <math.h>
#include <string.h>

struct primal_options {
  int64_t rank, samples;
  bool data_trace;
  float loss;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct primal_options, rank, "s", 20, 1, 1024,
               "Scores of a query and of a key, for each head."),
    FT_INT_KEY(struct primal_options, samples, "p", 0, 0, 1024,
               "Tokens, evenly over the sequence, that make the weights. 0: 10 s, at most "
               "max_length and 1024.",
               .usual = "10 s"),
    FT_FLOAT_KEY(struct primal_options, loss, "ksvd_weight", 0.1, 0.0, 1e3,
                 "Weight of the squared objective, averaged over layers. 0: none."),
    FT_BOOL_KEY(struct primal_options, data_trace, "data_trace", false,
                "The objective's trace is of the weights that tokens made, not of the parameters."),
};

static const char *idle(const void *options, const char *name) {
  const struct primal_options *o = options;
  return !strcmp(name, "data_trace") && o->loss == 0.0f ? "without a \"ksvd_weight\"" : NULL;
}

/* State of a build; e and r stand for queries and keys. */
typedef struct primal {
  const ft_scope *scope;
  const struct primal_options *options;
  const filtra_mixer_input *in;
  int64_t batch, tokens, width, head_width, samples;
} primal;

/* ---- weights computed from tokens ---- */

/* 1 where the whole number x is at least 0, else 0. */
static filtra_tensor *reached(filtra_graph *g, filtra_tensor *x) {
  return filtra_subtract(
      g, filtra_activate(g, filtra_affine(g, x, 1.0f, 1.0f), FILTRA_ACTIVATION_RELU),
      filtra_activate(g, x, FILTRA_ACTIVATION_RELU));
}

/* [B,p,N], 1 where sample j is token n = floor(j (L - 1) / (p - 1)) of L real tokens. All numbers
 * are whole and below 2^24, so that F32 is exact. */
static filtra_tensor *sampling(const primal *m) {
  filtra_graph *g = m->scope->graph;
  const int64_t rows[] = {1, m->samples, 1}, columns[] = {1, 1, m->tokens};
  const int64_t each[] = {m->batch, 1, 1};
  filtra_tensor *length = filtra_sum(g, m->in->mask, 1, FILTRA_DROP_AXIS);
  filtra_tensor *last = filtra_reshape(g, filtra_affine(g, length, 1.0f, -1.0f), 3, each);
  filtra_tensor *j = filtra_affine(g, ft_counting(g, m->samples), 1.0f, -1.0f);
  filtra_tensor *n = filtra_affine(g, ft_counting(g, m->tokens), 1.0f, -1.0f);
  const float gaps = m->samples > 1 ? (float)(m->samples - 1) : 1.0f;
  filtra_tensor *past =
      filtra_subtract(g, filtra_multiply(g, filtra_reshape(g, j, 3, rows), last),
                      filtra_reshape(g, filtra_affine(g, n, gaps, 0.0f), 3, columns));
  return filtra_subtract(g, reached(g, past), reached(g, filtra_affine(g, past, 1.0f, -gaps)));
}

/* Tokens of the sampling, for products with parameters of heads: [H, B d, p]. */
static filtra_tensor *sampled(const primal *m) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *f = filtra_matmul(g, sampling(m), m->in->x, NULL);
  f = filtra_reshape(g, f, 4, (int64_t[]){m->batch, m->samples, m->in->heads, m->head_width});
  f = filtra_permute(g, f, (int[]){2, 0, 3, 1});
  return filtra_reshape(g, f, 3, (int64_t[]){m->in->heads, m->batch * m->head_width, m->samples});
}

/* A parameter W [H,p,s], as large as the authors' orthogonal start makes it. */
static filtra_tensor *parameter(const primal *m, const char *name) {
  const float spread = 1.0f / sqrtf((float)(m->samples * m->options->rank));
  return filtra_scope_parameter(
      m->scope, name, 3, (int64_t[]){m->in->heads, m->samples, m->options->rank},
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = spread, .decay = true});
}

/* f(X)^T W: [B,H,d,s]. */
static filtra_tensor *made(const primal *m, filtra_tensor *f, filtra_tensor *w) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *y =
      filtra_reshape(g, filtra_matmul(g, f, w, NULL), 4,
                     (int64_t[]){m->in->heads, m->batch, m->head_width, m->options->rank});
  return filtra_transpose(g, y, 0, 1);
}

/* ---- the loss ---- */

/* Sum over everything but the samples: x [B,..] -> [B]. */
static filtra_tensor *sum_of_each(filtra_graph *g, filtra_tensor *x) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t each[] = {x->shape[0], filtra_tensor_elements(x) / x->shape[0]};
  return filtra_sum(g, filtra_reshape(g, x, 2, each), 1, FILTRA_DROP_AXIS);
}

/* Mean over heads and real tokens of |lambda o scores|^2 / 2, [B]. */
static filtra_tensor *variance(const primal *m, filtra_tensor *scores, filtra_tensor *lambda) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *x = ft_mask_heads(m->scope, m->in, filtra_multiply(g, scores, lambda));
  filtra_tensor *length = filtra_sum(g, m->in->mask, 1, FILTRA_DROP_AXIS);
  /* max(length, 1) */
  length = filtra_activate(g, filtra_affine(g, length, 1.0f, -1.0f), FILTRA_ACTIVATION_RELU);
  length = filtra_affine(g, length, 2.0f * (float)m->in->heads, 2.0f * (float)m->in->heads);
  return filtra_divide(g, sum_of_each(g, filtra_multiply(g, x, x)), length);
}

/* The mean over heads of the trace of a^T b, [B], or [1] of parameters. */
static filtra_tensor *trace(const primal *m, filtra_tensor *a, filtra_tensor *b) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *products = filtra_multiply(g, a, b);
  if (!m->options->data_trace && products)
    products = filtra_reshape(g, products, 2, (int64_t[]){1, filtra_tensor_elements(products)});
  return filtra_affine(g, sum_of_each(g, products), 1.0f / (float)m->in->heads, 0.0f);
}

/* w times the square of J = variances of both scores - trace, of each sample. */
static filtra_tensor *objective(const primal *m, filtra_tensor *const scores[2],
                                filtra_tensor *const weights[2]) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *lambda = filtra_scope_parameter(
      m->scope, "lambda", 2, (int64_t[]){m->in->heads, m->options->rank},
      &(filtra_parameter_options){.init = FILTRA_INIT_UNIFORM, .value = 1.0f});
  lambda = filtra_reshape(g, lambda, 4, (int64_t[]){1, m->in->heads, 1, m->options->rank});
  filtra_tensor *both =
      filtra_add(g, variance(m, scores[0], lambda), variance(m, scores[1], lambda));
  filtra_tensor *j = filtra_subtract(g, both, trace(m, weights[0], weights[1]));
  return filtra_affine(g, filtra_multiply(g, j, j), m->options->loss, 0.0f);
}

/* ---- the mixer ---- */

/* Rows of each head scaled to length 1. */
static filtra_tensor *cosine_features(const primal *m, filtra_tensor *x) {
  filtra_graph *g = m->scope->graph;
  filtra_tensor *heads = ft_dense_heads(g, filtra_split_heads(g, x, m->in->heads));
  return filtra_scale_norm(g, heads, NULL, 1e-12f, FILTRA_REAL);
}

static bool describe(const ft_scope *scope, const struct primal_options *o,
                     const filtra_mixer_input *in, primal *m) {
  if (!ft_usable(scope->graph, in->x)) return false;
  int64_t usual = 10 * o->rank < in->max_length ? 10 * o->rank : in->max_length;
  if (usual > 1024) usual = 1024;
  *m = (primal){scope,
                o,
                in,
                in->x->shape[0],
                in->x->shape[1],
                ft_columns(in->x),
                ft_columns(in->x) / in->heads,
                o->samples ? o->samples : usual};
  if (m->samples * m->tokens < 1 << 24) return true;
  ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT,
                "mixer \"primal\": \"p\" %lld times %lld tokens, accepted is less than 16777216",
                (long long)m->samples, (long long)m->tokens);
  return false;
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  static const char *const NAMES[] = {"weights.e", "weights.r"};
  primal m;
  filtra_graph *g = scope->graph;
  if (!describe(scope, options, in, &m)) return NULL;
  filtra_tensor *qk[2], *scores[2], *w[2], *data[2], *f = sampled(&m);
  ft_observe(scope, "value", in->x);
  filtra_chunk(g, filtra_scope_linear(scope, "qk", in->x, 2 * m.width, NULL), 2, qk);
  for (int i = 0; i < 2; i++) {
    w[i] = parameter(&m, NAMES[i]);
    data[i] = made(&m, f, w[i]);
    scores[i] = filtra_matmul(g, cosine_features(&m, qk[i]), data[i], NULL);
  }
  if (m.options->loss > 0.0f) *auxiliary = objective(&m, scores, m.options->data_trace ? data : w);
  filtra_tensor *y =
      filtra_scope_linear(scope, "scores", filtra_concat(g, 3, 2, scores), m.head_width, NULL);
  return filtra_mixer_output(scope, in, ft_join_heads(g, y));
}

const ft_mixer_class ft_mixer_primal = {
    .name = "primal",
    .description = "Primal-Attention: projections of queries and keys (Chen et al. 2023)",
    .options_size = sizeof(struct primal_options),
    .keys = FT_KEYS(KEYS),
    .idle = idle,
    .not_causal = "its weights are made of tokens from all of a sequence",
    .build = build};
