/* The linear layer: every epilogue in every kernel variant, dropout, accumulation, activations. */
#include "support/harness.h"
#include "support/objects.h"

#include "graph/tape.h"
#include "ops/tuning.h"
#include "reference/matmul.h"

enum reuse {
  ONCE,
  SHARED,     /* two layers with one weight and bias, the second on the first's output */
  X_RESIDUAL, /* the residual is x */
};

struct layer {
  int64_t batch, tokens, in, out; /* batch 0: x is [tokens, in] */
  filtra_activation activation;
  float dropout;
  bool bias, residual;
  enum reuse reuse;
  unsigned narrow; /* which have 16 bits */
  filtra_dtype half;
};

enum { X = 1, W = 2, Y = 4 };

static filtra_dtype type_of(const struct layer *s, unsigned which) {
  return s->narrow & which ? s->half : FILTRA_F32;
}

TEST_BUILD(build) {
  const struct layer *s = op->settings;
  int next = 2;
  filtra_tensor *bias = s->bias ? in[next++] : NULL;
  filtra_linear_options options = {
      .activation = s->activation, .dropout = s->dropout, .dtype = type_of(s, Y)};
  if (s->residual) options.residual = in[next++];
  if (s->reuse == X_RESIDUAL) options.residual = in[0];
  out[0] = filtra_linear(g, in[0], in[1], bias, &options);
  options = (filtra_linear_options){.dtype = type_of(s, Y)};
  if (s->reuse == SHARED) out[0] = filtra_linear(g, out[0], in[1], bias, &options);
}

static int64_t rows_of(const struct layer *s) {
  return (s->batch ? s->batch : 1) * s->tokens;
}

TEST_REFERENCE(reference) {
  const struct layer *s = op->settings;
  int next = 2;
  const double *bias = s->bias ? in[next++] : NULL;
  const double *residual = s->residual ? in[next++] : s->reuse == X_RESIDUAL ? in[0] : NULL;
  int64_t count = rows_of(s) * s->out;
  reference_linear(in[0], in[1], bias, out[0], rows_of(s), s->in, s->out, s->activation);
  for (int64_t i = 0; i < count; i++) {
    if (s->dropout > 0 && op->training)
      out[0][i] *= reference_dropout(op->seed, op->step, 0, (uint32_t)i, s->dropout);
    if (residual) out[0][i] += residual[i];
  }
  if (s->reuse != SHARED) return;
  owned double *hidden = test_alloc((size_t)count * sizeof *hidden);
  memcpy(hidden, out[0], (size_t)count * sizeof *hidden);
  reference_linear(hidden, in[1], bias, out[0], rows_of(s), s->in, s->out, FILTRA_ACTIVATION_NONE);
}

static test_tensor like_x(const char *name, const struct layer *s, int64_t columns) {
  test_tensor t = {.name = name, .dtype = FILTRA_F32, .gradient = true};
  if (s->batch) t.shape[t.ndim++] = s->batch;
  t.shape[t.ndim++] = s->tokens;
  t.shape[t.ndim++] = columns;
  return t;
}

static void check(filtra_device *device, const struct layer *s) {
  test_op op = {.name = "linear",
                .inputs = 2 + s->bias + s->residual,
                .build = build,
                .reference = reference,
                .settings = s,
                .out_elements = {rows_of(s) * s->out},
                .training = true,
                .seed = UINT64_C(0xfeedface12345678),
                .step = UINT64_C(0x300000007)};
  op.in[0] = like_x("x", s, s->in);
  op.in[0].dtype = type_of(s, X);
  op.in[1] = (test_tensor){"w", type_of(s, W), 2, {s->out, s->in}, .gradient = true};
  if (s->bias) op.in[2] = (test_tensor){"b", FILTRA_F32, 1, {s->out}, .gradient = true};
  if (s->residual) op.in[2 + s->bias] = like_x("residual", s, s->out);
  test_check_op(device, &op);
}

#define NONE FILTRA_ACTIVATION_NONE
#define RELU FILTRA_ACTIVATION_RELU
#define GELU FILTRA_ACTIVATION_GELU
#define SIN  FILTRA_ACTIVATION_SIN

