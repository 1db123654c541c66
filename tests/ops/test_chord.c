/* Sums over links of a ring: sequences of different lengths, shorter than their links, and of one
 * token. */
#include "support/harness.h"

#include "ops/chord.h"

TEST_BUILD(build) {
  filtra_tensor *lengths = op->inputs > 2 ? in[2] : NULL;
  out[0] = ft_chord(g, in[0], in[1], lengths);
  out[1] = ft_chord(g, in[0], out[0], lengths); /* whose gradients are added */
}

/* y = W x of one column, W written out. */
static void multiply(const double *w, const double *x, double *y, int64_t length, int64_t links,
                     int64_t columns) {
  for (int64_t i = 0; i < length; i++)
    for (int64_t j = 0; j < length; j++) {
      double entry = i == j ? w[i * links] : 0.0;
      for (int64_t k = 1; k < links; k++)
        if ((i + ((int64_t)1 << (k - 1))) % length == j) entry += w[i * links + k];
      for (int64_t c = 0; c < columns; c++)
        y[i * columns + c] += entry * x[j * columns + c];
    }
}

TEST_REFERENCE(reference) {
  const int64_t batch = op->dims[0], n = op->dims[1], columns = op->dims[2], links = op->dims[3];
  for (int out_of = 0; out_of < 2; out_of++) {
    memset(out[out_of], 0, (size_t)(batch * n * columns) * sizeof **out);
    for (int64_t b = 0; b < batch; b++)
      multiply(in[0] + b * n * links, (out_of ? out[0] : in[1]) + b * n * columns,
               out[out_of] + b * n * columns, op->inputs > 2 ? (int64_t)in[2][b] : n, links,
               columns);
  }
}

static void check(int64_t batch, int64_t n, int64_t columns, int64_t links, const float *lengths) {
  const int64_t count = batch * n * columns;
  test_op op = {.name = "chord",
                .inputs = lengths ? 3 : 2,
                .in = {{"w", FILTRA_F32, 3, {batch, n, links}, .gradient = true},
                       {"x", FILTRA_F32, 3, {batch, n, columns}, .gradient = true},
                       {"lengths", FILTRA_F32, 1, {batch}, .fixed = lengths}},
                .build = build,
                .reference = reference,
                .dims = {batch, n, columns, links},
                .out_elements = {count, count}};
  test_check_op(test_device(), &op);
}

TEST(whole_sequences) {
  check(1, 1, 1, 1, NULL);
  check(1, 1, 3, 4, NULL);
  check(2, 2, 3, 2, NULL);
  check(3, 7, 5, 4, NULL);
  check(1, 33, 17, 7, NULL);
  check(2, 64, 4, 7, NULL);
}

TEST(lengths_of_their_own) {
  check(3, 7, 5, 4, (const float[]){7, 0, 4});
  check(4, 37, 3, 7, (const float[]){1, 37, 36, 2});
}

TEST(refused) {
  static const struct {
    int64_t w[3], length;
    const char *part;
  } CASES[] = {{{2, 3, 33}, 2, "K from 1 to 32"},
               {{2, 4, 2}, 2, "must be [B,N,K] of x [2, 3, 4]"},
               {{2, 3, 2}, 3, "lengths [3] must be [B]"}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *w = filtra_graph_input(g, "w", FILTRA_F32, 3, CASES[i].w);
    filtra_tensor *lengths = filtra_graph_input(g, "lengths", FILTRA_F32, 1, &CASES[i].length);
    test_refuse(&g, ft_chord(g, w, test_input(g, "x", 2, 3, 4), lengths), CASES[i].part);
  }
}

TEST_MAIN(NULL, test_teardown)
