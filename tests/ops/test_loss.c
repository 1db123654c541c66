/* Losses, accuracy and the weighted mean, with and without subgroup operations. */
#include "support/harness.h"

#include "reference/tokenwise.h"

static const int64_t sizes[][2] = {{1, 1}, {5, 2}, {7, 10}, {33, 65}, {3, 1025}};

/* ---- cross-entropy ---- */

struct smoothing {
  float value;
};

TEST_BUILD(build_cross_entropy) {
  const struct smoothing *s = op->settings;
  out[0] = filtra_cross_entropy(g, in[0], in[1], s->value);
  out[1] = filtra_cross_entropy(g, in[0], in[2], 0);
}

TEST_REFERENCE(ref_cross_entropy) {
  const struct smoothing *s = op->settings;
  reference_cross_entropy(in[0], in[1], out[0], op->dims[0], op->dims[1], (double)s->value);
  reference_cross_entropy(in[0], in[2], out[1], op->dims[0], op->dims[1], 0);
}

static void check_cross_entropy(int64_t rows, int64_t columns, float smoothing, double low,
                                double high) {
  struct smoothing settings = {smoothing};
  test_tensor labels = {"labels", FILTRA_I32, 1, {rows}, -1, (double)columns};
  test_op op = {.name = "cross_entropy",
                .in = {{"logits", FILTRA_F32, 2, {rows, columns}, low, high, .gradient = true},
                       labels,
                       labels},
                .build = build_cross_entropy,
                .reference = ref_cross_entropy,
                .settings = &settings,
                .dims = {rows, columns}};
  test_check_op(test_device(), &op);
}

TEST(test_cross_entropy) {
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    check_cross_entropy(sizes[i][0], sizes[i][1], 0, -4, 4);
    check_cross_entropy(sizes[i][0], sizes[i][1], 0.1f, -4, 4);
  }
}

/* A common offset of the logits changes nothing and overflows nowhere. */
TEST(test_cross_entropy_far_from_zero) {
  enum { K = 4 };
  const float logits[2][K] = {{1e4f, 1e4f - 1, 1e4f - 2, 1e4f - 40}, {-1e30f, 3e38f, -3e38f, 0}};
  const int32_t labels[2] = {1, 1};
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, K);
  filtra_tensor *l = filtra_graph_input(g, "labels", FILTRA_I32, 1, (int64_t[]){2});
  filtra_graph_require_gradient(g, x);
  filtra_tensor *loss = filtra_graph_output(g, filtra_cross_entropy(g, x, l, 0));
  assert_ok(filtra_graph_backward(g, 1, &loss, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  test_compile_and_run(g, TEST_SET({x, logits}, {l, labels}), NULL);
  float values[2], gradient[2][K];
  assert_ok(filtra_graph_get(g, loss, values));
  assert_ok(filtra_graph_get(g, dx, gradient));
  double sum = 1 + exp(-1) + exp(-2);
  assert_true(fabs((double)values[0] - (1 + log(sum))) < 1e-6);
  assert_true(values[1] == 0);
  assert_true(fabs((double)gradient[0][1] - (exp(-1) / sum - 1)) < 1e-6);
  for (int k = 0; k < K; k++)
    assert_true(gradient[1][k] == 0);
}

/* ---- squared and absolute error ---- */

TEST_BUILD(build_error) {
  out[0] = filtra_squared_error(g, in[0], in[1]);
  out[1] = filtra_absolute_error(g, in[0], in[1]);
}

TEST_REFERENCE(ref_error) {
  int64_t columns = op->dims[1];
  for (int64_t r = 0; r < op->dims[0]; r++) {
    out[0][r] = out[1][r] = 0;
    for (int64_t i = r * columns; i < (r + 1) * columns; i++) {
      double d = in[0][i] - in[1][i];
      out[0][r] += d * d / (double)columns;
      out[1][r] += fabs(d) / (double)columns;
    }
  }
}

TEST(test_error) {
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    int64_t rows = sizes[i][0], columns = sizes[i][1];
    test_op op = {.name = "error",
                  .in = {{"x", FILTRA_F32, 2, {rows, columns}, .gradient = true},
                         {"y", FILTRA_F32, 2, {rows, columns}}},
                  .build = build_error,
                  .reference = ref_error,
                  .dims = {rows, columns}};
    test_check_op(test_device(), &op);
  }
}