static const struct layer layers[] = {
    {0, 1, 1, 1, NONE, 0},
    {0, 7, 33, 130, NONE, 0, .bias = true},
    {3, 11, 7, 5, RELU, 0, .bias = true},
    {2, 9, 13, 21, GELU, 0, .bias = true},
    {2, 9, 13, 21, NONE, 0.25f, .residual = true},
    {2, 9, 13, 21, GELU, 0.5f, .bias = true, .residual = true},
    {2, 9, 13, 21, RELU, 0.1f, .bias = true},
    /* aligned: wide loads and stores, whole blocks of random words */
    {2, 16, 32, 48, RELU, 0, .bias = true, .residual = true},
    {2, 16, 32, 48, GELU, 0.5f, .bias = true, .residual = true},
    {2, 17, 32, 34, GELU, 0.25f, .bias = true}, /* an even width that is no multiple of 4 */
    {3, 5, 24, 24, GELU, 0.1f, .bias = true, .reuse = SHARED},
    {2, 9, 13, 13, RELU, 0.1f, .bias = true, .reuse = SHARED},
    {2, 17, 34, 34, GELU, 0.5f, .bias = true, .reuse = SHARED},
    {0, 1031, 64, 64, GELU, 0, .bias = true, .reuse = SHARED},
    {0, 67, 256, 256, NONE, 0.25f, .reuse = SHARED},
    {3, 5, 24, 24, NONE, 0, .bias = true, .reuse = X_RESIDUAL},
    {0, 4500, 6, 5, NONE, 0, .bias = true}, /* dW in parts of K, db in two passes */
    {0, 2500, 3, 3, NONE, 0, .bias = true, .reuse = SHARED},
    {0, 1031, 64, 64, NONE, 0, .bias = true}, /* in large tiles, on CPU drivers */
    /* lines a multiple of 1 KiB apart: operands are copied into panels first, on CPU drivers */
    {0, 131, 256, 75, RELU, 0, .bias = true},
    {0, 67, 130, 256, GELU, 0.25f, .bias = true, .residual = true},
    {0, 129, 2048, 3, NONE, 0}, /* and K is cut into parts */
};

/* All kernels include the same code for these, so one kernel has to do. */
static const struct layer activations[] = {
    {2, 9, 13, 21, SIN, 0, .bias = true},
    {2, 7, 10, 9, FILTRA_ACTIVATION_TANH, 0, .bias = true},
    {2, 7, 10, 9, FILTRA_ACTIVATION_SOFTPLUS, 0, .bias = true},
    {2, 7, 10, 9, FILTRA_ACTIVATION_SOFTPLUS5, 0},
    {3, 11, 7, 5, FILTRA_ACTIVATION_LEAKY_RELU, 0, .bias = true},
    {3, 11, 7, 5, FILTRA_ACTIVATION_LEAKY_RELU, 0.1f, .bias = true, .residual = true},
    {2, 9, 13, 13, SIN, 0, .reuse = SHARED},
    {2, 7, 10, 10, FILTRA_ACTIVATION_LEAKY_RELU, 0, .reuse = SHARED},
    {2, 7, 10, 10, FILTRA_ACTIVATION_SOFTPLUS, 0.1f, .reuse = SHARED},
};

static const struct layer narrow_layers[] = {
    {0, 1, 1, 1, NONE, 0, .narrow = X | W},
    {3, 11, 7, 5, RELU, 0, .bias = true, .narrow = X | W | Y},
    {2, 9, 13, 21, GELU, 0.5f, .bias = true, .residual = true, .narrow = X | W},
    {2, 16, 32, 48, GELU, 0.5f, .bias = true, .narrow = X | W | Y},
    {2, 16, 32, 48, RELU, 0, .bias = true, .narrow = W | Y},
    {2, 17, 32, 34, GELU, 0.25f, .bias = true, .narrow = X | Y},
    {3, 5, 24, 24, GELU, 0.1f, .bias = true, .reuse = SHARED, .narrow = X | W | Y},
    {2, 16, 32, 32, RELU, 0, .reuse = SHARED, .narrow = X | W | Y},
    {2, 9, 13, 13, GELU, 0.5f, .reuse = SHARED, .narrow = W | Y},
    {3, 5, 24, 24, GELU, 0, .reuse = SHARED, .narrow = X | W},
    {3, 5, 25, 25, NONE, 0, .reuse = X_RESIDUAL, .narrow = W},
    {0, 4500, 6, 5, NONE, 0, .bias = true, .narrow = X | W | Y}, /* dW in parts of K */
    {0, 131, 512, 75, RELU, 0, .bias = true, .narrow = X | W},   /* panels, on CPU drivers */
};

