/* Add, subtract, multiply and divide with broadcasting. */
#include "support/harness.h"

enum kind { ADD, SUBTRACT, MULTIPLY, DIVIDE, KINDS };
static const char *const NAMES[KINDS] = {"add", "subtract", "multiply", "divide"};

static filtra_tensor *apply(filtra_graph *g, filtra_tensor *a, filtra_tensor *b, enum kind kind) {
  return (filtra_tensor * (*[])(filtra_graph *, filtra_tensor *, filtra_tensor *)){
      filtra_add, filtra_subtract, filtra_multiply, filtra_divide}[kind](g, a, b);
}

/* Twice, so that the second gradient is added to the first. */
TEST_BUILD(build) {
  const enum kind *kind = op->settings;
  out[0] = apply(g, in[0], in[1], *kind);
  out[1] = apply(g, in[0], in[1], *kind);
}

static double value(double a, double b, enum kind kind) {
  return kind == ADD ? a + b : kind == SUBTRACT ? a - b : kind == MULTIPLY ? a * b : a / b;
}

/* The element of t that meets element i of the result, whose shape is in dims. */
static int64_t meets(const test_tensor *t, const int64_t *shape, int ndim, int64_t i) {
  int64_t at = 0, stride = 1;
  for (int axis = ndim; axis-- > 0; i /= shape[axis]) {
    int own = axis - (ndim - t->ndim);
    if (own < 0 || t->shape[own] == 1) continue;
    at += i % shape[axis] * stride;
    stride *= t->shape[own];
  }
  return at;
}

TEST_REFERENCE(reference) {
  const enum kind *kind = op->settings;
  int ndim = (int)op->dims[4];
  for (int64_t i = 0; i < op->out_elements[0]; i++)
    out[0][i] = out[1][i] = value(in[0][meets(&op->in[0], op->dims, ndim, i)],
                                  in[1][meets(&op->in[1], op->dims, ndim, i)], *kind);
}

typedef struct pair {
  int a_dims, b_dims;
  int64_t a[FILTRA_MAX_DIMS], b[FILTRA_MAX_DIMS];
} pair;

static void check(const pair *p, enum kind kind) {
  int ndim = p->a_dims > p->b_dims ? p->a_dims : p->b_dims;
  test_op op = {.name = NAMES[kind],
                .in = {{.name = "a", .ndim = p->a_dims, .gradient = true},
                       {.name = "b", .ndim = p->b_dims, .low = 0.5, .high = 1.5, .gradient = true}},
                .build = build,
                .reference = reference,
                .settings = &kind,
                .out_elements = {1, 0}};
  memcpy(op.in[0].shape, p->a, sizeof p->a);
  memcpy(op.in[1].shape, p->b, sizeof p->b);
  op.dims[4] = ndim;
  for (int i = 0; i < ndim; i++) {
    int ia = i - (ndim - p->a_dims), ib = i - (ndim - p->b_dims);
    int64_t na = ia < 0 ? 1 : p->a[ia], nb = ib < 0 ? 1 : p->b[ib];
    op.dims[i] = na > nb ? na : nb;
    op.out_elements[0] *= op.dims[i];
  }
  op.out_elements[1] = op.out_elements[0];
  test_check_op(test_device(), &op);
}

TEST(values_and_gradients) {
  static const pair PAIRS[] = {
      {1, 1, {7}, {7}},
      {1, 1, {1}, {5}},
      {2, 1, {67, 9}, {9}},
      {1, 2, {9}, {67, 9}},
      {3, 2, {2, 70, 5}, {70, 1}},
      {3, 3, {3, 1, 5}, {3, 7, 1}},
      {4, 4, {2, 3, 67, 4}, {1, 3, 1, 4}},
      {4, 4, {1, 3, 1, 4}, {2, 1, 5, 1}},
      {4, 1, {2, 3, 5, 33}, {1}},
      {4, 3, {5, 2, 1, 7}, {1, 3, 7}},
      {2, 4, {1, 1}, {1, 1, 1, 1}},
      {1, 3, {5}, {1, 1, 1}},
      {2, 4, {3, 5}, {1, 1, 3, 1}},
      {3, 2, {2, 35, 8}, {35, 8}}, /* four elements at a time */
      {3, 3, {3, 1, 12}, {1, 7, 12}},
      {3, 3, {3, 5, 12}, {3, 5, 1}}, /* and one element for all four */
      {4, 4, {2, 1, 3, 1}, {1, 5, 3, 8}},
      {2, 2, {7, 1}, {1, 16}},
  };
  for (size_t i = 0; i < FT_COUNT(PAIRS); i++)
    for (int kind = 0; kind < KINDS; kind++)
      check(&PAIRS[i], (enum kind)kind);
}

/* A tensor with itself, both sides' gradients in one. */
TEST(with_itself) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 3);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *y[] = {filtra_graph_output(g, filtra_subtract(g, x, x)),
                        filtra_graph_output(g, filtra_divide(g, x, x)), filtra_multiply(g, x, x)};
  assert_ok(filtra_graph_backward(g, 3, y, NULL));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, x));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float values[] = {1, -2, 4}, got[3];
  test_run_graph(g, TEST_SET({x, values}), TEST_GET({gradient, got}));
  for (int i = 0; i < 3; i++)
    assert_true(got[i] == 2 * values[i]);
}

/* What is repeated zero times has a gradient of zeros. */
TEST(repeated_never) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2);
  filtra_tensor *none = test_input(g, "none", 0, 2);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *y[] = {filtra_add(g, x, none), filtra_multiply(g, none, x)};
  assert_int_equal(filtra_tensor_elements(y[0]), 0);
  assert_ok(filtra_graph_backward(g, 2, y, NULL));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, x));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float values[] = {1, 2};
  test_run_graph(g, TEST_SET({x, values}, {none, values}), TEST_GET({gradient, values}));
  assert_true(values[0] == 0 && values[1] == 0);
}

TEST(errors) {
  static const pair PAIRS[] = {
      {1, 1, {3}, {4}}, {2, 1, {3, 4}, {3}}, {2, 2, {0, 4}, {3, 4}}, {3, 2, {2, 3, 4}, {2, 4}}};
  for (size_t i = 0; i < FT_COUNT(PAIRS); i++)
    for (int kind = 0; kind < KINDS; kind++) {
      const pair *p = &PAIRS[i];
      filtra_graph *g = test_graph(test_device(), NULL);
      filtra_tensor *a = filtra_graph_input(g, "a", FILTRA_F32, p->a_dims, p->a);
      filtra_tensor *b = filtra_graph_input(g, "b", FILTRA_F32, p->b_dims, p->b);
      test_refuse(&g, apply(g, a, b, (enum kind)kind), "do not broadcast");
    }
}

TEST_MAIN(NULL, test_teardown)
