/* Synvolution and Kernelution in the blocks of Transformer and Converter: initial values, unitarity
 * with every option, no influence of padding, and the auxiliary loss. */
#include "nn/encoder.h"
#include "support/harness.h"

enum { C = 10, MOST = 40 };

typedef struct block {
  filtra_parameters *params;
  filtra_graph *g;
  ft_observer seen;
  filtra_tensor *x, *mask, *y, *loss, *gradient;
  int64_t batch, tokens;
} block;

static ft_mixer read_mixer(const char *text) {
  ft_mixer mixer;
  json_auto_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
  assert_non_null(json);
  assert_ok(ft_mixer_read(json, "test", &mixer));
  return mixer;
}

/* A block on x [batch, tokens, C], and the gradient of y x summed over real tokens. */
static void open_block(block *b, const char *mixer_text, bool converter, int64_t batch,
                       int64_t tokens) {
  ft_mixer mixer = read_mixer(mixer_text);
  ft_encoder_options options = {.mixer = &mixer,
                                .heads = 1,
                                .ffn_width = 3 * C,
                                .activation =
                                    converter ? FILTRA_ACTIVATION_SOFTPLUS : FILTRA_ACTIVATION_GELU,
                                .converter = converter};
  *b = (block){.batch = batch, .tokens = tokens};
  assert_ok(filtra_parameters_create(test_device(), &b->params));
  b->g = test_graph(test_device(), NULL);
  ft_scope scope = {.graph = b->g, .params = b->params, .observer = &b->seen};
  b->x = test_input(b->g, "x", batch, tokens, C);
  b->mask = test_input(b->g, "mask", batch, tokens);
  filtra_graph_require_gradient(b->g, b->x);
  b->y = ft_encoder_block(&scope, &options, b->x, b->mask, &b->loss);
  assert_ok(ft_graph_status(b->g));
  assert_ok(filtra_parameters_commit(b->params, 3, FILTRA_TRAINABLE));
  filtra_tensor *real = filtra_mask_tokens(b->g, b->y, b->mask);
  real = filtra_multiply(b->g, real, b->x);
  filtra_graph_output(b->g, b->y);
  if (b->loss) filtra_graph_output(b->g, b->loss);
  assert_ok(filtra_graph_backward(b->g, 1, &real, NULL));
  b->gradient = filtra_graph_output(b->g, filtra_graph_gradient(b->g, b->x));
  assert_ok(filtra_graph_compile(b->g));
  assert_ok(ft_graph_check(b->g));
}

static void close_block(block *b) {
  filtra_graph_destroy(&b->g);
  filtra_parameters_destroy(&b->params);
  free(b->seen.list);
}

static void run_block(block *b, const float *x, const float *mask, float *y, float *dx) {
  test_run_graph(b->g, TEST_SET({b->x, x}, {b->mask, mask}),
                 TEST_GET({b->y, y}, {b->gradient, dx}));
}

static void observed(const block *b, const char *name, float *values) {
  for (size_t i = 0; i < b->seen.count; i++)
    if (!strcmp(b->seen.list[i].name, name)) {
      assert_ok(filtra_graph_get(b->g, b->seen.list[i].tensor, values));
      return;
    }
  fail_msg("nothing is observed as %s", name);
}

static double norm(const float *x, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += (double)x[i] * x[i];
  return sqrt(sum);
}

/* ---- the filter ---- */

/* However Phi is made up, the filter is unitary: the value's norm is that of the result. */
TEST(test_unitary) {
  static const char *const mixers[] = {
      "\"synvolution\"",
      "{\"name\": \"synvolution\", \"order\": 3}",
      "{\"name\": \"synvolution\", \"permutation\": 4, \"order\": 2}",
      "{\"name\": \"kernelution\", \"layout\": \"flat\", \"permutation\": 3}",
      "{\"name\": \"kernelution\", \"K\": 9, \"kernel\": \"jackson\", \"order\": 2}",
      "{\"name\": \"synvolution\", \"heads\": 5, \"permutation\": 3}",
      "{\"name\": \"kernelution\", \"heads\": 2, \"layout\": \"flat\"}",
      "{\"name\": \"kernelution\", \"K\": 0, \"kernel\": \"wang\", \"wang_a\": 0.5}"};
  static const int64_t tokens[] = {1, 2, 3, 19, 40};
  for (size_t m = 0; m < FT_COUNT(mixers); m++)
    for (size_t n = 0; n < FT_COUNT(tokens); n++)
      for (int converter = 0; converter < 2; converter++) {
        static float x[MOST * C], mask[MOST], y[MOST * C], dx[MOST * C], z[2][2 * MOST * C];
        size_t count = (size_t)(2 * tokens[n] * C);
        block b;
        open_block(&b, mixers[m], converter, 1, tokens[n]);
        test_random(m + 1, -1, 1, x, MOST * C);
        for (int i = 0; i < MOST; i++)
          mask[i] = i < (tokens[n] + 1) / 2 ? 1.0f : 0.0f; /* padded or not */
        run_block(&b, x, mask, y, dx);
        observed(&b, "mixer.value", z[0]);
        observed(&b, "mixer.mixed", z[1]);
        double before = norm(z[0], count), after = norm(z[1], count), moved = 0;
        for (size_t i = 0; i < count; i++)
          moved = fmax(moved, fabs((double)z[0][i] - (double)z[1][i]));
        if (!(fabs(before - after) <= 1e-5 * before) ||
            !(moved > 1e-3 * before / sqrt((double)count)))
          fail_msg("%s, %d tokens: norm %g, then %g", mixers[m], (int)tokens[n], before, after);
        close_block(&b);
      }
}

