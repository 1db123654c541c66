#include "support/harness.h"

struct settings {
  int64_t start[FILTRA_MAX_DIMS], size[FILTRA_MAX_DIMS];
};

static int64_t elements(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++)
    count *= shape[i];
  return count;
}

/* The same box twice, and the whole tensor: their gradients add up in one. */
TEST_BUILD(build) {
  const struct settings *s = op->settings;
  out[0] = filtra_slice(g, in[0], s->start, s->size);
  out[1] = filtra_slice(g, in[0], s->start, s->size);
  out[2] = filtra_affine(g, in[0], 2, 0);
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  const test_tensor *x = &op->in[0];
  for (int64_t i = 0; i < op->out_elements[0]; i++) {
    int64_t rest = i, from = 0, stride = 1;
    for (int axis = x->ndim - 1; axis >= 0; axis--) {
      from += (s->start[axis] + rest % s->size[axis]) * stride;
      rest /= s->size[axis];
      stride *= x->shape[axis];
    }
    out[0][i] = out[1][i] = in[0][from];
  }
  for (int64_t i = 0; i < op->out_elements[2]; i++)
    out[2][i] = 2 * in[0][i];
}

static const struct {
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  struct settings box;
} cases[] = {
    {1, {1}, {{0}, {1}}},
    {1, {37}, {{5}, {30}}},
    {2, {7, 9}, {{0, 8}, {7, 1}}},
    {3, {2, 33, 7}, {{0, 1, 3}, {2, 32, 1}}},
    {3, {3, 7, 65}, {{0, 6, 0}, {3, 1, 64}}},
    {4, {2, 3, 5, 7}, {{1, 0, 2, 3}, {1, 3, 3, 4}}},
};

TEST(test_boxes) {
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    test_op op = {.name = "slice",
                  .in = {{.name = "x", .ndim = cases[i].ndim, .gradient = true}},
                  .build = build,
                  .reference = reference,
                  .settings = &cases[i].box,
                  .out_elements = {elements(cases[i].ndim, cases[i].box.size), 0,
                                   elements(cases[i].ndim, cases[i].shape)}};
    for (int k = 0; k < cases[i].ndim; k++)
      op.in[0].shape[k] = cases[i].shape[k];
    test_check_op(test_device(), &op);
  }
}

/* Nothing of a sequence of one token: empty, with a gradient of zeros. */
TEST(test_empty) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 3, 1);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *nothing = filtra_slice(g, x, (int64_t[]){0, 1}, (int64_t[]){3, 0});
  assert_int_equal(filtra_tensor_elements(nothing), 0);
  assert_ok(filtra_graph_backward(g, 1, &nothing, NULL));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, x));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float values[3] = {1, 2, 3};
  test_run_graph(g, TEST_SET({x, values}), TEST_GET({gradient, values}));
  assert_true(values[0] == 0 && values[1] == 0 && values[2] == 0);
}

/* Integers, and of a view: heads. */
TEST(test_views_and_integers) {
  enum { N = 5, H = 2, D = 3 };
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 1, N, H * D);
  filtra_tensor *heads = filtra_split_heads(g, x, H);
  filtra_tensor *y = filtra_graph_output(
      g, filtra_slice(g, heads, (int64_t[]){0, 1, 2, 0}, (int64_t[]){1, 1, 2, D}));
  filtra_tensor *ids = filtra_graph_input(g, "ids", FILTRA_I32, 1, (int64_t[]){N});
  filtra_tensor *last =
      filtra_graph_output(g, filtra_slice(g, ids, (int64_t[]){N - 1}, (int64_t[]){1}));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float in[N][H][D], out[2][D];
  test_random(1, -1, 1, in[0][0], N * H * D);
  int32_t numbers[N] = {1, 2, 3, 4, -77}, got;
  test_run_graph(g, TEST_SET({x, in}, {ids, numbers}), TEST_GET({y, out}, {last, &got}));
  for (int n = 0; n < 2; n++)
    for (int d = 0; d < D; d++)
      assert_true(out[n][d] == in[2 + n][1][d]);
  assert_int_equal(got, -77);
}

