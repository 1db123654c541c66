/* Orders of rows, and constant copies of tensors that have a gradient. */
#include "support/harness.h"

static float key(float x, float mask) {
  return mask > 0 ? x : -INFINITY;
}

/* Without NaN, by selection: the largest that is left, the first of equal ones. */
static void reference(const float *x, const float *mask, int64_t n, int32_t first, int32_t *order) {
  owned bool *taken = test_alloc(((size_t)n) * sizeof *taken);
  for (int64_t r = 0; r < n; r++) {
    int64_t best = -1;
    for (int64_t t = 0; t < n; t++)
      if (!taken[t] && (best < 0 || key(x[t], mask[t]) > key(x[best], mask[best]))) best = t;
    taken[best] = true;
    order[r] = first + (int32_t)best;
  }
}

/* Both directions, with and without a mask. */
static void orders_of(int64_t rows, int64_t n, const float *x, const float *mask, int32_t *got[4]) {
  owned_graph *g = test_graph(test_device(), NULL);
  const int64_t shape[] = {rows, n};
  filtra_tensor *in = filtra_graph_input(g, "x", FILTRA_F32, 2, shape), *out[4];
  filtra_tensor *kept = filtra_graph_input(g, "mask", FILTRA_F32, 2, shape);
  for (int i = 0; i < 4; i++)
    out[i] = filtra_graph_output(g, filtra_argsort(g, in, i < 2 ? NULL : kept, i % 2));
  test_compile_and_run(g, TEST_SET({in, x}, {kept, mask}), NULL);
  for (int i = 0; i < 4; i++)
    assert_ok(filtra_graph_get(g, out[i], got[i]));
}

static void check(int64_t rows, int64_t n, const float *x, const float *mask, bool ordered) {
  const size_t count = (size_t)(rows * n);
  int32_t *got[4], *expected = calloc(count, sizeof *expected);
  owned float *ones = malloc(count * sizeof *ones);
  assert_true(expected && ones);
  for (size_t i = 0; i < count; i++)
    ones[i] = 1;
  for (int i = 0; i < 4; i++)
    assert_non_null(got[i] = malloc(count * sizeof **got));
  orders_of(rows, n, x, mask, got);
  for (int masked = 0; masked < 2; masked++) {
    for (int64_t b = 0; b < rows; b++)
      reference(x + b * n, (masked ? mask : ones) + b * n, n, (int32_t)(b * n), expected + b * n);
    const int32_t *there = got[2 * masked], *back = got[2 * masked + 1];
    for (size_t i = 0; i < count; i++) {
      if (ordered) assert_int_equal(there[i], expected[i]);
      assert_between(there[i], 0, count - 1);
      assert_int_equal(there[i] / n, (int64_t)i / n);
      assert_int_equal(back[there[i]], i);
    }
  }
  for (int i = 0; i < 4; i++)
    free(got[i]);
  free(expected);
}

TEST(orders) {
  static const int64_t CASES[][2] = {{1, 1}, {3, 7}, {2, 33}, {5, 130}, {2, 700}};
  for (size_t c = 0; c < FT_COUNT(CASES); c++) {
    const int64_t rows = CASES[c][0], n = CASES[c][1];
    float x[2048], mask[2048];
    test_random(7 + (uint64_t)c, -1, 1, x, (size_t)(rows * n));
    for (int64_t i = 0; i < rows * n; i++) {
      mask[i] = i % n < n - n / 3 && i % 5 != 3;
      if (i % 4 == 1) x[i] = x[i / 4]; /* equal ones */
      if (i % 11 == 2) x[i] = i % 2 ? 0.0f : -0.0f;
    }
    check(rows, n, x, mask, true);
  }
}

/* Whatever the numbers are, the result is a permutation. */
TEST(strange_numbers) {
  const float x[] = {NAN, 1, INFINITY, -NAN, -INFINITY, 1e-42f, -1e-42f, 0, NAN, -1, -0.0f};
  const float mask[] = {1, 1, 1, 1, 1, 1, 0, NAN, -1, 1, 1};
  check(1, FT_COUNT(x), x, mask, false);
}

TEST(refused) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, 3);
  filtra_tensor *other = test_input(g, "mask", 3, 2);
  assert_null(filtra_argsort(g, x, other, FILTRA_SORT));
  assert_fails(ft_graph_status(g), FILTRA_ERROR_ARGUMENT, "argsort: mask [3, 2]");
  filtra_graph_destroy(&g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "x", 1, 65537);
  assert_null(filtra_argsort(g, x, NULL, FILTRA_SORT));
  assert_fails(ft_graph_status(g), FILTRA_ERROR_ARGUMENT, "rows of 65537 numbers");
}

/* x * detached x has x's value for a slope, not twice that. */
TEST(detached) {
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", 5);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *y = filtra_graph_output(g, filtra_multiply(g, x, filtra_detach(g, x)));
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  const float in[] = {-2, -0.5f, 0, 1, 3};
  float out[5], slope[5];
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({y, out}, {dx, slope}));
  for (int i = 0; i < 5; i++)
    assert_true(out[i] == in[i] * in[i] && slope[i] == in[i]);
}

TEST_MAIN(NULL, test_teardown)
