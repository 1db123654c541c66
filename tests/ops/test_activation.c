/* Activations: accuracy over a range of arguments, gradients through the harness, non-finite
 * values. */
#include "support/harness.h"

#include "reference/matmul.h"

static const char *const names[] = {[FILTRA_ACTIVATION_NONE] = "none",
                                    [FILTRA_ACTIVATION_RELU] = "relu",
                                    [FILTRA_ACTIVATION_GELU] = "gelu",
                                    [FILTRA_ACTIVATION_SIN] = "sin",
                                    [FILTRA_ACTIVATION_TANH] = "tanh",
                                    [FILTRA_ACTIVATION_SOFTPLUS] = "softplus",
                                    [FILTRA_ACTIVATION_SOFTPLUS5] = "softplus5",
                                    [FILTRA_ACTIVATION_LEAKY_RELU] = "leaky_relu",
                                    [FILTRA_ACTIVATION_SIGMOID] = "sigmoid",
                                    [FILTRA_ACTIVATION_EXP] = "exp",
                                    [FILTRA_ACTIVATION_LOG] = "log",
                                    [FILTRA_ACTIVATION_SQRT] = "sqrt",
                                    [FILTRA_ACTIVATION_RECIPROCAL] = "reciprocal",
                                    [FILTRA_ACTIVATION_ELU] = "elu",
                                    [FILTRA_ACTIVATION_GELU_TANH] = "gelu_tanh"};

/* Finite wherever x is; the others are tested where they are smooth. */
static bool everywhere(filtra_activation kind) {
  return kind <= FILTRA_ACTIVATION_SIGMOID || kind >= FILTRA_ACTIVATION_ELU;
}

/* The second output's gradient is added. */
TEST_BUILD(build) {
  const filtra_activation *kind = op->settings;
  out[0] = filtra_activate(g, in[0], *kind);
  out[1] = filtra_activate(g, in[0], *kind);
}

TEST_REFERENCE(reference) {
  const filtra_activation *kind = op->settings;
  for (int64_t i = 0; i < op->dims[0]; i++)
    out[0][i] = out[1][i] = reference_activation(*kind, in[0][i]);
}

TEST(test_gradients) {
  const double ranges[][2] = {{0.5, 3}, {40, 60}, {-1, 1}, {-8, 8}, {-5, -3}};
  for (size_t k = 0; k < FT_COUNT(names); k++)
    for (size_t r = 0; r < FT_COUNT(ranges); r++) {
      filtra_activation kind = (filtra_activation)k;
      if (ranges[r][0] < 0 && !everywhere(kind)) continue;
      test_op op = {.name = names[k],
                    .in = {{"x", FILTRA_F32, 2, {5, 37}, ranges[r][0], ranges[r][1], true}},
                    .build = build,
                    .reference = reference,
                    .settings = &kind,
                    .dims = {5 * 37}};
      test_check_op(test_device(), &op);
    }
}

/* ---- values on a line ---- */

typedef struct curve {
  size_t count;
  float *x, *y, *slope;
} curve;

static curve evaluate(filtra_activation kind, size_t count, double low, double high) {
  curve c = {count, calloc(count, sizeof(float)), calloc(count, sizeof(float)),
             calloc(count, sizeof(float))};
  assert_true(c.x && c.y && c.slope);
  for (size_t i = 0; i < count; i++)
    c.x[i] = (float)(low + (high - low) * (double)i / (double)(count - 1));
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", (int64_t)count);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *y = filtra_graph_output(g, filtra_activate(g, x, kind));
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, x));
  test_evaluate(&g, TEST_SET({x, c.x}), TEST_GET({y, c.y}, {gradient, c.slope}));
  return c;
}

static void free_curve(curve *c) {
  free(c->x);
  free(c->y);
  free(c->slope);
}

/* Errors relative to the value (at least `floor`), and of the slope in absolute terms. */
TEST(test_accuracy) {
  static const struct {
    filtra_activation kind;
    double range, floor, error, slope_error;
  } cases[] = {
      {FILTRA_ACTIVATION_GELU, 20, 1, 2e-7, 5e-7},
      {FILTRA_ACTIVATION_GELU_TANH, 20, 1, 4e-7, 1e-6},
      {FILTRA_ACTIVATION_SIN, 60, 1, 2e-7, 2e-7},
      {FILTRA_ACTIVATION_SIN, 1e4, 1, 3e-7, 3e-7},
      {FILTRA_ACTIVATION_SIN, 1e5, 1, 1e-6, 1e-6},
      {FILTRA_ACTIVATION_SIN, 1e-3, 1e-6, 3e-7, 2e-7},
      {FILTRA_ACTIVATION_TANH, 20, 1e-6, 4e-7, 4e-7},
      {FILTRA_ACTIVATION_TANH, 1e-3, 1e-9, 4e-7, 4e-7},
      {FILTRA_ACTIVATION_SOFTPLUS, 30, 1e-12, 1e-5, 4e-7}, /* e^-30 itself is that uncertain */
      {FILTRA_ACTIVATION_SOFTPLUS, 4, 1e-12, 2e-6, 4e-7},
      {FILTRA_ACTIVATION_SOFTPLUS5, 30, 1e-12, 1e-5, 4e-7},
      {FILTRA_ACTIVATION_RELU, 20, 1, 0, 0},
      {FILTRA_ACTIVATION_LEAKY_RELU, 20, 1e-9, 1e-7, 1e-8},
      {FILTRA_ACTIVATION_SIGMOID, 20, 1e-6, 2e-6, 4e-7},
      {FILTRA_ACTIVATION_ELU, 20, 1e-6, 1e-6, 4e-7},
      {FILTRA_ACTIVATION_ELU, 1e-3, 1e-9, 1e-6, 4e-7},
      {FILTRA_ACTIVATION_EXP, 0.7, 1e-9, 1e-6, 2e-6},
  };
  for (size_t k = 0; k < FT_COUNT(cases); k++) {
    filtra_activation kind = cases[k].kind;
    curve c = evaluate(kind, 40001, -cases[k].range, cases[k].range * 1.00001);
    double worst = 0, worst_slope = 0;
    for (size_t i = 0; i < c.count; i++) {
      double want = reference_activation(kind, c.x[i]);
      worst = fmax(worst, fabs(c.y[i] - want) / fmax(cases[k].floor, fabs(want)));
      worst_slope =
          fmax(worst_slope, fabs(c.slope[i] - reference_activation_derivative(kind, c.x[i])));
    }
    print_message("%s up to %g: error %.2g, of its derivative %.2g\n", names[kind], cases[k].range,
                  worst, worst_slope);
    assert_true(worst <= cases[k].error && worst_slope <= cases[k].slope_error);
    free_curve(&c);
  }
}

