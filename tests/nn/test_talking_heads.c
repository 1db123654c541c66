/* Attention with talking heads, as a matrix, against float64 one score at a time: masks, causality,
 * a bias, and rows so long that a product splits them into parts. */
#include "graph/parameters.h"
#include "nn/formed_attention.h"
#include "support/harness.h"

#include <filtra/filtra.h>

enum { D = 3, MOST_HEADS = 3 };

/** What mixes the heads' scores, or their weights. */
typedef struct talk {
  float weight[MOST_HEADS * MOST_HEADS], bias[MOST_HEADS];
} talk;

typedef struct talk_case {
  int64_t batch, heads, queries, keys;
  bool causal, mask, bias, constant;
  filtra_parameters *params;
  talk scores, weights;
} talk_case;

/* The last sequences have no real token, or none at first. */
static const float MASK[15] = {1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0};

static filtra_tensor *build_attention(filtra_graph *g, const talk_case *s, filtra_tensor **in) {
  const ft_scope scope = {.graph = g, .params = s->params};
  filtra_attention_options o = {.causal = s->causal};
  if (s->mask) o.mask = in[2];
  if (s->bias) o.bias = in[2 + s->mask];
  return ft_formed_attention(&scope, in[0], in[1], &o, true);
}

TEST_BUILD(build) {
  out[0] = build_attention(g, op->settings, in);
}

/* ---- in float64 ---- */

/* y[h] = sum over i of w[h,i] x[i] + b[h], for each of `heads` numbers `apart`. */
static void mix(const talk *t, int64_t heads, const double *x, double *y, int64_t apart) {
  for (int64_t at = 0; at < apart; at++)
    for (int64_t h = 0; h < heads; h++) {
      double sum = (double)t->bias[h];
      for (int64_t i = 0; i < heads; i++)
        sum += (double)t->weight[h * heads + i] * x[i * apart + at];
      y[h * apart + at] = sum;
    }
}

static bool counts(const talk_case *s, const double *mask, int64_t b, int64_t i, int64_t j) {
  return (!s->mask || mask[b * s->keys + j] > 0) && (!s->causal || j <= i + s->keys - s->queries);
}

/* Softmax over the keys of row i that count, in place. */
static void weigh(const talk_case *s, const double *mask, int64_t b, int64_t i, double *row) {
  double total = 0, most = -INFINITY;
  for (int64_t j = 0; j < s->keys; j++)
    if (counts(s, mask, b, i, j)) most = fmax(most, row[j]);
  for (int64_t j = 0; j < s->keys; j++)
    total += row[j] = counts(s, mask, b, i, j) ? exp(row[j] - most) : 0;
  for (int64_t j = 0; j < s->keys && total > 0; j++)
    row[j] /= total;
}

TEST_REFERENCE(reference) {
  const talk_case *s = op->settings;
  const int64_t pairs = s->queries * s->keys, all = s->heads * pairs;
  const double *mask = s->mask ? in[2] : NULL, *bias = s->bias ? in[2 + s->mask] : NULL;
  owned double *x = calloc((size_t)all, sizeof *x), *y = calloc((size_t)all, sizeof *y);
  for (int64_t b = 0; b < s->batch; b++) {
    for (int64_t at = 0; at < all; at++) {
      const int64_t h = at / pairs, i = at % pairs / s->keys, j = at % s->keys;
      x[at] = 0;
      for (int64_t d = 0; d < D; d++)
        x[at] += in[0][((b * s->heads + h) * s->queries + i) * D + d] *
                 in[1][((b * s->heads + h) * s->keys + j) * D + d] / sqrt(D);
    }
    mix(&s->scores, s->heads, x, y, pairs);
    for (int64_t at = 0; at < all && bias; at++)
      y[at] += bias[b * all + at];
    for (int64_t row = 0; row < s->heads * s->queries; row++)
      weigh(s, mask, b, row % s->queries, y + row * s->keys);
    mix(&s->weights, s->heads, y, out[0] + b * all, pairs);
    for (int64_t at = 0; at < all; at++)
      if (!counts(s, mask, b, at % pairs / s->keys, at % s->keys)) out[0][b * all + at] = 0;
  }
}

/* ---- the cases ---- */

static void get(const talk_case *s, const char *name, talk *to) {
  const size_t heads = (size_t)s->heads;
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  assert_ok(filtra_parameters_get(s->params, full, to->weight, heads * heads));
  snprintf(full, sizeof full, "%s.bias", name);
  assert_ok(filtra_parameters_get(s->params, full, to->bias, heads));
}

static void declare(talk_case *s) {
  assert_ok(filtra_parameters_create(test_device(), &s->params));
  owned_graph *g = test_graph(test_device(), NULL);
  const int64_t q[] = {1, s->heads, 2, D};
  const talk_case plain = {.heads = s->heads, .params = s->params};
  filtra_tensor *in[] = {filtra_graph_input(g, "q", FILTRA_F32, 4, q),
                         filtra_graph_input(g, "k", FILTRA_F32, 4, q)};
  build_attention(g, &plain, in);
  assert_ok(ft_graph_status(g));
  assert_ok(filtra_parameters_commit(s->params, 3, FILTRA_TRAINABLE));
  get(s, "talking_scores", &s->scores);
  get(s, "talking_weights", &s->weights);
}

static void check(talk_case s) {
  declare(&s);
  test_op op = {.name = "heads that talk",
                .in = {{"q", FILTRA_F32, 4, {s.batch, s.heads, s.queries, D}},
                       {"k", FILTRA_F32, 4, {s.batch, s.heads, s.keys, D}}},
                .inputs = 2,
                .build = build,
                .reference = reference,
                .out_elements = {s.batch * s.heads * s.queries * s.keys},
                .settings = &s};
  op.in[0].gradient = op.in[1].gradient = !s.constant;
  if (s.mask)
    op.in[op.inputs++] = (test_tensor){"mask", FILTRA_F32, 2, {s.batch, s.keys}, .fixed = MASK};
  if (s.bias)
    op.in[op.inputs++] = (test_tensor){
        "bias", FILTRA_F32, 4, {s.batch, s.heads, s.queries, s.keys}, .gradient = true};
  test_check_op(test_device(), &op);
  filtra_parameters_destroy(&s.params);
}

TEST(against_float64) {
  static const talk_case cases[] = {
      {1, 1, 1, 1},
      {2, 3, 7, 7},
      {3, 2, 5, 5, .mask = true},
      {3, 3, 5, 5, .causal = true, .mask = true, .bias = true},
      {2, 3, 1, 6, .causal = true},
      {2, 2, 4, 4, .bias = true},
      {1, 2, 726, 726, .constant = true},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    check(cases[i]);
}

TEST_MAIN(NULL, test_teardown)