/* Each of these has one type in one variant of the kernels, `turn`, and the other in the next. */
static void check_variant(const char *caps, int turn) {
  static const filtra_dtype halves[] = {FILTRA_F16, FILTRA_BF16};
  owned_device *device = test_open_variant(caps);
  if (!device) skip();
  for (size_t i = 0; i < FT_COUNT(layers); i++)
    check(device, &layers[i]);
  for (size_t i = 0; i < FT_COUNT(narrow_layers) && ft_caps_of(device)->storage16; i++) {
    struct layer s = narrow_layers[i];
    s.half = halves[(i + (size_t)turn) % 2];
    check(device, &s);
  }
}

TEST(test_naive) {
  check_variant("gemm=naive", 0);
}

TEST(test_tiled) {
  check_variant("gemm=tiled", 1);
}

TEST(test_s64) {
  check_variant("gemm=s64", 0);
}

/* The tiles that devices choose for large products only, and for uniform loads, with each epilogue.
 */
TEST(test_s64_large) {
  static const struct layer large[] = {
      {2, 9, 13, 21, GELU, 0.5f, .bias = true, .residual = true},
      {2, 17, 32, 34, NONE, 0.25f, .bias = true},
      {0, 7, 33, 130, NONE, 0, .bias = true},
  };
  static const ft_configuration tiles[] = {{{32, 2, 0, 1}}, {{64, 2, 0, 1}}, {{32, 4, 0, 1}},
                                           {{8, 1, 7, 1}},  {{6, 1, 7, 1}},  {{4, 1, 6, 1}}};
  owned_device *device = test_open_variant("gemm=s64");
  if (!device) skip();
  ft_tuning forced = {.forced = true, .forced_family = FT_TUNE_GEMM_S64};
  ft_tuning *before = ft_tuning_use(device, &forced);
  for (size_t t = 0; t < FT_COUNT(tiles); t++) {
    assert_true(ft_configuration_known(FT_TUNE_GEMM_S64, &tiles[t]));
    forced.forced_configuration = tiles[t];
    for (size_t i = 0; i < FT_COUNT(large); i++)
      check(device, &large[i]);
  }
  ft_tuning_use(device, before);
}

TEST(test_activations) {
  for (size_t i = 0; i < FT_COUNT(activations); i++)
    check(test_device(), &activations[i]);
}

/* The gradient of a parameter's 16-bit copy is its master's, in F32: two layers add to it what no
 * 16-bit type could hold. */
