/* Token embeddings, learned positions, sinusoids. */
#include "support/harness.h"

#include "ops/decoding.h"
#include "reference/tokenwise.h"

/* ---- tokens ---- */

enum { BATCH, LENGTH, VOCABULARY, WIDTH }; /* indices of dims */

TEST_BUILD(build_embedding) {
  out[0] = filtra_embedding(g, in[0], in[1]);
  out[1] = filtra_embedding(g, in[0], in[2]); /* its gradient is added */
}

TEST_REFERENCE(ref_embedding) {
  const int64_t *d = op->dims;
  int64_t tokens = d[BATCH] * d[LENGTH];
  reference_embedding(in[0], in[1], out[0], d[VOCABULARY], tokens, d[WIDTH]);
  reference_embedding(in[0], in[2], out[1], d[VOCABULARY], tokens, d[WIDTH]);
}

static void check_embedding(int64_t batch, int64_t n, int64_t vocabulary, int64_t width) {
  test_tensor tokens = {"tokens", FILTRA_I32, 2, {batch, n}, -2, (double)vocabulary + 1};
  test_op op = {
      .name = "embedding",
      .in = {{"table", FILTRA_F32, 2, {vocabulary, width}, .gradient = true}, tokens, tokens},
      .build = build_embedding,
      .reference = ref_embedding,
      .dims = {batch, n, vocabulary, width}};
  op.in[2].name = "other tokens";
  test_check_op(test_device(), &op);
}

TEST(test_tokens) {
  check_embedding(1, 1, 1, 1);
  check_embedding(2, 7, 5, 3);
  check_embedding(3, 129, 16, 33); /* a small vocabulary in several splits */
  check_embedding(2, 300, 97, 64);
  check_embedding(2, 9, 3000, 17); /* most rows are not hit */
  check_embedding(4, 1031, 16, 8);
}

/* The gradient against a sum in double precision, for one batch of tokens; twice, bit by bit. */
static void check_gradient(int64_t batch, int64_t n, int64_t vocabulary, int64_t width,
                           const int32_t *tokens) {
  int64_t count = batch * n, outputs = count * width, rows = vocabulary * width;
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *table = test_input(g, "table", vocabulary, width);
  filtra_graph_require_gradient(g, table);
  filtra_tensor *ids = filtra_graph_input(g, "ids", FILTRA_I32, 2, (int64_t[]){batch, n});
  filtra_tensor *up = test_input(g, "up", batch, n, width);
  filtra_tensor *y = filtra_embedding(g, table, ids);
  assert_ok(filtra_graph_backward(g, 1, &y, &up));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, table));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));

  float *values = calloc((size_t)rows, sizeof *values), *dy = calloc((size_t)outputs, sizeof *dy);
  float *first = calloc((size_t)rows, sizeof *first),
        *second = calloc((size_t)rows, sizeof *second);
  double *want = calloc((size_t)rows, sizeof *want);
  assert_true(values && dy && first && second && want);
  test_random(7, -1, 1, dy, (size_t)outputs);
  for (int64_t i = 0; i < outputs; i++) {
    int32_t token = tokens[i / width];
    if (token >= 0 && token < vocabulary) want[token * width + i % width] += (double)dy[i];
  }
  float *results[] = {first, second};
  for (int k = 0; k < 2; k++) {
    test_run_graph(g, TEST_SET({table, values}, {ids, tokens}, {up, dy}),
                   TEST_GET({gradient, results[k]}));
  }
  assert_memory_equal(first, second, (size_t)rows * sizeof *first);
  assert_true(test_relative_error(first, want, (size_t)rows) < 1e-5);
  for (int64_t i = 0; i < rows; i++)
    if (want[i] == 0) assert_true(first[i] == 0);
  free(values);
  free(dy);
  free(first);
  free(second);
  free(want);
  filtra_graph_destroy(&g);
}

TEST(test_gradient) {
  enum { COUNT = 4 * 2053 };
  static int32_t tokens[COUNT];
  memset(tokens, 0, sizeof tokens); /* one token only */
  check_gradient(4, 2053, 16, 5, tokens);
  for (int i = 0; i < COUNT; i++)
    tokens[i] = i % 3 ? 0 : i * 7919 % 31013; /* mostly padding, else all different */
  check_gradient(4, 2053, 31013, 4, tokens);
  tokens[5] = INT32_MIN;
  tokens[6] = INT32_MAX;
  tokens[7] = 97;
  check_gradient(1, 97, 97, 7, tokens);
}

/* ---- positions ---- */

TEST_BUILD(build_positions) {
  out[0] = filtra_add_positions(g, in[0], in[1]);
  out[1] = filtra_add_positions(g, out[0], in[1]);
}