TEST(test_errors) {
  const int64_t boxes[][2] = {{-1, 2}, {3, 2}, {5, 0}, {0, -1}, {INT64_MAX, 1}, {1, INT64_MAX}};
  for (size_t i = 0; i < FT_COUNT(boxes); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = test_input(g, "x", 3, 4);
    const int64_t start[] = {0, boxes[i][0]}, size[] = {3, boxes[i][1]};
    test_refuse(&g, filtra_slice(g, x, start, size), "outside axis 1 of x [3, 4]");
  }
}

/* ---- concatenation ---- */

/* Both inputs, the first of them twice: its gradients are added. */
TEST_BUILD(build_concat) {
  out[0] = filtra_concat(g, (int)op->dims[0], 3, (filtra_tensor *[]){in[0], in[1], in[0]});
}

TEST_REFERENCE(ref_concat) {
  int axis = (int)op->dims[0];
  int64_t inner = elements(op->in[0].ndim - axis - 1, op->in[0].shape + axis + 1), at = 0;
  int64_t outer = elements(axis, op->in[0].shape);
  for (int64_t o = 0; o < outer; o++)
    for (int k = 0; k < 3; k++) {
      int64_t run = op->in[k % 2].shape[axis] * inner;
      for (int64_t i = 0; i < run; i++)
        out[0][at++] = in[k % 2][o * run + i];
    }
}

TEST(test_concat) {
  static const struct {
    int ndim, axis;
    int64_t shape[2][FILTRA_MAX_DIMS];
  } parts[] = {
      {1, 0, {{1}, {1}}},
      {1, 0, {{37}, {5}}},
      {2, 1, {{7, 9}, {7, 64}}},
      {3, 1, {{3, 1, 65}, {3, 33, 65}}},
      {3, 2, {{2, 3, 5}, {2, 3, 1}}},
      {4, 0, {{2, 3, 5, 7}, {1, 3, 5, 7}}},
      {4, 3, {{2, 3, 5, 2}, {2, 3, 5, 9}}},
  };
  for (size_t i = 0; i < FT_COUNT(parts); i++) {
    int ndim = parts[i].ndim;
    test_op op = {
        .name = "concat",
        .in = {{.name = "a", .ndim = ndim, .gradient = true},
               {.name = "b", .ndim = ndim, .gradient = true}},
        .build = build_concat,
        .reference = ref_concat,
        .out_elements = {2 * elements(ndim, parts[i].shape[0]) + elements(ndim, parts[i].shape[1])},
        .dims = {parts[i].axis}};
    for (int k = 0; k < 2; k++)
      memcpy(op.in[k].shape, parts[i].shape[k], sizeof op.in[k].shape);
    test_check_op(test_device(), &op);
  }
}

static void refuse_concat(int axis, int count, filtra_dtype dtype, int64_t columns,
                          const char *part) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x[9];
  for (int i = 0; i < 9; i++)
    x[i] = filtra_graph_input(g, "x", i % 2 ? dtype : FILTRA_F32, 2,
                              (int64_t[]){3, i % 2 ? columns : 4});
  test_refuse(&g, filtra_concat(g, axis, count, x), part);
}

TEST(test_concat_errors) {
  refuse_concat(0, 0, FILTRA_F32, 4, "0 tensors, accepted are 1 to 8");
  refuse_concat(0, 9, FILTRA_F32, 4, "9 tensors");
  refuse_concat(0, 2, FILTRA_F32, 5, "x F32 [3, 5] does not continue x F32 [3, 4] along axis 0");
  refuse_concat(1, 2, FILTRA_I32, 4, "x I32 [3, 4] does not continue x F32 [3, 4]");
  refuse_concat(2, 2, FILTRA_F32, 4, "along axis 2");
  refuse_concat(-1, 2, FILTRA_F32, 4, "along axis -1");
}

TEST_MAIN(NULL, test_teardown)
