/* Element-wise ops, copies between layouts, and the scan for values that are not finite. */
#include "support/harness.h"

#include "ops/support.h"
#include "sentinel/contract.h"

#include <float.h>

enum op_kind { ADD, MULTIPLY, AFFINE };

struct settings {
  enum op_kind kind;
  bool same; /* both operands are one tensor */
};

static filtra_tensor *apply(filtra_graph *g, filtra_tensor *a, filtra_tensor *b,
                            const struct settings *s) {
  if (s->kind == AFFINE) return filtra_affine(g, a, -1.5f, 0.25f);
  return s->kind == ADD ? filtra_add(g, a, b) : filtra_multiply(g, a, b);
}

/* The second output uses the inputs again, so that gradients are added to. */
TEST_BUILD(build) {
  const struct settings *s = op->settings;
  filtra_tensor *b = s->same || s->kind == AFFINE ? in[0] : in[1];
  out[0] = apply(g, in[0], b, s);
  out[1] = apply(g, b, out[0], s);
}

static double value(double a, double b, enum op_kind kind) {
  return kind == AFFINE ? -1.5 * a + 0.25 : kind == ADD ? a + b : a * b;
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  const double *b = s->same || s->kind == AFFINE ? in[0] : in[1];
  for (int64_t i = 0; i < op->dims[0]; i++) {
    out[0][i] = value(in[0][i], b[i], s->kind);
    out[1][i] = value(b[i], out[0][i], s->kind);
  }
}

static void check(const char *name, struct settings settings, int64_t rows, int64_t columns) {
  test_op op = {.name = name,
                .inputs = settings.same || settings.kind == AFFINE ? 1 : 2,
                .build = build,
                .reference = reference,
                .settings = &settings,
                .dims = {rows * columns},
                .out_elements = {rows * columns, rows * columns}};
  for (int i = 0; i < op.inputs; i++)
    op.in[i] = (test_tensor){i ? "b" : "a", FILTRA_F32, 2, {rows, columns}, .gradient = true};
  test_check_op(test_device(), &op);
}

TEST(test_values_and_gradients) {
  const int64_t shapes[][2] = {{1, 1}, {3, 7}, {8, 12}, {17, 65}, {129, 257}};
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    int64_t r = shapes[i][0], c = shapes[i][1];
    check("add", (struct settings){ADD, false}, r, c);
    check("add to itself", (struct settings){ADD, true}, r, c);
    check("multiply", (struct settings){MULTIPLY, false}, r, c);
    check("square", (struct settings){MULTIPLY, true}, r, c);
    check("affine", (struct settings){AFFINE, false}, r, c);
  }
}

/* ---- layouts ---- */

enum { B = 2, N = 5, H = 3 };

static filtra_graph *new_graph(void) {
  filtra_graph *g = test_graph(test_device(), NULL);
  return g;
}

/* Between heads stored token by token and head by head, both ways, adding included. */
static void check_layouts(int dim) {
  enum { MOST = B * N * H * 8 };
  const int count = B * N * H * dim;
  owned_graph *g = new_graph();
  filtra_tensor *x = test_input(g, "x", B, N, H * dim);
  filtra_tensor *heads = filtra_split_heads(g, x, H);
  filtra_tensor *dense = ft_tensor_new(g, "dense", FILTRA_F32, 4, (int64_t[]){B, H, N, dim});
  filtra_tensor *back = ft_tensor_token_major(g, "back", FILTRA_F32, (int64_t[]){B, H, N, dim});
  ft_emit_copy(g, heads, dense, false);
  ft_emit_copy(g, heads, back, false); /* the same layout */
  ft_emit_copy(g, dense, back, true);
  filtra_tensor *merged = filtra_merge_heads(g, back);
  filtra_graph_output(g, dense);
  filtra_graph_output(g, merged);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  float in[MOST], split[MOST], twice[MOST];
  test_random(1, -1, 1, in, count);
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({dense, split}, {merged, twice}));
  for (int i = 0; i < count; i++) {
    int d = i % dim, n = i / dim % N, h = i / (dim * N) % H, b = i / (dim * N * H);
    assert_true(split[i] == in[((b * N + n) * H + h) * dim + d]);
    assert_true(twice[i] == 2 * in[i]);
  }
}

