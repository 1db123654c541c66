/* Pseudoinverses by iteration: sizes up to the largest, whole and partial groups of four, more
 * matrices than workgroups, and iterations that come close to the inverse. */
#include "support/harness.h"

#include "ops/pseudoinverse.h"

enum { MOST = 64 };

TEST_BUILD(build) {
  out[0] = ft_pseudoinverse(g, in[0], op->dims[2]);
}

/* y = x + scale a b */
static void add_product(int64_t m, const double *x, double scale, const double *a, const double *b,
                        double *y) {
  double sum[MOST];
  for (int64_t i = 0; i < m; i++) {
    memset(sum, 0, sizeof sum);
    for (int64_t k = 0; k < m; k++)
      for (int64_t j = 0; j < m; j++)
        sum[j] += a[i * m + k] * b[k * m + j];
    for (int64_t j = 0; j < m; j++)
      y[i * m + j] = (x ? x[i * m + j] : 0) + scale * sum[j];
  }
}

static void iterate(int64_t m, int64_t iterations, const double *a, double *z) {
  static double az[MOST * MOST], seven[MOST * MOST], fifteen[MOST * MOST], next[MOST * MOST];
  double most = -INFINITY, factor = 1;
  for (int64_t j = 0; j < m; j++) {
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
      sum += a[i * m + j];
    most = fmax(most, sum);
  }
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < m; j++)
      z[i * m + j] = a[j * m + i] / most;
  for (int64_t i = 0; i < iterations; i++, factor *= 3.25) {
    add_product(m, NULL, factor, a, z, az);
    add_product(m, az, -1.0 / 7, az, az, seven);
    add_product(m, az, -7.0 / 15, az, seven, fifteen);
    add_product(m, z, -15.0 / 13, z, fifteen, next);
    memcpy(z, next, (size_t)(m * m) * sizeof *z);
  }
}

TEST_REFERENCE(reference) {
  const int64_t m = op->dims[1];
  for (int64_t k = 0; k < op->dims[0]; k++)
    iterate(m, op->dims[2], in[0] + k * m * m, out[0] + k * m * m);
}

/* Rows that sum to 1, as those of softmax, with a share of each on the diagonal. One column has by
 * far the largest sum, so that differences have no edge. */
static float *rows(int64_t count, int64_t m, float diagonal) {
  float *a = test_alloc((size_t)(count * m * m) * sizeof *a);
  for (int64_t r = 0; r < count * m; r++) {
    float sum = 0;
    for (int64_t j = 0; j < m; j++)
      sum += a[r * m + j] = (float)((r * 37 + j * 101 + r * j * 7) % 23) + (j == m / 2 ? 30 : 1);
    for (int64_t j = 0; j < m; j++)
      a[r * m + j] *= (1.0f - diagonal) / sum;
    a[r * m + r % m] += diagonal;
  }
  return a;
}

static void check(int64_t count, int64_t m, int64_t iterations) {
  if (!ft_pseudoinverse_runs(test_device())) skip();
  owned float *a = rows(count, m, 0.6f);
  const test_op op = {.name = "pseudoinverse",
                      .in = {{"a", FILTRA_F32, 3, {count, m, m}, .fixed = a, .gradient = true}},
                      .build = build,
                      .reference = reference,
                      .dims = {count, m, iterations},
                      .out_elements = {count * m * m}};
  test_check_op(test_device(), &op);
}

TEST(sizes) {
  static const int64_t SIZES[] = {1, 2, 3, 4, 5, 8, 17};
  for (size_t i = 0; i < FT_COUNT(SIZES); i++)
    check(2, SIZES[i], 2);
  check(1, 63, 1);
  check(1, MOST, 2);
}

TEST(more_matrices_than_workgroups) {
  check(197, 3, 2);
}

TEST(iterations) {
  check(3, 4, 1);
  check(3, 7, 6);
}

/* What Nystromformer needs: A Z is the identity. */
TEST(inverse) {
  enum { M = 6, ITERATIONS = 6 };
  if (!ft_pseudoinverse_runs(test_device())) skip();
  owned float *a = rows(1, M, 0.6f);
  float z[M * M];
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in = test_input(g, "a", M, M);
  filtra_tensor *y = filtra_graph_output(g, ft_pseudoinverse(g, in, ITERATIONS));
  test_compile_and_run(g, TEST_SET({in, a}), TEST_GET({y, z}));
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      double sum = 0;
      for (int k = 0; k < M; k++)
        sum += pow(3.25, ITERATIONS) * (double)a[i * M + k] * (double)z[k * M + j];
      assert_true(fabs(sum - (i == j)) < 1e-4);
    }
}

TEST(refused) {
  static const struct {
    int64_t shape[2], iterations;
  } CASES[] = {{{65, 65}, 1}, {{3, 4}, 1}, {{3, 3}, 0}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *a = filtra_graph_input(g, "a", FILTRA_F32, 2, CASES[i].shape);
    test_refuse(&g, ft_pseudoinverse(g, a, CASES[i].iterations), "must be [.., m, m], m at most");
  }
}

static void check_small_device(filtra_device *device) {
  assert_false(ft_pseudoinverse_runs(device));
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *a = filtra_graph_input(g, "a", FILTRA_F32, 2, (int64_t[]){3, 3});
  test_refuse_as(&g, ft_pseudoinverse(g, a, 1), FILTRA_ERROR_UNSUPPORTED, "256 invocations");
}

TEST_WITH(few_invocations, "invocations=128", check_small_device)
TEST_WITH(little_shared_memory, "shared=16384", check_small_device)

TEST_MAIN(NULL, test_teardown)
