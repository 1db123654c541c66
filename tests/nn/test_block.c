/* A Transformer block, with norms before and after, stochastic depth, LayerScale and ContraNorm,
 * against a float64 reference with the masks of its two branches: values and gradients. */
#include "base/memory.h"
#include "nn/encoder.h"
#include "ops/support.h"
#include "reference/matmul.h"
#include "support/harness.h"

#include <filtra/filtra.h>

enum { B = 7, N = 3, C = 4, F = 5 };

typedef struct block_case {
  filtra_parameters *params;
  ft_mixer mixer;
  bool post;
  float rate, contra_norm, scale;
  float dropout, hidden_dropout;
  float w1[F * C], b1[F], w2[C * F], b2[C]; /* of the feed-forward layers */
} block_case;

/* Some sequences end in padding. */
static const float MASK[B * N] = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1};

static filtra_tensor *build_block(filtra_graph *g, const block_case *s, filtra_tensor *x,
                                  filtra_tensor *mask) {
  const ft_encoder_options o = {.mixer = &s->mixer,
                                .heads = 1,
                                .ffn_width = F,
                                .activation = FILTRA_ACTIVATION_TANH,
                                .dropout = s->dropout,
                                .hidden_dropout = s->hidden_dropout,
                                .drop_path = s->rate,
                                .contra_norm = s->contra_norm,
                                .layer_scale = s->scale,
                                .post_norm = s->post,
                                .max_length = N};
  const ft_scope scope = {.graph = g, .params = s->params};
  filtra_tensor *auxiliary;
  return ft_encoder_block(&scope, &o, x, mask, &auxiliary);
}

TEST_BUILD(build) {
  out[0] = build_block(g, op->settings, in[0], in[1]);
}

/* ---- in float64 ---- */

/* x less the mean of its tokens, weighed by softmax of their cosines. */
static void move_apart(const block_case *s, const float *mask, const double *x, double *y) {
  memcpy(y, x, N * C * sizeof *y);
  for (int i = 0; i < N && s->contra_norm > 0; i++) {
    double weight[N], total = 0;
    for (int k = 0; k < N; k++) {
      double dot = 0, own = 0, other = 0;
      for (int c = 0; c < C; c++) {
        dot += x[i * C + c] * x[k * C + c];
        own += x[i * C + c] * x[i * C + c];
        other += x[k * C + c] * x[k * C + c];
      }
      total += weight[k] = mask[k] * exp(dot / sqrt(own * other));
    }
    for (int k = 0; k < N; k++)
      for (int c = 0; c < C; c++)
        y[i * C + c] -= s->contra_norm * weight[k] / total * x[k * C + c];
  }
}

/* Gains are 1 and biases 0 when they begin. */
static void normalize(const double *x, double *y) {
  for (int i = 0; i < N; i++) {
    double mean = 0, square = 0;
    for (int c = 0; c < C; c++)
      mean += x[i * C + c] / C;
    for (int c = 0; c < C; c++)
      square += (x[i * C + c] - mean) * (x[i * C + c] - mean) / C;
    for (int c = 0; c < C; c++)
      y[i * C + c] = (x[i * C + c] - mean) / sqrt(square + 1e-5);
  }
}

/* FNet: the real part of the transform along tokens and channels, over sqrt(length C); zeros where
 * padding is. */
static void transform(const float *mask, const double *x, double *y) {
  const double turn = 2 * 3.14159265358979323846;
  int length = 0;
  while (length < N && mask[length] > 0)
    length++;
  for (int i = 0; i < N; i++)
    for (int c = 0; c < C; c++) {
      double sum = 0;
      for (int n = 0; n < length; n++)
        for (int k = 0; k < C; k++)
          sum += x[n * C + k] * cos(turn * ((double)(i * n) / length + (double)(c * k) / C));
      y[i * C + c] = i < length ? sum / sqrt(length * C) : 0;
    }
}