/* ---- accuracy ---- */

TEST_BUILD(build_accuracy) {
  out[0] = op->dims[2] ? filtra_top_k_accuracy(g, in[0], in[1], op->dims[2])
                       : filtra_accuracy(g, in[0], in[1]);
}

TEST_REFERENCE(ref_accuracy) {
  if (op->dims[2])
    reference_top_k_accuracy(in[0], in[1], out[0], op->dims[0], op->dims[1], op->dims[2]);
  else
    reference_accuracy(in[0], in[1], out[0], op->dims[0], op->dims[1]);
}

/* Logits of few different values, so that many rows have more than one largest. k 0: the first. */
static void check_accuracy(int64_t rows, int64_t columns, int64_t k) {
  owned float *logits = test_alloc((size_t)(rows * columns) * sizeof *logits);
  test_random(3, -3, 0, logits, (size_t)(rows * columns));
  for (int64_t i = 0; i < rows * columns; i++)
    logits[i] = floorf(logits[i]);
  test_op op = {.name = "accuracy",
                .in = {{"logits", FILTRA_F32, 2, {rows, columns}, .fixed = logits},
                       {"labels", FILTRA_I32, 1, {rows}, -1, (double)(columns < 4 ? columns : 4)}},
                .build = build_accuracy,
                .reference = ref_accuracy,
                .dims = {rows, columns, k}};
  test_check_op(test_device(), &op);
}

TEST(test_accuracy) {
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    check_accuracy(sizes[i][0], sizes[i][1], 0);
  check_accuracy(700, 3, 0);
}

TEST(test_top_k_accuracy) {
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    check_accuracy(sizes[i][0], sizes[i][1], 1);
    check_accuracy(sizes[i][0], sizes[i][1], (sizes[i][1] + 1) / 2);
    check_accuracy(sizes[i][0], sizes[i][1], sizes[i][1]);
  }
  check_accuracy(700, 9, 5);
}

/* ---- binary cross-entropy ---- */

TEST_BUILD(build_binary) {
  out[0] = filtra_binary_cross_entropy(g, in[0], in[1], in[2]);
}

TEST_REFERENCE(ref_binary) {
  reference_binary_cross_entropy(in[0], in[1], in[2], out[0], op->dims[0], op->dims[1]);
}

/* Also logits at which exp(x) is no number of single precision. */
TEST(test_binary_cross_entropy) {
  enum { MOST = 33 * 65 };
  static float targets[MOST];
  test_random(5, 0, 1, targets, MOST);
  for (size_t i = 0; i < MOST; i++)
    targets[i] = targets[i] < 0.4f;
  for (size_t i = 0; i < 4; i++)
    for (int far = 0; far < 2; far++) {
      const int64_t rows = sizes[i][0], columns = sizes[i][1];
      const double most = far ? 200 : 6;
      test_op op = {
          .name = "binary_cross_entropy",
          .in = {{"logits", FILTRA_F32, 2, {rows, columns}, -most, most, .gradient = true},
                 {"targets", FILTRA_F32, 2, {rows, columns}, .fixed = targets},
                 {"weights", FILTRA_F32, 2, {rows, columns}, 0.5, 3}},
          .build = build_binary,
          .reference = ref_binary,
          .dims = {rows, columns}};
      test_check_op(test_device(), &op);
    }
}