TEST(test_copy) {
  enum { ROWS = 3, IN = 5, OUT = 2 };
  const filtra_parameter_options options = {
      .init = FILTRA_INIT_UNIFORM, .value = 1, .copy = FILTRA_BF16};
  float x[ROWS * IN], dw[OUT * IN];
  if (!ft_caps_of(test_device())->storage16) skip();
  for (int i = 0; i < ROWS * IN; i++)
    x[i] = 1 + (float)i / 128; /* BF16 has all of them */
  owned_parameters *params = test_parameters(test_device());
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in = test_input(g, "x", ROWS, IN);
  filtra_graph_parameter(g, params, "w", 2, (int64_t[]){OUT, IN}, &options);
  filtra_tensor *w = filtra_graph_parameter_copy(g, params, "w");
  filtra_tensor *y[] = {filtra_linear(g, in, w, NULL, NULL), filtra_linear(g, in, w, NULL, NULL)};
  assert_ok(filtra_parameters_commit(params, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_backward(g, 2, y, NULL));
  test_evaluate(&g, TEST_SET({in, x}), NULL);
  assert_ok(filtra_parameters_get_gradient(params, "w", dw, OUT * IN));
  for (int i = 0; i < OUT * IN; i++) {
    float sum = 0;
    for (int r = 0; r < ROWS; r++)
      sum += 2 * x[r * IN + i % IN];
    assert_true(dw[i] == sum);
  }
}

/* How many are kept, that steps differ and one step repeats, that the gradient has the same mask,
 * and that nothing is dropped outside training. */
TEST(test_dropout) {
  enum { ROWS = 300, OUT = 66, COUNT = ROWS * OUT };
  static float ones[ROWS], weights[OUT], zeros[OUT], out[3][COUNT], db[OUT];
  for (int i = 0; i < ROWS; i++)
    ones[i] = 1;
  for (int i = 0; i < OUT; i++)
    weights[i] = 1;
  for (int training = 0; training < 2; training++) {
    owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = training});
    filtra_tensor *x = test_input(g, "x", ROWS, 1);
    filtra_tensor *w = test_input(g, "w", OUT, 1);
    filtra_tensor *b = test_input(g, "b", OUT);
    filtra_graph_require_gradient(g, b);
    filtra_tensor *y = filtra_graph_output(
        g, filtra_linear(g, x, w, b, &(filtra_linear_options){.dropout = 0.3f}));
    assert_ok(filtra_graph_backward(g, 1, &y, NULL));
    filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, b));
    assert_ok(filtra_graph_compile(g));
    for (int k = 0; k < 3; k++) {
      filtra_graph_set_step(g, 11, k == 1 ? 6 : 5);
      test_run_graph(g, TEST_SET({x, ones}, {w, weights}, {b, zeros}), TEST_GET({y, out[k]}));
    }
    assert_ok(filtra_graph_get(g, gradient, db));
    int kept = 0, same = 0;
    for (int i = 0; i < COUNT; i++) {
      kept += out[0][i] > 0;
      same += (out[0][i] > 0) == (out[1][i] > 0);
    }
    double share = training ? 0.7 : 1, alike = training ? 0.58 : 1;
    assert_true(fabs(kept - share * COUNT) <= 5 * sqrt(COUNT * share * (1 - share)));
    assert_true(fabs(same - alike * COUNT) <= 5 * sqrt(COUNT * alike * (1 - alike)));
    assert_memory_equal(out[0], out[2], sizeof out[0]);
    for (int n = 0; n < OUT; n++) { /* y is the factor itself, its column sum is db */
      double sum = 0;
      for (int m = 0; m < ROWS; m++)
        sum += out[2][m * OUT + n];
      assert_true(fabs(sum - db[n]) < 1e-3);
    }
  }
}

enum { SLOPE_ROWS = 64, SLOPE_WIDTH = 12, SLOPES = SLOPE_ROWS * SLOPE_WIDTH };

/* The gradient of activation(x I)^2 by x. `alone`: the activation is an op of its own. */
static void take_slopes(filtra_device *device, filtra_activation activation, ft_recompute how,
                        bool alone, float dx[SLOPES]) {
  float x_data[SLOPES], identity[SLOPE_WIDTH * SLOPE_WIDTH] = {0};
  test_random(5, -0.01f, 0.01f, x_data, SLOPES);
  for (int i = 0; i < SLOPES; i++)
    x_data[i] += 1.57079633f * (float)(1 + i % 9);
  for (int i = 0; i < SLOPE_WIDTH; i++)
    identity[i * SLOPE_WIDTH + i] = 1;
  const filtra_linear_options options = {.activation = alone ? NONE : activation};
  filtra_graph *g = test_graph(device, &(filtra_graph_options){.training = true});
  ft_graph_set_recompute(g, how);
  filtra_tensor *x = test_input(g, "x", SLOPE_ROWS, SLOPE_WIDTH);
  filtra_tensor *w = test_input(g, "w", SLOPE_WIDTH, SLOPE_WIDTH);
  filtra_graph_require_gradient(g, x);
  ft_segment_begin(g, how);
  filtra_tensor *h = filtra_linear(g, x, w, NULL, &options);
  if (alone) h = filtra_activate(g, h, activation);
  filtra_tensor *y = filtra_multiply(g, h, h); /* its rule reads h, kept or computed again */
  ft_segment_end(g);
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, x));
  test_evaluate(&g, TEST_SET({x, x_data}, {w, identity}), TEST_GET({gradient, dx}));
}

/* Whether a layer keeps its activation's slope or argument, in whichever kernel: the gradient has
 * the same bits as the activation's own. Close to zeros of sine and cosine every rounding shows. */
