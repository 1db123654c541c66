/* Fourier transforms of sequences of different lengths: odd, prime, and one token. */
#include "support/harness.h"

TEST_BUILD(build) {
  filtra_tensor *lengths = op->inputs > 2 ? in[2] : NULL;
  out[0] = filtra_fourier(g, in[0], in[1], lengths);
  out[1] = filtra_fourier(g, in[0], NULL, lengths); /* whose gradient is added */
  out[2] = filtra_fourier(g, NULL, in[1], lengths);
}

TEST_REFERENCE(reference) {
  const int64_t batch = op->dims[0], n = op->dims[1], columns = op->dims[2];
  for (int64_t i = 0; i < batch * n * columns; i++) {
    const int64_t b = i / (n * columns), k = i / columns % n, c = i % columns;
    const int64_t length = op->inputs > 2 ? (int64_t)in[2][b] : n;
    double cosine = 0, sine = 0;
    for (int64_t m = 0; m < length && k < length; m++) {
      double angle = 2 * M_PI * (double)(m * k % length) / (double)length;
      cosine += cos(angle) * in[0][(b * n + m) * columns + c];
      sine += sin(angle) * in[1][(b * n + m) * columns + c];
    }
    out[0][i] = cosine + sine;
    out[1][i] = cosine;
    out[2][i] = sine;
  }
}

static void check(int64_t batch, int64_t n, int64_t columns, const float *lengths) {
  const int64_t count = batch * n * columns;
  test_op op = {.name = "fourier",
                .inputs = lengths ? 3 : 2,
                .in = {{"cosine", FILTRA_F32, 3, {batch, n, columns}, .gradient = true},
                       {"sine", FILTRA_F32, 3, {batch, n, columns}, .gradient = true},
                       {"lengths", FILTRA_F32, 1, {batch}, .fixed = lengths}},
                .build = build,
                .reference = reference,
                .dims = {batch, n, columns},
                .out_elements = {count, count, count}};
  test_check_op(test_device(), &op);
}

TEST(whole_sequences) {
  check(1, 1, 1, NULL);
  check(2, 2, 3, NULL);
  check(1, 7, 5, NULL);
  check(3, 33, 4, NULL);
  check(1, 128, 9, NULL);
  check(2, 131, 17, NULL);
}

TEST(lengths_of_their_own) {
  check(3, 7, 5, (const float[]){7, 0, 4});
  check(4, 37, 3, (const float[]){1, 37, 36, 2});
  check(2, 130, 11, (const float[]){127, 64});
}

/* Angles of a long sequence, whose products n k are beyond what floats count to: a wave gives its
 * own two frequencies, and nothing else but rounding: N sums of at most N/2, each off by 2^-23 of
 * itself where all are rounded in one direction. */
TEST(long_sequence) {
  enum { N = 8209, WAVE = 4001 }; /* primes */
  static float x[N], y[N];
  for (int n = 0; n < N; n++)
    x[n] = (float)cos(2 * M_PI * (double)((int64_t)n * WAVE % N) / N);
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in = test_input(g, "x", 1, N, 1);
  filtra_tensor *out = filtra_graph_output(g, filtra_fourier(g, in, NULL, NULL));
  test_evaluate(&g, TEST_SET({in, x}), TEST_GET({out, y}));
  for (int k = 0; k < N; k++) {
    float expected = k == WAVE || k == N - WAVE ? 0.5f * N : 0.0f;
    assert_true(fabsf(y[k] - expected) < ldexpf(0.5f * N * N, -23));
  }
}

TEST(refused) {
  static const struct {
    int64_t sine[3], length;
    const char *part;
  } CASES[] = {{{2, 3, 5}, 2, "must have one shape"}, {{2, 3, 4}, 3, "lengths [3] must be [B]"}};
  filtra_graph *g;
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    assert_ok(filtra_graph_create(test_device(), NULL, &g));
    filtra_tensor *x = test_input(g, "x", 2, 3, 4);
    filtra_tensor *sine = filtra_graph_input(g, "sine", FILTRA_F32, 3, CASES[i].sine);
    filtra_tensor *lengths = filtra_graph_input(g, "lengths", FILTRA_F32, 1, &CASES[i].length);
    test_refuse(&g, filtra_fourier(g, x, sine, lengths), CASES[i].part);
  }
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  test_refuse(&g, filtra_fourier(g, NULL, NULL, NULL), "both NULL");
}

TEST_MAIN(NULL, test_teardown)
