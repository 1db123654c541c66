#include "support/harness.h"

struct settings {
  float eps;
  double reference_eps;
  bool complex_features, gain;
};

TEST_BUILD(build) {
  const struct settings *s = op->settings;
  out[0] = filtra_scale_norm(g, in[0], s->gain ? in[1] : NULL, s->eps, s->complex_features);
}

static void scale_norm(const double *x, const double *gain, double *y, int64_t rows,
                       int64_t features, int64_t parts, double eps) {
  for (int64_t r = 0; r < rows; r++, x += features * parts, y += features * parts) {
    double squares = 0;
    for (int64_t i = 0; i < features * parts; i++)
      squares += x[i] * x[i];
    for (int64_t i = 0; i < features * parts; i++)
      y[i] = (gain ? gain[i / parts] : 1) * x[i] / (sqrt(squares) + eps);
  }
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  scale_norm(in[0], s->gain ? in[1] : NULL, out[0], op->dims[0], op->dims[1],
             s->complex_features ? 2 : 1, s->reference_eps);
}

static test_op make(const struct settings *s, int64_t rows, int64_t features) {
  test_op op = {.name = s->complex_features ? "complex scale_norm" : "scale_norm",
                .inputs = s->gain ? 2 : 1,
                .in = {{"x", FILTRA_F32, 2, {rows, features}, -2, 3, .gradient = true},
                       {"gain", FILTRA_F32, 1, {features}, .gradient = true}},
                .build = build,
                .reference = reference,
                .out_elements = {rows * features * (s->complex_features ? 2 : 1)},
                .settings = s,
                .dims = {rows, features}};
  if (s->complex_features) {
    op.in[0].ndim = 3;
    op.in[0].shape[2] = 2;
  }
  return op;
}

static const struct settings kinds[] = {
    {0, 1e-5, false, true},
    {0, 1e-5, true, true},
    {0, 1e-5, false, false},
    {0.25f, 0.25, true, false},
};

static const int64_t shapes[][2] = {{1, 5},    {7, 8},    {3, 9},    {33, 64},
                                    {130, 16}, {3, 1031}, {700, 12}, {5, 128}};

static void check_shapes(filtra_device *device) {
  for (size_t k = 0; k < FT_COUNT(kinds); k++)
    for (size_t i = 0; i < FT_COUNT(shapes); i++) {
      test_op op = make(&kinds[k], shapes[i][0], shapes[i][1]);
      test_check_op(device, &op);
    }
}

TEST_WITH(test_shapes, NULL, check_shapes)
TEST_WITH(test_without_subgroups, "subgroup=0", check_shapes)

/* On CPU drivers that can load pairs, each invocation takes a row of its own. */
TEST_WITH(test_without_pairs, "int64=0", check_shapes)

/* One feature: y is nearly the sign of x, and small next to eps it is x / eps. */
TEST(test_one_feature) {
  test_op op = make(&(struct settings){2, 2, false, true}, 9, 1);
  op.in[0].low = 0.5;
  op.in[0].high = 2;
  test_check_op(test_device(), &op);
}

/* Either gradient alone. */
TEST(test_single_gradients) {
  for (int kept = 0; kept < 4; kept++) {
    test_op op = make(&kinds[0], 70, 21 + kept / 2);
    op.in[1 - kept % 2].gradient = false;
    test_check_op(test_device(), &op);
  }
}

TEST_BUILD(build_twice) {
  filtra_tensor *once = filtra_scale_norm(g, in[0], in[1], 0, FILTRA_REAL);
  out[0] = filtra_scale_norm(g, filtra_add(g, once, in[0]), in[1], 0, FILTRA_REAL);
}

TEST_REFERENCE(reference_twice) {
  enum { MOST = 1024 };
  double sum[MOST];
  int64_t rows = op->dims[0], features = op->dims[1];
  assert_true(rows * features <= MOST);
  scale_norm(in[0], in[1], sum, rows, features, 1, 1e-5);
  for (int64_t i = 0; i < rows * features; i++)
    sum[i] += in[0][i];
  scale_norm(sum, in[1], out[0], rows, features, 1, 1e-5);
}

/* Both arguments used twice: gradients accumulate. */
TEST(test_accumulation) {
  test_op op = make(&kinds[0], 11, 30);
  op.build = build_twice;
  op.reference = reference_twice;
  test_check_op(test_device(), &op);
}

/* A row of zeros: y = 0, dx = gain dy / eps, nothing for the gain. Its neighbours are as ever. */
TEST(test_zero_rows) {
  enum { ROWS = 3, C = 6, COUNT = ROWS * C };
  const float eps = 0.25f, values[COUNT] = {[C] = 0, [2 * C] = 3, [2 * C + 1] = 4};
  float gain_values[C / 2] = {2, 3, 5}, y[COUNT], dx[COUNT], dg[C / 2];
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", ROWS, C / 2, 2);
  filtra_tensor *gain = test_input(g, "gain", C / 2);
  filtra_graph_require_gradient(g, x);
  filtra_graph_require_gradient(g, gain);
  filtra_tensor *out = filtra_graph_output(g, filtra_scale_norm(g, x, gain, eps, FILTRA_COMPLEX));
  assert_ok(filtra_graph_backward(g, 1, &out, NULL));
  filtra_tensor *x_grad = filtra_graph_output(g, filtra_graph_gradient(g, x));
  filtra_tensor *gain_grad = filtra_graph_output(g, filtra_graph_gradient(g, gain));
  test_evaluate(&g, TEST_SET({x, values}, {gain, gain_values}),
                TEST_GET({out, y}, {x_grad, dx}, {gain_grad, dg}));
  for (int i = 0; i < 2 * C; i++) {
    assert_true(y[i] == 0);
    assert_true(fabsf(dx[i] - gain_values[i % C / 2] / eps) < 1e-5f);
  }
  double r = 1 / 5.25, along = 2 * (3 + 4) * r * r / 5;
  assert_true(fabs(y[2 * C] - 2 * 3 * r) < 1e-6);
  assert_true(fabs(dx[2 * C] - (2 * r - 3 * along)) < 1e-6);
  assert_true(fabs(dx[2 * C + 5] - 5 * r) < 1e-6);
  assert_true(fabs(dg[0] - 7 * r) < 1e-6 && dg[1] == 0 && dg[2] == 0);
}

static filtra_status compile(int64_t columns, int64_t gains, float eps, bool complex_features) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 3, columns);
  filtra_tensor *gain = filtra_graph_input(g, "gain", FILTRA_F32, 1, &gains);
  filtra_graph_output(g, filtra_scale_norm(g, x, gain, eps, complex_features));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  assert_fails(compile(8, 7, 0, false), FILTRA_ERROR_ARGUMENT, "gain");
  assert_fails(compile(8, 8, -1, false), FILTRA_ERROR_ARGUMENT, "eps");
  assert_fails(compile(8, 8, NAN, false), FILTRA_ERROR_ARGUMENT, "eps");
  assert_fails(compile(0, 0, 0, false), FILTRA_ERROR_ARGUMENT, "empty");
  assert_fails(compile(3, 3, 0, true), FILTRA_ERROR_ARGUMENT, "[.., C, 2]");
  assert_fails(compile(2, 2, 0, true), FILTRA_ERROR_ARGUMENT, "gain");
  assert_ok(compile(2, 3, 0, true));
}

TEST_MAIN(NULL, test_teardown)