/* Far out: no overflow on the way to a finite value, and a sine of at most 1. */
TEST(test_large_arguments) {
  for (size_t k = 0; k < FT_COUNT(names); k++) {
    filtra_activation kind = (filtra_activation)k;
    if (!everywhere(kind)) continue;
    for (double range = 90; range < 1e38; range *= 1e9) {
      curve c = evaluate(kind, 1001, -range, range);
      for (size_t i = 0; i < c.count; i++) {
        double want = reference_activation(kind, c.x[i]);
        assert_true(isfinite(c.y[i]) && isfinite(c.slope[i]));
        if (kind == FILTRA_ACTIVATION_SIN)
          assert_true(fabsf(c.y[i]) <= 1.0000002f && fabsf(c.slope[i]) <= 1.0000002f);
        else
          assert_true(fabs(c.y[i] - want) <= 1e-6 * (1 + fabs(want)));
      }
      free_curve(&c);
    }
  }
}

/* A NaN of either sign comes through every activation, alone and in a linear layer's epilogue. */
TEST(test_nan) {
  uint32_t bits[] = {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x3f800000u, 0xff800000u};
  for (size_t k = 0; k < FT_COUNT(names); k++) {
    filtra_activation kind = (filtra_activation)k;
    float in[5], alone[5], fused[5];
    memcpy(in, bits, sizeof in);
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = test_input(g, "x", 5, 1);
    filtra_tensor *one = test_input(g, "one", 1, 1);
    filtra_tensor *y = filtra_activate(g, filtra_affine(g, x, 1, 0), kind);
    filtra_tensor *z = filtra_linear(g, x, one, NULL, &(filtra_linear_options){.activation = kind});
    filtra_graph_output(g, y);
    filtra_graph_output(g, z);
    test_evaluate(&g, TEST_SET({x, in}, {one, &(float){1}}), TEST_GET({y, alone}, {z, fused}));
    for (int i = 0; i < 3; i++)
      assert_true(isnan(alone[i]) && isnan(fused[i]));
    assert_true(alone[3] == fused[3] && isfinite(alone[3]));
    if (kind == FILTRA_ACTIVATION_RELU) assert_true(alone[4] == 0 && fused[4] == 0);
    if (kind == FILTRA_ACTIVATION_SIN) assert_true(isnan(alone[4]) && isnan(fused[4]));
  }
}

/* Relative errors over all sizes of arguments, and what lies at the ends of the domain. */
TEST(test_positive_arguments) {
  static const filtra_activation KINDS[] = {FILTRA_ACTIVATION_LOG, FILTRA_ACTIVATION_SQRT,
                                            FILTRA_ACTIVATION_RECIPROCAL};
  for (size_t k = 0; k < FT_COUNT(KINDS); k++)
    for (double scale = 1e-12; scale < 1e13; scale *= 10) {
      curve c = evaluate(KINDS[k], 1001, scale, 10 * scale);
      for (size_t i = 0; i < c.count; i++) {
        double want = reference_activation(KINDS[k], c.x[i]);
        double slope = reference_activation_derivative(KINDS[k], c.x[i]);
        /* Vulkan asks of log near 1 an absolute error of 2^-21 only. */
        assert_true(fabs(c.y[i] - want) <= 1e-6 * fabs(want) + 5e-7);
        assert_true(fabs(c.slope[i] - slope) <= 1e-6 * fabs(slope));
      }
      free_curve(&c);
    }
  curve zero = evaluate(FILTRA_ACTIVATION_SQRT, 2, 0, 1);
  assert_true(zero.y[0] == 0 && isinf(zero.slope[0]) && zero.y[1] == 1);
  free_curve(&zero);
  curve ends = evaluate(FILTRA_ACTIVATION_LOG, 2, -1, 0);
  assert_true(isnan(ends.y[0]) && ends.y[1] == -INFINITY);
  free_curve(&ends);
}

TEST(test_unknown) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 3);
  test_refuse(&g, filtra_activate(g, x, (filtra_activation)FT_COUNT(names)),
              "activate: there is no activation");
}

TEST_MAIN(NULL, test_teardown)