static void check_slopes(filtra_device *device) {
  float alone[SLOPES], layer[SLOPES];
  for (filtra_activation a = RELU; a < FILTRA_ACTIVATION_IDENTITY; a++) {
    take_slopes(device, a, FT_RECOMPUTE_NONE, true, alone);
    for (ft_recompute how = FT_RECOMPUTE_NONE; how <= FT_RECOMPUTE_CHEAP; how++) {
      take_slopes(device, a, how, false, layer);
      if (memcmp(alone, layer, sizeof alone))
        fail_msg("activation %d, recompute %d: other bits", (int)a, (int)how);
    }
  }
}

TEST(test_slopes) {
  check_slopes(test_device());
}

TEST(test_slopes_tiled) {
  test_with_device("gemm=tiled", check_slopes);
}

/* ---- layers one after the other ---- */

enum { PAIR_ROWS = 9, PAIR_WIDTH = 12, PAIR = PAIR_ROWS * PAIR_WIDTH };

/* What happens to h, the first layer's result, besides the second layer. */
enum use { LAYER_ALONE, READ_TWICE, OUTPUT_TOO, RESHAPED, CUT, TWO_LAYERS, USES };

static filtra_tensor *second(filtra_graph *g, filtra_tensor *h, filtra_tensor *w, enum use use) {
  const int64_t other[] = {3, 3, PAIR_WIDTH}, shape[] = {PAIR_ROWS, PAIR_WIDTH};
  const int64_t half[] = {PAIR_ROWS, PAIR_WIDTH / 2};
  if (use == RESHAPED) h = filtra_reshape(g, h, 3, other);
  if (use == CUT)
    h = filtra_concat(g, 1, 2,
                      (filtra_tensor *[]){filtra_slice(g, h, (int64_t[]){0, PAIR_WIDTH / 2}, half),
                                          filtra_slice(g, h, (int64_t[]){0, 0}, half)});
  filtra_tensor *y = filtra_linear(g, h, w, NULL, NULL);
  if (use == RESHAPED) y = filtra_reshape(g, y, 2, shape);
  if (use == READ_TWICE) y = filtra_add(g, y, filtra_multiply(g, h, h));
  if (use == TWO_LAYERS) y = filtra_add(g, y, filtra_linear(g, h, w, NULL, NULL));
  return y;
}

/* Gradients of x and w; returns whether a call of its own computed the gradient of the first
 * layer's argument. */