/* torch.nn.BCEWithLogitsLoss of PyTorch 2.13 in double precision, without and with pos_weight. */
TEST(test_binary_cross_entropy_of_pytorch) {
  enum { R = 6, K = 3 };
  static const float x[R * K] = {2,    -1, 0.5f, -3, 0.25f, -1, 1,     -2, -0.5f,
                                 -.5f, 3,  1,    -1, -2,    -3, 0.75f, 1,  -2};
  static const float t[R * K] = {1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0};
  static const float weights[K] = {2, 0.5f, 3};
  float w[R * K], plain[R], weighted[R];
  for (int i = 0; i < R * K; i++)
    w[i] = t[i] > 0 ? weights[i % K] : 1;
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in[] = {test_input(g, "x", R, K), test_input(g, "t", R, K),
                         test_input(g, "w", R, K)};
  filtra_tensor *out[] = {
      filtra_graph_output(g, filtra_binary_cross_entropy(g, in[0], in[1], NULL)),
      filtra_graph_output(g, filtra_binary_cross_entropy(g, in[0], in[1], in[2]))};
  test_compile_and_run(g, TEST_SET({in[0], x}, {in[1], t}, {in[2], w}),
                       TEST_GET({out[0], plain}, {out[1], weighted}));
  double sums[2] = {0};
  for (int i = 0; i < R; i++) {
    sums[0] += plain[i] / R;
    sums[1] += weighted[i] / R;
  }
  assert_float_equal(sums[0], 0.49544920014091764, 1e-7);
  assert_float_equal(sums[1], 0.6112125448302848, 1e-7);
}

/* ---- weighted mean ---- */

struct weights {
  bool given;
};

TEST_BUILD(build_mean) {
  const struct weights *s = op->settings;
  out[0] = filtra_weighted_mean(g, in[0], s->given ? in[1] : NULL);
  out[1] = filtra_weighted_mean(g, in[0], NULL);
}

TEST_REFERENCE(ref_mean) {
  const struct weights *s = op->settings;
  out[0][0] = reference_weighted_mean(in[0], s->given ? in[1] : NULL, op->dims[0]);
  out[1][0] = reference_weighted_mean(in[0], NULL, op->dims[0]);
}

static void check_mean(int64_t count, bool given, const float *fixed) {
  struct weights settings = {given};
  test_op op = {.name = "weighted_mean",
                .inputs = given ? 2 : 1,
                .in = {{"x", FILTRA_F32, 1, {count}, .gradient = true},
                       {"weights", FILTRA_F32, 1, {count}, 0, 2, .fixed = fixed}},
                .build = build_mean,
                .reference = ref_mean,
                .settings = &settings,
                .dims = {count}};
  test_check_op(test_device(), &op);
}

TEST(test_weighted_mean) {
  const int64_t counts[] = {1, 7, 64, 1027};
  for (size_t i = 0; i < FT_COUNT(counts); i++) {
    check_mean(counts[i], false, NULL);
    check_mean(counts[i], true, NULL);
  }
  check_mean(5, true, (float[5]){0});
  check_mean(5, true, (float[5]){0, 1, 0, 0, 1});
}

/* ---- errors ---- */

TEST(test_errors) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "logits", 3, 4);
  filtra_tensor *l = filtra_graph_input(g, "labels", FILTRA_I32, 1, (int64_t[]){4});
  test_refuse(&g, filtra_cross_entropy(g, x, l, 0), "labels [4]");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "logits", 3, 4);
  l = filtra_graph_input(g, "labels", FILTRA_I32, 1, (int64_t[]){3});
  test_refuse(&g, filtra_cross_entropy(g, x, l, 1), "must lie in [0,1)");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "logits", 3, 4);
  test_refuse(&g, filtra_binary_cross_entropy(g, x, test_input(g, "targets", 3, 2), NULL),
              "logits [3, 4] and targets [3, 2] must have one shape");
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "logits", 3, 4);
  filtra_tensor *t = test_input(g, "targets", 3, 4);
  filtra_graph_require_gradient(g, t);
  test_refuse(&g, filtra_binary_cross_entropy(g, x, t, NULL), "targets has a gradient");
}

TEST_MAIN_TWICE("subgroup=0")