/* ---- padding ---- */

/* Sequences in one batch, padded with anything, and each alone: the same results and gradients. */
static void check_padding(const char *mixer, bool converter) {
  enum { BATCH = 3, LONGEST = 13 };
  static const int64_t lengths[BATCH] = {7, 13, 1};
  static float x[BATCH * LONGEST * C], mask[BATCH * LONGEST], y[BATCH * LONGEST * C],
      dx[BATCH * LONGEST * C], y1[LONGEST * C], dx1[LONGEST * C], ones[LONGEST];
  block b;
  test_random(8, -1, 1, x, FT_COUNT(x));
  for (int i = 0; i < BATCH * LONGEST; i++) {
    mask[i] = i % LONGEST < lengths[i / LONGEST] ? 1.0f : 0.0f;
    ones[i % LONGEST] = 1;
  }
  open_block(&b, mixer, converter, BATCH, LONGEST);
  run_block(&b, x, mask, y, dx);
  close_block(&b);
  for (int s = 0; s < BATCH; s++) {
    open_block(&b, mixer, converter, 1, lengths[s]);
    run_block(&b, x + s * LONGEST * C, ones, y1, dx1);
    close_block(&b);
    size_t count = (size_t)lengths[s] * C;
    double scale = norm(dx1, count);
    for (size_t i = 0; i < LONGEST * C; i++) {
      size_t at = (size_t)s * LONGEST * C + i;
      double forward = i < count ? fabs((double)y[at] - y1[i]) : 0;
      double backward = fabs((double)dx[at] - (i < count ? (double)dx1[i] : 0.0));
      if (!(forward <= 1e-5) || !(backward <= 2e-5 * scale))
        fail_msg("%s, sequence %d, element %d: differs by %g, its gradient by %g", mixer, s, (int)i,
                 forward, backward);
    }
  }
}

TEST(test_padding) {
  for (int converter = 0; converter < 2; converter++) {
    check_padding("\"synvolution\"", converter);
    check_padding("{\"name\": \"kernelution\", \"order\": 2, \"heads\": 2}", converter);
  }
}

/* ---- parameters and loss ---- */

static double largest(const block *b, const char *name, size_t count) {
  static float values[C * C];
  double most = 0;
  assert_true(count <= FT_COUNT(values));
  assert_ok(filtra_parameters_get(b->params, name, values, count));
  for (size_t i = 0; i < count; i++)
    most = fmax(most, fabs((double)values[i]));
  return most;
}

TEST(test_initial_values) {
  for (int converter = 0; converter < 2; converter++) {
    block b;
    float w[4], zeta, value[2 * C * C];
    open_block(&b, "{\"name\": \"kernelution\", \"K\": 3, \"kernel_polynomial_weight\": 0.25}",
               converter, 2, 5);
    assert_ok(filtra_parameters_get(b.params, "mixer.chebyshev", w, 4));
    assert_ok(filtra_parameters_get(b.params, converter ? "zeta" : "mixer.zeta", &zeta, 1));
    assert_ok(filtra_parameters_get(b.params, "mixer.value.weight", value, 2 * C * C));
    double spread = norm(value, 2 * C * C) / sqrt(2.0 * C * C);
    assert_float_equal(spread, sqrt(0.5 / (converter ? 1 : C)), 0.1 * spread);
    assert_true(zeta == 1);
    for (int k = 0; k < 4; k++)
      assert_float_equal(w[k], k ? 0.5 : 0.25, 1e-7);
    double siren = sqrt(6.0 / C);
    assert_true(largest(&b, "mixer.vectors.0.1.weight", C * C) <= siren);
    assert_true(largest(&b, "mixer.values.2.weight", C * C) > 0.9 * siren);

    static float x[2 * 5 * C], mask[2 * 5], y[2 * 5 * C], dx[2 * 5 * C];
    float loss[2];
    run_block(&b, x, mask, y, dx);
    assert_ok(filtra_graph_get(b.g, b.loss, loss));
    for (int i = 0; i < 2; i++) /* 0.25 pi (1 + 4 + 9) 0.5^2 */
      assert_float_equal(loss[i], 0.25 * M_PI * 14 * 0.25, 1e-5);
    assert_float_equal(
        read_mixer("\"kernelution\"").kind->auxiliary_share(read_mixer("\"kernelution\"").options),
        0.001, 1e-9);
    close_block(&b);
  }
}

TEST_MAIN(NULL, test_teardown)