TEST(test_copy_between_layouts) {
  check_layouts(7);
  check_layouts(8); /* four words at a time */
}

/* Filling a piece leaves its neighbours alone; integers pass through a copy bit by bit. */
static void check_pieces(int columns) {
  enum { ROWS = 5, MOST = ROWS * 12 };
  const int count = ROWS * columns;
  const int64_t shape[] = {ROWS, columns};
  owned_graph *g = new_graph();
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_I32, 2, shape);
  filtra_tensor *y = ft_tensor_new(g, "y", FILTRA_I32, 2, shape);
  ft_emit_copy(g, x, y, false);
  filtra_graph_output(g, y);
  filtra_tensor *z = ft_tensor_new(g, "z", FILTRA_F32, 2, shape);
  ft_emit_fill(g, z, 1.5f);
  filtra_tensor *parts[3];
  filtra_chunk(g, z, 3, parts);
  ft_emit_fill(g, parts[1], -2.25f);
  filtra_graph_output(g, z);
  filtra_tensor *w = ft_tensor_new(g, "w", FILTRA_I32, 2, shape);
  ft_emit_fill(g, w, -1);
  filtra_graph_output(g, w);
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  int32_t in[MOST], same[MOST], minus[MOST];
  float filled[MOST];
  for (int i = 0; i < count; i++)
    in[i] = (int32_t)(0x7f800001u + 977u * (unsigned)i); /* NaN patterns among them */
  test_run_graph(g, TEST_SET({x, in}), TEST_GET({y, same}, {z, filled}, {w, minus}));
  assert_memory_equal(same, in, (size_t)count * sizeof *in);
  for (int i = 0; i < count; i++) {
    assert_true(filled[i] == (i % columns / (columns / 3) == 1 ? -2.25f : 1.5f));
    assert_int_equal(minus[i], -1);
  }
}

TEST(test_fill_pieces_and_integers) {
  check_pieces(9);
  check_pieces(12); /* pieces of one group of four */
}

/* Invocations take several elements each; the grid keeps to what every device accepts. */
TEST(test_large) {
  enum { COUNT = 1000003 };
  owned_graph *g = new_graph();
  assert_int_equal(ft_flat_groups(g, 0), 1);
  assert_true(ft_flat_groups(g, INT32_MAX) <= 65535);
  filtra_tensor *x = test_input(g, "x", COUNT);
  filtra_tensor *y = filtra_affine(g, x, 2, 1);
  filtra_graph_output(g, y);
  assert_ok(filtra_graph_compile(g));
  owned float *data = test_alloc(COUNT * sizeof *data);
  for (int i = 0; i < COUNT; i++)
    data[i] = (float)(i % 8191);
  test_run_graph(g, TEST_SET({x, data}), TEST_GET({y, data}));
  for (int i = 0; i < COUNT; i++)
    assert_true(data[i] == (float)(2 * (i % 8191) + 1));
}

/* ---- the scan for values that are not finite ---- */

/* Scans the middle third of each row of x [ROWS,COLUMNS] as number `index`. */
enum { SCAN_ROWS = 37, SCAN_COLUMNS = 21, SCAN_WIDTH = SCAN_COLUMNS / 3 };

static void emit_scan(filtra_graph *g, filtra_tensor *x, filtra_tensor *flag, uint32_t index) {
  const uint32_t count = SCAN_ROWS * SCAN_WIDTH;
  ft_record_call(g, &(ft_kernel_call){
                        .label = "scan",
                        .kernel = "sentinel/nonfinite",
                        FT_ARGUMENTS(sentinel_nonfinite, .x = FT_READ(x), .flag = FT_UPDATE(flag),
                                     .first = SCAN_WIDTH, .columns = SCAN_WIDTH,
                                     .row_stride = SCAN_COLUMNS, .count = count, .index = index),
                        .workgroup = FT_FLAT_WORKGROUP,
                        .groups = {ft_flat_groups(g, count)}});
}

