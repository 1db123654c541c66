/* Permutations, and slices taken by index. */
#include "support/harness.h"

#include "reference/axes.h"

static int64_t elements(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++)
    count *= shape[i];
  return count;
}

/* ---- permutation ---- */

/* Twice, so that the second gradient is added to the first. */
TEST_BUILD(build_permute) {
  out[0] = filtra_permute(g, in[0], op->settings);
  out[1] = filtra_permute(g, in[0], op->settings);
}

TEST_REFERENCE(reference_permute) {
  const int *order = op->settings;
  const test_tensor *x = &op->in[0];
  for (int64_t i = 0; i < op->out_elements[0]; i++) {
    int64_t index[FILTRA_MAX_DIMS], rest = i, from = 0;
    for (int k = x->ndim; k-- > 0; rest /= x->shape[order[k]])
      index[order[k]] = rest % x->shape[order[k]];
    for (int k = 0; k < x->ndim; k++)
      from = from * x->shape[k] + index[k];
    out[0][i] = out[1][i] = in[0][from];
  }
}

static const struct {
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  int order[FILTRA_MAX_DIMS];
} ORDERS[] = {
    {1, {5}, {0}},
    {2, {1, 7}, {1, 0}},
    {2, {33, 65}, {1, 0}},
    {3, {2, 3, 5}, {2, 0, 1}},
    {3, {3, 7, 4}, {1, 0, 2}},
    {4, {2, 3, 5, 7}, {0, 2, 1, 3}},
    {4, {2, 3, 5, 7}, {3, 1, 0, 2}},
    {4, {3, 1, 4, 2}, {0, 1, 2, 3}},
};

TEST(permutations) {
  for (size_t i = 0; i < FT_COUNT(ORDERS); i++) {
    int64_t count = elements(ORDERS[i].ndim, ORDERS[i].shape);
    test_op op = {.name = "permute",
                  .in = {{.name = "x", .ndim = ORDERS[i].ndim, .gradient = true}},
                  .build = build_permute,
                  .reference = reference_permute,
                  .settings = ORDERS[i].order,
                  .out_elements = {count, count}};
    memcpy(op.in[0].shape, ORDERS[i].shape, sizeof op.in[0].shape);
    test_check_op(test_device(), &op);
  }
}

/* Of heads, which are a view; of integers; shapes. */
TEST(views_and_integers) {
  enum { N = 5, H = 2, D = 3 };
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 1, N, H * D);
  filtra_tensor *y = filtra_transpose(g, filtra_split_heads(g, x, H), 2, 3); /* [1,H,D,N] */
  filtra_tensor *ids = filtra_graph_input(g, "ids", FILTRA_I32, 2, (int64_t[]){2, 3});
  filtra_tensor *turned = filtra_transpose(g, ids, 1, 0);
  filtra_tensor *none = test_input(g, "none", 0, 3);
  int64_t shape[FILTRA_MAX_DIMS];
  assert_int_equal(filtra_tensor_shape(filtra_transpose(g, none, 0, 1), shape), 2);
  assert_true(shape[0] == 3 && shape[1] == 0);
  filtra_graph_output(g, y);
  filtra_graph_output(g, turned);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float in[N][H][D], out[H][D][N];
  int32_t numbers[2][3] = {{1, 2, 3}, {-4, 5, 2139095041}}, got[3][2];
  test_random(1, -1, 1, in[0][0], N * H * D);
  test_run_graph(g, TEST_SET({x, in}, {ids, numbers}, {none, in}),
                 TEST_GET({y, out}, {turned, got}));
  for (int n = 0; n < N; n++)
    for (int h = 0; h < H; h++)
      for (int d = 0; d < D; d++)
        assert_true(out[h][d][n] == in[n][h][d]);
  for (int i = 0; i < 6; i++)
    assert_int_equal(got[i % 3][i / 3], numbers[i / 3][i % 3]);
}

/* ---- slices by index ---- */

TEST_BUILD(build_gather) {
  out[0] = filtra_gather(g, in[0], (int)op->dims[0], in[1]);
  out[1] = filtra_gather(g, in[0], (int)op->dims[0], in[1]);
}

TEST_REFERENCE(reference) {
  const test_tensor *x = &op->in[0];
  reference_axis axis = reference_axis_of(x->ndim, x->shape, (int)op->dims[0]);
  for (int i = 0; i < 2; i++)
    reference_gather(in[0], in[1], out[i], axis, op->in[1].shape[0]);
}

static void check_gather(int ndim, const int64_t *shape, int axis, int64_t count) {
  int64_t results = elements(ndim, shape) / shape[axis] * count;
  test_op op = {.name = "gather",
                .in = {{.name = "x", .ndim = ndim, .gradient = true},
                       {"indices", FILTRA_I32, 1, {count}, -1, (double)shape[axis]}},
                .build = build_gather,
                .reference = reference,
                .dims = {axis},
                .out_elements = {results, results}};
  memcpy(op.in[0].shape, shape, (size_t)ndim * sizeof *shape);
  test_check_op(test_device(), &op);
}

TEST(slices) {
  static const struct {
    int ndim;
    int64_t shape[FILTRA_MAX_DIMS], count;
  } CASES[] = {{1, {1}, 1},          {1, {7}, 20},      {2, {5, 3}, 3},
               {2, {3, 65}, 130},    {3, {2, 9, 5}, 7}, {4, {2, 3, 5, 4}, 6},
               {4, {1, 2, 1, 3}, 5}, {2, {3, 2}, 1100}, {2, {3, 5}, 0}};
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    for (int axis = 0; axis < CASES[i].ndim; axis++)
      check_gather(CASES[i].ndim, CASES[i].shape, axis, CASES[i].count);
}

/* ---- errors ---- */

static filtra_tensor *make(filtra_graph *g, int which) {
  filtra_tensor *x = test_input(g, "x", 3, 4);
  filtra_tensor *none = test_input(g, "none", 0, 4);
  filtra_tensor *ids = filtra_graph_input(g, "ids", FILTRA_I32, 1, (int64_t[]){5});
  switch (which) {
  case 0:
    return filtra_permute(g, x, (int[]){0, 0});
  case 1:
    return filtra_permute(g, x, (int[]){1, 2});
  case 2:
    return filtra_transpose(g, x, 0, 2);
  case 3:
    return filtra_gather(g, x, 2, ids);
  case 4:
    return filtra_gather(g, x, 0, x);
  case 5:
    return filtra_gather(g, none, 1, ids);
  default:
    return filtra_gather(g, ids, 0, ids);
  }
}

TEST(errors) {
  static const char *const PARTS[] = {"each axis from 0 to 1 once",
                                      "each axis from 0 to 1 once",
                                      "axes 0 and 2 of x [3, 4], accepted are 0 to 1",
                                      "axis 2 of x [3, 4], accepted are 0 to 1",
                                      "indices (x [3, 4]) must be dense I32",
                                      "x (none [0, 4]) is empty",
                                      "x (ids [5]) must be dense F32"};
  for (int i = 0; i < (int)FT_COUNT(PARTS); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    test_refuse(&g, make(g, i), PARTS[i]);
  }
}

TEST_MAIN(NULL, test_teardown)