static bool run_pair(const char *caps, const filtra_linear_options *first, enum use use,
                     float gradients[2 * PAIR]) {
  float x_data[PAIR], w_data[PAIR_WIDTH * PAIR_WIDTH], scratch[PAIR_WIDTH * PAIR_WIDTH];
  test_random(1, -1, 1, x_data, PAIR);
  test_random(2, -1, 1, w_data, FT_COUNT(w_data));
  owned_device *device = test_open_device(caps);
  owned_graph *g = test_graph(device, &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", PAIR_ROWS, PAIR_WIDTH);
  filtra_tensor *w = test_input(g, "w", PAIR_WIDTH, PAIR_WIDTH);
  filtra_graph_require_gradient(g, x);
  filtra_graph_require_gradient(g, w);
  filtra_linear_options options = *first;
  if (options.residual) options.residual = x;
  filtra_tensor *h = filtra_linear(g, x, w, NULL, &options);
  filtra_tensor *y = filtra_graph_output(g, second(g, h, w, use));
  assert_ok(filtra_graph_backward(g, 1 + (use == OUTPUT_TOO), (filtra_tensor *[]){y, h}, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  filtra_tensor *dw = filtra_graph_output(g, filtra_graph_gradient(g, w));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  test_run_graph(g, TEST_SET({x, x_data}, {w, w_data}), TEST_GET({dx, gradients}, {dw, scratch}));
  memcpy(gradients + PAIR, scratch, PAIR * sizeof *gradients);
  bool own = false;
  for (size_t i = 0; i < g->tape.call_count; i++)
    own = own || !strcmp(g->tape.calls[i].key.kernel, "linear/backward");
  return own;
}

/* The product of the second layer's rule computes the gradient of the first one's argument exactly
 * if nothing else contributes to it; numbers are the same in each case. */
TEST(test_gradient_of_argument) {
  const filtra_linear_options options[] = {
      {.activation = GELU}, {.activation = RELU, .dropout = 0.3f}, {.dropout = 0.3f}};
  float alone[2 * PAIR], fused[2 * PAIR];
  for (size_t i = 0; i < FT_COUNT(options); i++)
    for (enum use use = LAYER_ALONE; use < USES; use++) {
      assert_true(run_pair("fusion=off", &options[i], use, alone));
      assert_int_equal(run_pair("fusion=on", &options[i], use, fused), use != LAYER_ALONE);
      for (int k = 0; k < 2 * PAIR; k++)
        assert_true(fabsf(alone[k] - fused[k]) <= 1e-5f * (1 + fabsf(alone[k])));
    }
  const filtra_linear_options added = {.activation = GELU,
                                       .residual = (filtra_tensor *)state}; /* asks for one */
  assert_true(run_pair("fusion=on", &added, LAYER_ALONE, fused));
}

static void expect_error(const filtra_linear_options *options, int64_t in, int64_t bias,
                         const char *part) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, 3, 4);
  filtra_tensor *w = test_input(g, "w", 5, in);
  filtra_tensor *b = test_input(g, "b", bias);
  filtra_linear_options with_residual = *options;
  if (options->residual) with_residual.residual = x;
  test_refuse(&g, filtra_linear(g, x, w, b, &with_residual), part);
}

TEST(test_errors) {
  filtra_tensor *any = (filtra_tensor *)state; /* not NULL: asks for a residual */
  expect_error(&(filtra_linear_options){0}, 3, 5, "w [5, 3]) must be [out, 4] for x x [2, 3, 4]");
  expect_error(&(filtra_linear_options){0}, 4, 4, "b [4]) must have 5 elements");
  expect_error(&(filtra_linear_options){.dropout = 1}, 4, 5, "must lie in [0,1)");
  expect_error(&(filtra_linear_options){.dropout = NAN}, 4, 5, "must lie in [0,1)");
  expect_error(&(filtra_linear_options){.activation = (filtra_activation)99}, 4, 5,
               "there is no activation 9");
  expect_error(&(filtra_linear_options){.residual = any}, 4, 5, "must be [2, 3, 5]");
}

static void expect_refusal(filtra_device *device, filtra_dtype x_type, filtra_dtype w_type,
                           filtra_dtype result, bool residual, filtra_status status,
                           const char *part) {
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_graph_input(g, "x", x_type, 2, (int64_t[]){3, 4});
  filtra_tensor *w = filtra_graph_input(g, "w", w_type, 2, (int64_t[]){4, 4});
  filtra_linear_options options = {.dtype = result};
  if (residual) options.residual = test_input(g, "r", 3, 4);
  test_refuse_as(&g, filtra_linear(g, x, w, NULL, &options), status, part);
}

TEST(test_types) {
  const filtra_status wrong = FILTRA_ERROR_ARGUMENT;
  owned_device *device = test_device();
  expect_refusal(device, FILTRA_I32, FILTRA_F32, FILTRA_F32, false, wrong, "x (x [3, 4]) is I32");
  if (ft_caps_of(device)->storage16) {
    expect_refusal(device, FILTRA_F16, FILTRA_BF16, FILTRA_F32, false, wrong,
                   "x (x) is F16 and w (w) is BF16; one of them must be F32");
    expect_refusal(device, FILTRA_F32, FILTRA_BF16, FILTRA_F16, false, wrong,
                   "the result cannot be F16: the product of x (x) and w (w) is one of BF16");
    expect_refusal(device, FILTRA_F32, FILTRA_BF16, FILTRA_BF16, true, wrong,
                   "with a residual (r) the result is F32 and cannot be BF16");
  }
  expect_refusal(device, FILTRA_F32, FILTRA_F32, FILTRA_F16, false, wrong, "cannot be F16");
  device = test_open_device("storage16=0");
  expect_refusal(device, FILTRA_F32, FILTRA_F16, FILTRA_F32, false, FILTRA_ERROR_UNSUPPORTED,
                 "computing in F16 needs 16-bit storage (storageBuffer16BitAccess)");
  expect_refusal(device, FILTRA_BF16, FILTRA_F32, FILTRA_F32, false, FILTRA_ERROR_UNSUPPORTED,
                 "computing in BF16 needs 16-bit storage");
}

TEST_MAIN(NULL, test_teardown)