static int32_t scan(float value, int row, int column) {
  const int64_t shape[] = {SCAN_ROWS, SCAN_COLUMNS};
  owned_graph *g = new_graph();
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 2, shape);
  filtra_tensor *clean = filtra_graph_input(g, "clean", FILTRA_F32, 2, shape);
  filtra_tensor *flag = ft_tensor_new(g, "flag", FILTRA_I32, 1, (int64_t[]){1});
  ft_emit_fill(g, flag, 99);
  emit_scan(g, clean, flag, 3);
  emit_scan(g, x, flag, 7);
  emit_scan(g, x, flag, 8);
  filtra_graph_output(g, flag);
  assert_ok(filtra_graph_compile(g));
  float data[SCAN_ROWS][SCAN_COLUMNS];
  int32_t found;
  test_random(1, -3e38, 3e38, data[0], SCAN_ROWS * SCAN_COLUMNS);
  assert_ok(filtra_graph_set(g, clean, data));
  data[row][column] = value;
  test_run_graph(g, TEST_SET({x, data}), TEST_GET({flag, &found}));
  return found;
}

TEST(test_scan) {
  assert_int_equal(scan(NAN, 0, SCAN_WIDTH), 7);
  assert_int_equal(scan(-NAN, SCAN_ROWS - 1, 2 * SCAN_WIDTH - 1), 7);
  assert_int_equal(scan(INFINITY, 11, 2 * SCAN_WIDTH - 2), 7);
  assert_int_equal(scan(-INFINITY, 30, SCAN_WIDTH + 1), 7);
  assert_int_equal(scan(FLT_MAX, 3, SCAN_WIDTH), 99);
  assert_int_equal(scan(NAN, 3, SCAN_WIDTH - 1), 99); /* beside the piece that is looked at */
  assert_int_equal(scan(NAN, 3, 2 * SCAN_WIDTH), 99);
}

/* ---- errors ---- */

TEST(test_errors) {
  filtra_graph *g = new_graph();
  filtra_tensor *a = test_input(g, "left", 3, 4);
  filtra_tensor *b = test_input(g, "right", 4, 3);
  assert_null(filtra_add(g, a, b));
  test_refuse(&g, filtra_affine(g, filtra_multiply(g, a, b), 1, 1), "left [3, 4] and right [4, 3]");

  g = new_graph();
  filtra_tensor *i = filtra_graph_input(g, "ids", FILTRA_I32, 1, (int64_t[]){3});
  test_refuse(&g, filtra_affine(g, i, 1, 1), "ids");
}

/* Constants of several shapes, and whole numbers as their sums, beside what has a gradient. */
TEST(test_constants) {
  enum { COUNT = 300 };
  float values[COUNT], ones[2][1][3][5];
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *one = filtra_constant(g, 4, (int64_t[]){2, 1, 3, 5}, -0.375f);
  filtra_tensor *numbers = filtra_constant(g, 1, (int64_t[]){COUNT}, 1);
  numbers = filtra_cumulative_sum(g, numbers, 0, FILTRA_FORWARD);
  filtra_tensor *x = test_input(g, "x", COUNT);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *y = filtra_graph_output(g, filtra_multiply(g, x, numbers));
  filtra_graph_output(g, one);
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  memset(values, 0, sizeof values);
  test_run_graph(g, TEST_SET({x, values}), TEST_GET({one, ones}, {dx, values}));
  for (int i = 0; i < 30; i++)
    assert_true(ones[i / 15][0][i / 5 % 3][i % 5] == -0.375f);
  for (int i = 0; i < COUNT; i++)
    assert_true(values[i] == (float)(i + 1));
  filtra_graph_destroy(&g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  test_refuse(&g, filtra_constant(g, 5, (int64_t[]){1, 1, 1, 1, 1}, 1), "5 dimensions");
}

TEST_MAIN(NULL, test_teardown)