/* A value after dropout: 0 or enlarged, by the mask of random op `id`. Rate 0 leaves it, and has no
 * mask. */
static double drop(const test_op *op, uint32_t id, uint32_t index, float rate, double value) {
  return op->training && rate > 0 ? value * reference_dropout(op->seed, op->step, id, index, rate)
                                  : value;
}

/* `id` is that of the hidden units' mask. */
static void feed_forward(const test_op *op, uint32_t id, uint32_t b, const double *x, double *y) {
  const block_case *s = op->settings;
  for (int i = 0; i < N; i++) {
    double h[F];
    for (int f = 0; f < F; f++) {
      double sum = (double)s->b1[f];
      for (int c = 0; c < C; c++)
        sum += (double)s->w1[f * C + c] * x[i * C + c];
      h[f] = drop(op, id, (b * N + (uint32_t)i) * F + (uint32_t)f, s->hidden_dropout, tanh(sum));
    }
    for (int c = 0; c < C; c++) {
      y[i * C + c] = (double)s->b2[c];
      for (int f = 0; f < F; f++)
        y[i * C + c] += (double)s->w2[c * F + f] * h[f];
    }
  }
}

/* Drops elements of sequence b. */
static void drop_all(const test_op *op, uint32_t id, uint32_t b, double *x) {
  const block_case *s = op->settings;
  for (uint32_t i = 0; i < N * C; i++)
    x[i] = drop(op, id, b * N * C + i, s->dropout, x[i]);
}

static void add_branch(double *x, const double *branch, double kept) {
  for (int i = 0; i < N * C; i++)
    x[i] += kept * branch[i];
}

/* The masks of drop_path are random ops 0 and 1 of the graph, with one number for each sequence.
 * With dropout in its place, op 0 drops what the mixer gives, then come hidden units and outputs.
 */
TEST_REFERENCE(reference) {
  const block_case *s = op->settings;
  const double scale = s->scale > 0 ? (double)s->scale : 1;
  for (uint32_t b = 0; b < B; b++) {
    const float *mask = MASK + b * N;
    double x[N * C], apart[N * C], normed[N * C], branch[N * C];
    double first = op->training ? reference_dropout(op->seed, op->step, 0, b, s->rate) : 1;
    double second = op->training ? reference_dropout(op->seed, op->step, 1, b, s->rate) : 1;
    memcpy(x, in[0] + b * N * C, sizeof x);
    move_apart(s, mask, x, apart);
    normalize(apart, normed);
    transform(mask, s->post ? x : normed, branch);
    drop_all(op, 0, b, branch);
    add_branch(x, branch, scale * first);
    move_apart(s, mask, x, apart);
    normalize(apart, normed);
    if (s->post) memcpy(x, normed, sizeof x);
    feed_forward(op, 1, b, normed, branch);
    drop_all(op, s->hidden_dropout > 0 ? 2 : 1, b, branch);
    add_branch(x, branch, scale * second);
    normalize(x, normed);
    memcpy(out[0] + b * N * C, s->post ? normed : x, sizeof x);
  }
}

/* ---- the cases ---- */

static void declare(block_case *s) {
  json_auto_t *json = json_string("fnet");
  assert_ok(ft_mixer_read(json, "test", &s->mixer));
  assert_ok(filtra_parameters_create(test_device(), &s->params));
  owned_graph *g = test_graph(test_device(), NULL);
  build_block(g, s, test_input(g, "x", B, N, C), test_input(g, "mask", B, N));
  assert_ok(ft_graph_status(g));
  assert_ok(filtra_parameters_commit(s->params, 3, FILTRA_TRAINABLE));
  assert_ok(filtra_parameters_get(s->params, "ffn.1.weight", s->w1, F * C));
  assert_ok(filtra_parameters_get(s->params, "ffn.1.bias", s->b1, F));
  assert_ok(filtra_parameters_get(s->params, "ffn.2.weight", s->w2, C * F));
  assert_ok(filtra_parameters_get(s->params, "ffn.2.bias", s->b2, C));
}

