/* Sum, mean, max, softmax and prefix sums along every axis. */
#include "support/harness.h"

#include "reference/axes.h"

enum kind { SUM, MEAN, MAX, SOFTMAX, CUMULATIVE, REVERSED, KINDS };
static const char *const NAMES[KINDS] = {"sum",     "mean",           "max",
                                         "softmax", "cumulative_sum", "reversed cumulative_sum"};

struct settings {
  enum kind kind;
  int axis;
  bool keep;
};

static filtra_tensor *apply(filtra_graph *g, filtra_tensor *x, const struct settings *s) {
  switch (s->kind) {
  case SUM:
    return filtra_sum(g, x, s->axis, s->keep);
  case MEAN:
    return filtra_mean(g, x, s->axis, s->keep);
  case MAX:
    return filtra_max(g, x, s->axis, s->keep);
  case SOFTMAX:
    return filtra_softmax(g, x, s->axis);
  default:
    return filtra_cumulative_sum(g, x, s->axis, s->kind == REVERSED);
  }
}

/* Twice, so that the second gradient is added to the first. */
TEST_BUILD(build) {
  out[0] = apply(g, in[0], op->settings);
  out[1] = apply(g, in[0], op->settings);
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  const test_tensor *x = &op->in[0];
  reference_axis axis = reference_axis_of(x->ndim, x->shape, s->axis);
  if (s->kind == SUM || s->kind == MEAN) reference_sum(in[0], out[0], axis);
  if (s->kind == MAX) reference_max(in[0], out[0], axis);
  if (s->kind == SOFTMAX) reference_softmax(in[0], out[0], axis);
  if (s->kind >= CUMULATIVE) reference_cumulative_sum(in[0], out[0], axis, s->kind == REVERSED);
  for (int64_t i = 0; i < op->out_elements[0]; i++) {
    if (s->kind == MEAN) out[0][i] /= (double)axis.n;
    out[1][i] = out[0][i];
  }
}

/* No two elements are so close that a difference would change which is the largest. */
static float *far_apart(int64_t count) {
  float *values = test_alloc((size_t)count * sizeof *values);
  for (int64_t i = 0; i < count; i++)
    values[i] = 0.01f * (float)(i * 7919 % count);
  return values;
}

static void check(filtra_device *device, int ndim, const int64_t *shape, struct settings settings) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++)
    count *= shape[i];
  int64_t results = settings.kind < SOFTMAX ? count / shape[settings.axis] : count;
  test_op op = {.name = NAMES[settings.kind],
                .in = {{.name = "x", .ndim = ndim, .gradient = true}},
                .build = build,
                .reference = reference,
                .settings = &settings,
                .out_elements = {results, results}};
  memcpy(op.in[0].shape, shape, (size_t)ndim * sizeof *shape);
  owned float *values = settings.kind == MAX ? far_apart(count) : NULL;
  op.in[0].fixed = values;
  if (settings.kind == SOFTMAX) {
    op.in[0].low = -9;
    op.in[0].high = 9;
  }
  test_check_op(device, &op);
}

/* One, some and all elements in a step; axes of 1; two and three steps. */
static const struct {
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
} CASES[] = {
    {1, {1}},      {1, {7}},        {1, {5003}},     {2, {3, 5}},        {2, {65, 3}},
    {2, {1, 129}}, {3, {2, 67, 5}}, {3, {3, 1, 4}},  {4, {2, 3, 4, 71}}, {4, {3, 2, 7, 1}},
    {2, {9, 64}},  {2, {40, 12}},   {3, {5, 3, 12}}, {3, {2, 68, 4}}, /* by fours */
};

static void check_all(filtra_device *device) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    for (int axis = 0; axis < CASES[i].ndim; axis++)
      for (int kind = 0; kind < KINDS; kind++)
        check(device, CASES[i].ndim, CASES[i].shape,
              (struct settings){(enum kind)kind, axis, (axis + kind) % 2});
}

TEST_WITH(values_and_gradients, NULL, check_all)

/* More terms than an invocation takes; the last two in two calls. */
static void check_long(filtra_device *device) {
  static const int64_t sizes[][3] = {{5, 300, 1},    {2, 1027, 8}, {2, 270, 3},  {2, 200, 37},
                                     {1030, 257, 1}, {1, 4099, 1}, {2, 4160, 4}, {2, 4160, 17}};
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    for (int kind = 0; kind < 2; kind++)
      check(device, 3, sizes[i], (struct settings){kind ? MAX : SUM, 1, false});
}

