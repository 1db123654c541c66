/* Kernel polynomials, their loss, and Gibbs damping factors. */
#include "support/harness.h"

static const float damping[FILTRA_CHEBYSHEV_MAX_ORDER + 1] = {1.0f, 0.9f, 0.75f, 0.5f, 0.3f,
                                                              0.2f, 0.1f, 0.7f,  0.6f, 0.4f};

/* T_k by its definition on either side of 1. */
static double chebyshev(int64_t k, double x) {
  double n = (double)k;
  if (fabs(x) <= 1) return cos(n * acos(x));
  return (x < 0 && k % 2 ? -1 : 1) * cosh(n * acosh(fabs(x)));
}

enum { SAMPLES = 3 };

/* The second output uses both inputs again; the loss uses the coefficients. */
TEST_BUILD(build) {
  out[0] = filtra_chebyshev(g, in[0], in[1], damping);
  out[1] = filtra_chebyshev(g, in[0], in[1], NULL);
  out[2] = filtra_chebyshev_loss(g, in[1], SAMPLES);
}

TEST_REFERENCE(reference) {
  int64_t count = op->dims[0], terms = op->dims[1];
  for (int64_t i = 0; i < count; i++) {
    out[0][i] = out[1][i] = 0;
    for (int64_t k = 0; k < terms; k++) {
      double term = in[1][k] * chebyshev(k, in[0][i]);
      out[0][i] += (double)damping[k] * term;
      out[1][i] += term;
    }
  }
  for (int i = 0; i < SAMPLES; i++) {
    out[2][i] = 0;
    for (int64_t k = 0; k < terms; k++)
      out[2][i] += M_PI * (double)(k * k) * in[1][k] * in[1][k];
  }
}

static void check(filtra_device *device, int64_t batch, int64_t n, int64_t terms, double range,
                  bool x_gradient, bool w_gradient) {
  test_op op = {.name = "kernel_polynomial",
                .in = {{"x", FILTRA_F32, 2, {batch, n}, -range, range, x_gradient},
                       {"w", FILTRA_F32, 1, {terms}, .gradient = w_gradient}},
                .build = build,
                .reference = reference,
                .out_elements = {batch * n, batch * n, SAMPLES},
                .dims = {batch * n, terms}};
  test_check_op(device, &op);
}

static void check_shapes(filtra_device *device) {
  const int64_t shapes[][3] = {{1, 1, 1}, {1, 1, 3},  {2, 33, 3},
                               {3, 7, 2}, {5, 65, 7}, {1, 30, 17}};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    const int64_t *s = shapes[i];
    bool x_matters = s[2] > 1;
    check(device, s[0], s[1], s[2], 0.99, x_matters, true);
  }
  check(device, 2, 9, 3, 1.3, true, true);
  check(device, 2, 9, 3, 0.99, true, false);
  check(device, 2, 9, 3, 0.99, false, true);
  check(device, 40, 4099, 3, 0.99, true, true); /* sums in two stages, several elements each */
}

TEST_WITH(test_shapes, NULL, check_shapes)
TEST_WITH(test_without_subgroups, "subgroup=0", check_shapes)

/* Values worked out by hand, and what every kernel has in common. */
TEST(test_gibbs_factors) {
  float f[FILTRA_CHEBYSHEV_MAX_ORDER + 1];
  for (int kernel = 0; kernel <= FILTRA_GIBBS_WANG; kernel++)
    for (int order = 0; order <= FILTRA_CHEBYSHEV_MAX_ORDER; order++) {
      assert_ok(filtra_gibbs_factors((filtra_gibbs)kernel, order, NULL, f));
      assert_true(f[0] == 1);
      for (int k = 1; k <= order; k++)
        assert_true(f[k] > 0 && f[k] <= f[k - 1]);
    }
  static const struct {
    filtra_gibbs kernel;
    int order, k;
    filtra_gibbs_options options;
    double want;
  } cases[] = {
      {FILTRA_GIBBS_DIRICHLET, 4, 3, {0}, 1},
      {FILTRA_GIBBS_FEJER, 3, 1, {0}, 0.75},
      {FILTRA_GIBBS_JACKSON, 1, 1, {0}, 0.5}, /* c = 60 degrees */
      {FILTRA_GIBBS_LANCZOS, 1, 1, {0}, 8 / (M_PI * M_PI * M_PI)},
      {FILTRA_GIBBS_LANCZOS, 1, 1, {.lanczos_m = 1}, 2 / M_PI},
      {FILTRA_GIBBS_LORENTZ, 1, 1, {0}, 0.1329014}, /* 1 / (2 cosh 2) */
      {FILTRA_GIBBS_LORENTZ, 1, 1, {.lorentz_xi = 2}, 0.3240271},
      {FILTRA_GIBBS_VEKIC, 1, 1, {0}, 0.5},
      {FILTRA_GIBBS_WANG, 3, 2, {0}, 0.36787944},
      {FILTRA_GIBBS_WANG, 3, 2, {.wang_a = 4, .wang_b = 1}, 0.13533528},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_ok(filtra_gibbs_factors(cases[i].kernel, cases[i].order, &cases[i].options, f));
    assert_true(fabs((double)f[cases[i].k] - cases[i].want) < 1e-6);
  }
}

TEST(test_errors) {
  float f[1];
  const filtra_status argument = FILTRA_ERROR_ARGUMENT;
  assert_fails(filtra_gibbs_factors((filtra_gibbs)7, 0, NULL, f), argument, "kernel 7");
  assert_fails(filtra_gibbs_factors(FILTRA_GIBBS_FEJER, -1, NULL, f), argument, "0 to 16");
  assert_fails(filtra_gibbs_factors(FILTRA_GIBBS_FEJER, 17, NULL, f), argument, "0 to 16");
  assert_fails(
      filtra_gibbs_factors(FILTRA_GIBBS_WANG, 0, &(filtra_gibbs_options){.wang_b = NAN}, f),
      argument, "parameter");
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, 3);
  filtra_tensor *w = test_input(g, "w", 18);
  assert_null(filtra_chebyshev(g, x, w, NULL));
  test_refuse_as(&g, filtra_chebyshev_loss(g, w, 1), argument,
                 "coefficients (w [18]) must be 1 to 17");
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  w = test_input(g, "w", 3);
  test_refuse_as(&g, filtra_chebyshev_loss(g, w, 0), argument, "0 samples");
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "x", 2, 3);
  w = test_input(g, "w", 3);
  test_refuse_as(&g, filtra_chebyshev(g, x, w, (float[]){1, 1, NAN}), argument,
                 "damping[2] is nan");
}

TEST_MAIN(NULL, test_teardown)
