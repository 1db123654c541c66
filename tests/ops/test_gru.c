/* Gated recurrent units: both kernels, long sequences, each gradient alone. */
#include "support/harness.h"

enum { X, W_IH, W_HH, B_IH, B_HH, INPUTS };

struct shape {
  int64_t batch, n, in, hidden;
};

TEST_BUILD(build) {
  out[0] = filtra_gru(g, in[X], in[W_IH], in[W_HH], in[B_IH], in[B_HH]);
}

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += a[i] * b[i];
  return sum;
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static void gru(double *const *in, double *y, const struct shape *s) {
  int64_t h = s->hidden;
  owned double *zeros = test_alloc(((size_t)h) * sizeof *zeros);
  for (int64_t token = 0; token < s->batch * s->n; token++) {
    const double *x = in[X] + token * s->in;
    const double *before = token % s->n ? y + (token - 1) * h : zeros;
    for (int64_t j = 0; j < h; j++) {
      double i_part[3], h_part[3];
      for (int k = 0; k < 3; k++) {
        int64_t gate = k * h + j;
        i_part[k] = dot(x, in[W_IH] + gate * s->in, s->in) + in[B_IH][gate];
        h_part[k] = dot(before, in[W_HH] + gate * h, h) + in[B_HH][gate];
      }
      double reset = sigmoid(i_part[0] + h_part[0]), update = sigmoid(i_part[1] + h_part[1]);
      double fresh = tanh(i_part[2] + reset * h_part[2]);
      y[token * h + j] = (1 - update) * fresh + update * before[j];
    }
  }
}

TEST_REFERENCE(reference) {
  gru(in, out[0], op->settings);
}

static test_op make(const struct shape *s, unsigned gradients) {
  int64_t h = s->hidden;
  double bound = 1.5 / sqrt((double)h);
  test_op op = {.name = "gru",
                .inputs = INPUTS,
                .in = {[X] = {"x", FILTRA_F32, 3, {s->batch, s->n, s->in}, -2, 2},
                       [W_IH] = {"w_ih", FILTRA_F32, 2, {3 * h, s->in}},
                       [W_HH] = {"w_hh", FILTRA_F32, 2, {3 * h, h}, -bound, bound},
                       [B_IH] = {"b_ih", FILTRA_F32, 1, {3 * h}},
                       [B_HH] = {"b_hh", FILTRA_F32, 1, {3 * h}}},
                .build = build,
                .reference = reference,
                .settings = s,
                .out_elements = {s->batch * s->n * h}};
  for (int i = 0; i < INPUTS; i++)
    op.in[i].gradient = gradients >> i & 1;
  return op;
}

enum { ALL = (1 << INPUTS) - 1 };

static void check(filtra_device *device, struct shape s, unsigned gradients) {
  test_op op = make(&s, gradients);
  test_check_op(device, &op);
}

static void check_shapes(filtra_device *device) {
  check(device, (struct shape){1, 1, 1, 1}, ALL & ~(1u << W_HH)); /* h = 0: w_hh has no say */
  check(device, (struct shape){2, 7, 5, 5}, ALL);
  check(device, (struct shape){3, 33, 16, 16}, ALL);
  check(device, (struct shape){2, 5, 3, 1}, ALL);
  check(device, (struct shape){1, 4, 7, 33}, ALL);
  check(device, (struct shape){17, 3, 4, 8}, ALL); /* the last workgroup lacks rows */
  check(device, (struct shape){33, 3, 2, 64}, ALL);
  check(device, (struct shape){4, 2, 5, 100}, ALL);
  check(device, (struct shape){35, 2, 3, 130}, ALL);
}

TEST_WITH(test_shapes, NULL, check_shapes)

/* The kernel of GPUs. */
TEST(test_without_subgroups) {
  owned_device *device = test_open_device("subgroup=0");
  check_shapes(device);
  check(device, (struct shape){1, 3, 2, 300}, 1u << X | 1u << B_HH); /* units in two rounds */
}

TEST(test_small_device) {
  owned_device *device = test_open_device("subgroup=0,invocations=128,shared=16384");
  check(device, (struct shape){2, 7, 5, 5}, ALL);
  check(device, (struct shape){66, 2, 3, 140}, ALL);
  test_close_device(&device);
  device = test_open_device("shared=16384");
  check(device, (struct shape){33, 2, 3, 130}, ALL);
}

/* Many dispatches each way; the state is carried from one to the next. */
TEST(test_long) {
  check(test_device(), (struct shape){2, 1500, 3, 5}, ALL);
  check(test_device(), (struct shape){3, 600, 3, 32}, ALL); /* whole blocks of units */
  check(test_device(), (struct shape){1, 256, 3, 5}, ALL);
  check(test_device(), (struct shape){3, 257, 3, 5}, ALL);
  owned_device *device = test_open_device("subgroup=0");
  check(device, (struct shape){2, 1500, 3, 5}, ALL);
}

/* Without gradients nothing is kept; with one of them the others' kernels must not be needed. */
TEST(test_single_gradients) {
  check(test_device(), (struct shape){2, 300, 4, 7}, 0);
  for (int kept = 0; kept < INPUTS; kept++)
    for (int64_t hidden = 7; hidden <= 32; hidden += 25)
      check(test_device(), (struct shape){3, 9, 4, hidden}, 1u << kept);
}

/* Two layers with the same weights: gradients accumulate. */
TEST_BUILD(build_twice) {
  build(g, in, out, op);
  filtra_tensor *second[INPUTS] = {out[0], in[W_IH], in[W_HH], in[B_IH], in[B_HH]};
  build(g, second, &out[1], op);
}

TEST_REFERENCE(reference_twice) {
  gru(in, out[0], op->settings);
  double *second[INPUTS] = {out[0], in[W_IH], in[W_HH], in[B_IH], in[B_HH]};
  gru(second, out[1], op->settings);
}

TEST(test_stacked) {
  struct shape s = {2, 20, 6, 6};
  test_op op = make(&s, ALL);
  op.build = build_twice;
  op.reference = reference_twice;
  op.outputs = 2;
  test_check_op(test_device(), &op);
}

static void expect_error(int64_t in, int64_t hidden, int64_t gates, const char *part) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, 3, 4);
  filtra_tensor *w_ih = test_input(g, "w_ih", gates, in);
  filtra_tensor *w_hh = test_input(g, "w_hh", gates, hidden);
  filtra_tensor *bias = filtra_graph_input(g, "bias", FILTRA_F32, 1, &gates);
  test_refuse(&g, filtra_gru(g, x, w_ih, w_hh, bias, bias), part);
}

TEST(test_errors) {
  expect_error(4, 5, 14, "w_hh [14, 5]");
  expect_error(3, 5, 15, "w_ih [15, 3]");
  expect_error(4, 513, 1539, "513 hidden units");
}

TEST_MAIN(NULL, test_teardown)