TEST_WITH(long_axes, NULL, check_long)
TEST_WITH(long_axes_on_gpus, "class=discrete", check_long)

/* ---- values that central differences do not reach ---- */

typedef struct line {
  filtra_graph *graph;
  filtra_tensor *x, *y, *gradient;
} line;

static line open_line(struct settings settings, int64_t count) {
  line l = {0};
  assert_ok(filtra_graph_create(test_device(), NULL, &l.graph));
  l.x = filtra_graph_input(l.graph, "x", FILTRA_F32, 1, &count);
  filtra_graph_require_gradient(l.graph, l.x);
  l.y = filtra_graph_output(l.graph, apply(l.graph, l.x, &settings));
  assert_ok(filtra_graph_backward(l.graph, 1, &l.y, NULL));
  l.gradient = filtra_graph_output(l.graph, filtra_graph_gradient(l.graph, l.x));
  assert_ok(filtra_graph_compile(l.graph));
  assert_ok(ft_graph_check(l.graph));
  return l;
}

static void run_line(line *l, const float *x, float *y, float *gradient) {
  test_run_graph(l->graph, TEST_SET({l->x, x}), TEST_GET({l->y, y}, {l->gradient, gradient}));
}

/* Of equal ones the first gets the gradient, wherever they lie; a NaN beats what is a number. */
TEST(the_first_largest) {
  enum { N = 300 };
  float x[N], y, gradient[N];
  line l = open_line((struct settings){MAX, 0, false}, N);
  for (int first = 0; first < N; first += 13) {
    for (int i = 0; i < N; i++)
      x[i] = i == first || (i > first && i % 7 == 0) ? 2.5f : -1.0f;
    run_line(&l, x, &y, gradient);
    assert_true(y == 2.5f);
    for (int i = 0; i < N; i++)
      assert_true(gradient[i] == (i == first));
  }
  x[131] = x[250] = NAN;
  run_line(&l, x, &y, gradient);
  assert_true(isnan(y) && gradient[131] == 1 && gradient[250] == 0);
  for (int i = 0; i < N; i++)
    x[i] = -INFINITY;
  run_line(&l, x, &y, gradient);
  assert_true(y == -INFINITY && gradient[0] == 1);
  filtra_graph_destroy(&l.graph);
}

static void check_masked(int n) {
  enum { MOST = 130 };
  float x[MOST], y[MOST], gradient[MOST];
  line l = open_line((struct settings){SOFTMAX, 0, false}, n);
  for (int i = 0; i < n; i++)
    x[i] = -INFINITY;
  run_line(&l, x, y, gradient);
  for (int i = 0; i < n; i++)
    assert_true(y[i] == 0 && gradient[i] == 0);
  x[70] = x[n - 1] = 300;
  run_line(&l, x, y, gradient);
  for (int i = 0; i < n; i++)
    assert_true(y[i] == (i == 70 || i == n - 1 ? 0.5f : 0.0f));
  x[3] = NAN;
  run_line(&l, x, y, gradient);
  assert_true(isnan(y[3]) && isnan(y[70]));
  filtra_graph_destroy(&l.graph);
}

TEST(masked_softmax) {
  check_masked(128);
  check_masked(130);
}

TEST(sum_of_nothing) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 0, 3);
  filtra_tensor *zeros = filtra_graph_output(g, filtra_sum(g, x, 0, FILTRA_DROP_AXIS));
  filtra_tensor *none = filtra_graph_output(g, filtra_softmax(g, x, 1));
  assert_int_equal(filtra_tensor_elements(none), 0);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float values[3] = {1, 2, 3};
  test_run_graph(g, TEST_SET({x, values}), TEST_GET({zeros, values}));
  assert_true(values[0] == 0 && values[1] == 0 && values[2] == 0);
}

/* ---- errors ---- */

static void refuse(int64_t n, struct settings settings, bool view, const char *part) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 2, n, 6);
  if (view) x = filtra_split_heads(g, x, 3);
  test_refuse(&g, apply(g, x, &settings), part);
}

TEST(errors) {
  for (int kind = 0; kind < KINDS; kind++) {
    enum kind k = (enum kind)kind;
    refuse(5, (struct settings){k, -1, false}, false,
           "axis -1 of x [2, 5, 6], accepted are 0 to 2");
    refuse(5, (struct settings){k, 3, false}, false, "axis 3");
    refuse(5, (struct settings){k, 1, false}, true, "must be dense F32");
    if (k != SUM) refuse(0, (struct settings){k, 1, false}, false, "is empty");
  }
}

TEST_MAIN(NULL, test_teardown)