TEST_REFERENCE(ref_positions) {
  int64_t batch = op->dims[0], period = op->dims[1] * op->dims[2];
  for (int64_t i = 0; i < batch * period; i++) {
    out[0][i] = in[0][i] + in[1][i % period];
    out[1][i] = out[0][i] + in[1][i % period];
  }
}

TEST(test_positions) {
  const int64_t sizes[][4] = {{1, 1, 1, 1},      {3, 5, 7, 5},  {2, 67, 33, 70},
                              {5, 130, 64, 131}, {67, 3, 5, 4}, {131, 2, 64, 2}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    const int64_t *s = sizes[i];
    test_op op = {.name = "add_positions",
                  .in = {{"x", FILTRA_F32, 3, {s[0], s[1], s[2]}, .gradient = true},
                         {"table", FILTRA_F32, 2, {s[3], s[2]}, .gradient = true}},
                  .build = build_positions,
                  .reference = ref_positions,
                  .dims = {s[0], s[1], s[2]}};
    test_check_op(test_device(), &op);
  }
}

TEST_BUILD(build_sinusoids) {
  out[0] = filtra_add_sinusoids(g, in[0]);
}

TEST_REFERENCE(ref_sinusoids) {
  int64_t batch = op->dims[0], n = op->dims[1], columns = op->dims[2];
  for (int64_t i = 0; i < batch * n * columns; i++)
    out[0][i] = in[0][i] + reference_sinusoid(i / columns % n, i % columns, columns);
}

TEST(test_sinusoids) {
  const int64_t sizes[][3] = {{1, 1, 1}, {2, 9, 7}, {3, 65, 64}, {1, 17, 1030}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    const int64_t *s = sizes[i];
    test_op op = {.name = "add_sinusoids",
                  .in = {{"x", FILTRA_F32, 3, {s[0], s[1], s[2]}, .gradient = true}},
                  .build = build_sinusoids,
                  .reference = ref_sinusoids,
                  .dims = {s[0], s[1], s[2]},
                  .forward_tolerance = 1e-6};
    test_check_op(test_device(), &op);
  }
}

TEST_BUILD(build_shifted) {
  out[0] = ft_add_sinusoids_from(g, in[0], in[1]);
}

TEST_REFERENCE(ref_shifted) {
  int64_t batch = op->dims[0], n = op->dims[1], columns = op->dims[2];
  for (int64_t i = 0; i < batch * n * columns; i++) {
    int64_t token = i / columns % n + (int64_t)in[1][i / columns / n];
    out[0][i] = in[0][i] + reference_sinusoid(token, i % columns, columns);
  }
}

TEST(test_shifted_sinusoids) {
  const int64_t sizes[][3] = {{1, 1, 1}, {5, 1, 33}, {3, 6, 64}, {70, 2, 10}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++) {
    const int64_t *s = sizes[i];
    test_op op = {.name = "add_sinusoids_from",
                  .in = {{"x", FILTRA_F32, 3, {s[0], s[1], s[2]}, .gradient = true},
                         {"first", FILTRA_I32, 1, {s[0]}, 0, 70000}},
                  .build = build_shifted,
                  .reference = ref_shifted,
                  .dims = {s[0], s[1], s[2]},
                  .forward_tolerance = 1e-6};
    test_check_op(test_device(), &op);
  }
}

/* Far out, where a 32-bit float no longer holds the angle. */
TEST(test_long_sinusoids) {
  enum { N = 60001, C = 6 };
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 1, N, C);
  filtra_tensor *y = filtra_graph_output(g, filtra_add_sinusoids(g, x));
  assert_ok(filtra_graph_compile(g));
  owned float *values = test_alloc(((size_t)N * C) * sizeof *values);
  test_run_graph(g, TEST_SET({x, values}), TEST_GET({y, values}));
  double worst = 0;
  for (int64_t i = 0; i < N * C; i++)
    worst = fmax(worst, fabs((double)values[i] - reference_sinusoid(i / C, i % C, C)));
  assert_true(worst < 3e-7);
}

/* ---- errors ---- */

TEST(test_errors) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *table = test_input(g, "table", 8, 4);
  filtra_tensor *x = test_input(g, "x", 2, 3);
  test_refuse(&g, filtra_embedding(g, table, x), "embedding: tokens (x [2, 3]) must be dense I32");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  table = test_input(g, "table", 8, 4);
  x = test_input(g, "x", 2, 9, 4);
  test_refuse(&g, filtra_add_positions(g, x, table), "table [8, 4]");

  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  x = test_input(g, "x", 1, 1, 4097);
  test_refuse(&g, filtra_add_sinusoids(g, x), "4096");
}

TEST_MAIN(NULL, test_teardown)
