#include "reference/layer_norm.h"
#include "support/harness.h"

#include "ops/support.h"

struct settings {
  float eps;
  double reference_eps;
};

TEST_BUILD(build) {
  const struct settings *s = op->settings;
  out[0] = filtra_layer_norm(g, in[0], in[1], in[2], s->eps);
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  ref_layer_norm(in[0], in[1], in[2], op->dims[0], op->dims[1], s->reference_eps, out[0]);
}

TEST_BUILD(build_narrow) {
  out[0] = ft_layer_norm(g, in[0], in[1], in[2], 0, *(const filtra_dtype *)op->settings);
}

TEST_REFERENCE(reference_narrow) {
  ref_layer_norm(in[0], in[1], in[2], op->dims[0], op->dims[1], 1e-5, out[0]);
}

static test_op make(int64_t rows, int64_t columns) {
  static const struct settings defaults = {0, 1e-5};
  return (test_op){.name = "layer_norm",
                   .in = {{"x", FILTRA_F32, 2, {rows, columns}, -2, 3, .gradient = true},
                          {"gain", FILTRA_F32, 1, {columns}, .gradient = true},
                          {"bias", FILTRA_F32, 1, {columns}, .gradient = true}},
                   .build = build,
                   .reference = reference,
                   .out_elements = {rows * columns},
                   .settings = &defaults,
                   .dims = {rows, columns}};
}

static const int64_t shapes[][2] = {{1, 5},    {7, 8},    {3, 9},    {33, 64}, {130, 16}, {2, 257},
                                    {3, 1031}, {700, 12}, {65, 128}, {9, 160}, {2, 4096}};

static void check_shapes(filtra_device *device) {
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    test_op op = make(shapes[i][0], shapes[i][1]);
    op.seed = i + 1;
    test_check_op(device, &op);
  }
}

TEST_WITH(test_shapes, NULL, check_shapes)
TEST_WITH(test_without_subgroups, "subgroup=0", check_shapes)

/* On CPU drivers that can load pairs, each invocation takes a row of its own. */
TEST_WITH(test_without_pairs, "int64=0", check_shapes)

/* Results of 16 bits, of F32 numbers, where the device has 16-bit storage. */
static void check_narrow(filtra_device *device) {
  static const filtra_dtype dtypes[] = {FILTRA_F16, FILTRA_BF16};
  static const double rounding[] = {0x1p-11, 0x1p-8};
  for (size_t i = 0; i < FT_COUNT(shapes) && ft_caps_of(device)->storage16; i++) {
    test_op op = make(shapes[i][0], shapes[i][1]);
    op.settings = &dtypes[i % 2];
    op.build = build_narrow;
    op.reference = reference_narrow;
    op.forward_tolerance = rounding[i % 2];
    test_check_op(device, &op);
  }
}

TEST(test_narrow) {
  test_with_device(NULL, check_narrow);
  test_with_device("subgroup=0", check_narrow);
}

/* One column: y is the bias, and x has no influence. */
TEST(test_one_column) {
  test_op op = make(7, 1);
  op.in[0].gradient = false;
  test_check_op(test_device(), &op);
}

TEST(test_eps) {
  test_op op = make(9, 33);
  op.settings = &(struct settings){0.5f, 0.5};
  test_check_op(test_device(), &op);
}

/* Each gradient on its own: kernels for the others must not be needed. */
TEST(test_single_gradients) {
  for (int kept = 0; kept < 6; kept++) {
    test_op op = make(70, 21 + kept / 3);
    for (int i = 0; i < 3; i++)
      op.in[i].gradient = i == kept % 3;
    test_check_op(test_device(), &op);
  }
}

TEST_BUILD(build_twice) {
  filtra_tensor *once = filtra_layer_norm(g, in[0], in[1], in[2], 0);
  filtra_tensor *twice = filtra_layer_norm(g, once, in[1], in[2], 0);
  out[0] = filtra_add(g, filtra_layer_norm(g, in[0], in[1], in[2], 0), twice);
}

TEST_REFERENCE(reference_twice) {
  int64_t rows = op->dims[0], columns = op->dims[1], count = rows * columns;
  owned double *once = test_alloc(((size_t)count) * sizeof *once);
  ref_layer_norm(in[0], in[1], in[2], rows, columns, 1e-5, once);
  ref_layer_norm(once, in[1], in[2], rows, columns, 1e-5, out[0]);
  for (int64_t i = 0; i < count; i++)
    out[0][i] += once[i];
}

/* All three arguments used more than once: gradients accumulate. */
TEST(test_accumulation) {
  test_op op = make(11, 30);
  op.build = build_twice;
  op.reference = reference_twice;
  test_check_op(test_device(), &op);
}

/* The variance is taken around the mean, so a large common offset costs little. */
TEST(test_offset) {
  test_op op = make(5, 64);
  op.in[0].low = 1000;
  op.in[0].high = 1002;
  op.forward_tolerance = 3e-4;
  op.gradient_tolerance = 1e-2;
  test_check_op(test_device(), &op);
}

static filtra_status compile(int64_t columns, int64_t gains, float eps) {
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = test_input(g, "x", 3, columns);
  filtra_tensor *gain = filtra_graph_input(g, "gain", FILTRA_F32, 1, &gains);
  filtra_tensor *bias = filtra_graph_input(g, "bias", FILTRA_F32, 1, &columns);
  filtra_graph_output(g, filtra_layer_norm(g, x, gain, bias, eps));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  assert_fails(compile(8, 7, 0), FILTRA_ERROR_ARGUMENT, "gain");
  assert_fails(compile(8, 8, -1), FILTRA_ERROR_ARGUMENT, "eps");
  assert_fails(compile(8, 8, NAN), FILTRA_ERROR_ARGUMENT, "eps");
  assert_fails(compile(0, 0, 0), FILTRA_ERROR_ARGUMENT, "empty");
  assert_ok(compile(8, 8, 0));
}

TEST_MAIN(NULL, test_teardown)