static void check(block_case s, bool training) {
  declare(&s);
  test_op op = {.name = s.post ? "post-norm block" : "pre-norm block",
                .in = {{"x", FILTRA_F32, 3, {B, N, C}, .gradient = true},
                       {"mask", FILTRA_F32, 2, {B, N}, .fixed = MASK}},
                .build = build,
                .reference = reference,
                .settings = &s,
                .training = training,
                .seed = 7,
                .step = 9};
  test_check_op(test_device(), &op);
  filtra_parameters_destroy(&s.params);
}

/* Hidden units are dropped by a rate of their own. */
TEST(test_dropout) {
  check((block_case){.dropout = 0.4f, .hidden_dropout = 0.3f}, true);
  check((block_case){.dropout = 0.4f}, true);
  check((block_case){.post = true, .dropout = 0.5f, .hidden_dropout = 0.5f}, true);
  check((block_case){.dropout = 0.4f, .hidden_dropout = 0.3f}, false);
}

/* At these rates some sequences lose one branch, some both and some none. */
TEST(test_blocks) {
  for (int post = 0; post < 2; post++) {
    check((block_case){.post = post, .rate = 0.5f}, true);
    check((block_case){.post = post, .rate = 0.9f}, true);
    check((block_case){.post = post, .rate = 0.5f}, false);
    check((block_case){.post = post}, true);
    check((block_case){.post = post, .contra_norm = 0.3f}, true);
    check((block_case){.post = post, .rate = 0.5f, .contra_norm = 2.0f}, true);
    check((block_case){.post = post, .scale = 0.3f}, false);
    check((block_case){.post = post, .rate = 0.5f, .scale = 1.5f}, true);
  }
}

TEST(test_refused) {
  static const struct {
    filtra_model_config config;
    const char *part;
  } cases[] = {
      {{.drop_path = 1.0f}, "\"drop_path\" is 1"},
      {{.drop_path = 0.1f, .layers = 1}, "\"layers\" is 1"},
      {{.drop_path = 0.1f, .block = FILTRA_BLOCK_CONVERTER, .mixer = "kernelution"},
       "\"block\" transformer"},
      {{.no_hidden_dropout = true, .block = FILTRA_BLOCK_CONVERTER, .mixer = "kernelution"},
       "\"no_hidden_dropout\" is for \"block\" transformer"},
      {{.contra_norm = 11.0f}, "\"contra_norm\" is 11"},
      {{.contra_norm = 0.1f, .block = FILTRA_BLOCK_CONVERTER, .mixer = "kernelution"},
       "\"contra_norm\" is for \"block\" transformer"},
      {{.contra_norm = 0.1f, .task = FILTRA_TASK_LANGUAGE_MODEL}, "cannot have \"contra_norm\""},
      {{.layer_scale = 11.0f}, "\"layer_scale\" is 11"},
      {{.layer_scale = 0.1f, .block = FILTRA_BLOCK_CONVERTER, .mixer = "kernelution"},
       "\"layer_scale\" is for \"block\" transformer"},
      {{.class_layers = 2}, "need \"pooling\" class_token, not mean"},
      {{.class_layers = 2, .pooling = FILTRA_POOLING_CLASS_TOKEN, .norm = FILTRA_NORM_POST},
       "\"norm\" must be pre"},
      {{.class_layers = 2,
        .pooling = FILTRA_POOLING_CLASS_TOKEN,
        .head = FILTRA_HEAD_LINEAR,
        .distillation = FILTRA_DISTILLATION_TOKEN},
       "\"distillation\" must be none"},
      {{.mixer = "{\"name\": \"agf\", \"talking_heads\": true}"},
       "has no option \"talking_heads\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_model *model;
    filtra_model_config config = cases[i].config;
    config.vocabulary = 5;
    config.classes = 2;
    assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
                 cases[i].part);
  }
}

TEST_MAIN(NULL, test_teardown)
