/* Tensors of 16-bit elements: sizes, views, ports, casts and their gradients, copies of parameters,
 * the planner and checker on half words, and the search for values that are not finite. */
#include "support/harness.h"

#include "copy/contract.h"
#include "graph/parameters.h"

#include <filtra/ops.h>

enum { ODD = 257, TYPES = 2 };
static const filtra_dtype HALVES[TYPES] = {FILTRA_F16, FILTRA_BF16};

static float rounded(filtra_dtype dtype, float value) {
  uint16_t bits;
  ft_element_set(dtype, &bits, 0, value);
  return (float)ft_element_get(dtype, &bits, 0);
}

/* Values of every size, ties and specials among them. */
static void fill_wide(float *x, int count) {
  test_random(3, -1, 1, x, (size_t)count);
  for (int i = 0; i < count; i++)
    x[i] = ldexpf(x[i], i % 40 - 28);
  x[0] = 65520.0f;
  x[1] = 1.0f + 0x1p-11f;
  x[2] = -0.0f;
  x[3] = 0x1p-25f;
  x[4] = 1.0f + 0x1p-8f;
}

/* F32 -> 16 bits -> F32, forwards on the device, is what the host rounds to, bit for bit. */
TEST(test_cast) {
  float x[ODD], y[ODD];
  uint16_t h[ODD];
  fill_wide(x, ODD);
  for (int k = 0; k < TYPES; k++) {
    owned_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *in = test_input(g, "x", ODD);
    filtra_tensor *half = filtra_graph_output(g, filtra_cast(g, in, HALVES[k]));
    filtra_tensor *back = filtra_graph_output(g, filtra_cast(g, half, FILTRA_F32));
    assert_ok(filtra_graph_compile(g));
    assert_ok(ft_graph_check(g));
    assert_int_equal(filtra_tensor_dtype(half), HALVES[k]);
    test_run_graph(g, TEST_SET({in, x}), TEST_GET({half, h}, {back, y}));
    for (int i = 0; i < ODD; i++) {
      float want = rounded(HALVES[k], x[i]);
      assert_memory_equal(&y[i], &want, sizeof want);
      assert_true((float)ft_element_get(HALVES[k], h, (size_t)i) == want);
    }
  }
}

/* Inputs and outputs of 16 bits cross as they are; half a word at the end stays whole. */
TEST(test_ports) {
  uint16_t in[ODD], out[ODD + 1];
  for (int i = 0; i < ODD; i++)
    in[i] = (uint16_t)(i * 97);
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F16, 1, (int64_t[]){ODD});
  filtra_tensor *copy = ft_tensor_like(g, x, "copy");
  ft_emit_copy(g, x, copy, false);
  filtra_graph_output(g, copy);
  assert_int_equal(copy->storage->bytes, 2 * ODD + 2);
  test_compile_and_run(g, TEST_SET({x, in}), NULL);
  out[ODD] = 0xabcd;
  assert_ok(filtra_graph_get(g, copy, out));
  assert_memory_equal(in, out, sizeof in);
  assert_int_equal(out[ODD], 0xabcd);
}

/* y = cast(x) + cast(x): both contributions reach the 16-bit gradient, then x's. */
TEST(test_gradients) {
  float dy[ODD], dx[ODD];
  test_random(5, -2, 2, dy, ODD);
  for (int k = 0; k < TYPES; k++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = test_input(g, "x", ODD);
    filtra_tensor *up = test_input(g, "dy", ODD);
    filtra_graph_require_gradient(g, x);
    filtra_tensor *half = filtra_cast(g, x, HALVES[k]);
    filtra_tensor *y =
        filtra_add(g, filtra_cast(g, half, FILTRA_F32), filtra_cast(g, half, FILTRA_F32));
    assert_ok(filtra_graph_backward(g, 1, &y, &up));
    filtra_tensor *grad = filtra_graph_output(g, filtra_graph_gradient(g, x));
    test_evaluate(&g, TEST_SET({x, dy}, {up, dy}), TEST_GET({grad, dx}));
    for (int i = 0; i < ODD; i++) {
      float one = rounded(HALVES[k], dy[i]);
      assert_true(dx[i] == rounded(HALVES[k], one + dy[i]));
    }
  }
}

/* A copy follows its master; its gradient and the master's are one. */
TEST(test_parameter_copy) {
  enum { N = 5 };
  const filtra_parameter_options with_copy = {.init = FILTRA_INIT_UNIFORM,
                                              .value = 1,
                                              .copy = FILTRA_BF16},
                                 buffer = {
                                     .init = FILTRA_INIT_CONSTANT, .value = 2, .buffer = true};
  float w[N], y[N], dw[N];
  owned_parameters *params = test_parameters(test_device());
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *master = filtra_graph_parameter(g, params, "w", 1, (int64_t[]){N}, &with_copy);
  filtra_tensor *constant = filtra_graph_parameter(g, params, "c", 1, (int64_t[]){N}, &buffer);
  filtra_tensor *copy = filtra_graph_parameter_copy(g, params, "w");
  filtra_tensor *wide = filtra_cast(g, copy, FILTRA_F32);
  filtra_tensor *sum = filtra_add(g, filtra_multiply(g, wide, constant), master);
  filtra_graph_output(g, sum);
  assert_ok(filtra_parameters_commit(params, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_backward(g, 1, &sum, NULL));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  for (int turn = 0; turn < 2; turn++) {
    assert_ok(filtra_parameters_get(params, "w", w, N));
    assert_ok(filtra_graph_execute(g));
    assert_ok(filtra_graph_get(g, sum, y));
    assert_ok(filtra_parameters_get_gradient(params, "w", dw, N));
    for (int i = 0; i < N; i++) {
      assert_true(y[i] == rounded(FILTRA_BF16, w[i]) * 2 + w[i]);
      assert_true(dw[i] == 3.0f); /* 2 by way of the copy, 1 of the master */
      w[i] = (float)i / 3;
    }
    assert_ok(filtra_parameters_set(params, "w", w, N));
  }
  assert_fails(filtra_parameters_get_gradient(params, "c", dw, N), FILTRA_ERROR_ARGUMENT,
               "a buffer has no gradient");
}

/* Pieces that begin and end within words: copied, added, and filled where nothing reaches them. */
TEST(test_pieces) {
  enum { ROWS = 3, WIDTH = 5, PARTS = 3, COUNT = ROWS * WIDTH * PARTS };
  static const int from[PARTS] = {2, 0, 2};
  for (int k = 0; ft_caps_of(test_device())->storage16 && k < TYPES; k++) {
    float in[COUNT], up[COUNT], y[COUNT], slope[COUNT];
    owned_graph *g = test_graph(test_device(), NULL);
    const int64_t shape[] = {ROWS, PARTS * WIDTH};
    filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 2, shape), *part[PARTS];
    filtra_tensor *dy = filtra_graph_input(g, "dy", FILTRA_F32, 2, shape);
    filtra_graph_require_gradient(g, x);
    filtra_chunk(g, filtra_cast(g, x, HALVES[k]), PARTS, part);
    filtra_tensor *joined = filtra_concat(
        g, 1, PARTS, (filtra_tensor *[]){part[from[0]], part[from[1]], part[from[2]]});
    filtra_tensor *out = filtra_graph_output(g, filtra_cast(g, joined, FILTRA_F32));
    assert_ok(filtra_graph_backward(g, 1, &out, &dy));
    filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, x));
    assert_ok(filtra_graph_compile(g));
    assert_ok(ft_graph_check(g));
    for (int i = 0; i < COUNT; i++) {
      in[i] = (float)(i + 1);
      up[i] = (float)(i - COUNT / 2);
    }
    test_run_graph(g, TEST_SET({x, in}, {dy, up}), TEST_GET({out, y}, {dx, slope}));
    for (int i = 0; i < COUNT; i++) {
      int row = i / WIDTH / PARTS * WIDTH * PARTS, piece = i / WIDTH % PARTS, column = i % WIDTH;
      float want = 0;
      for (int j = 0; j < PARTS; j++)
        if (from[j] == piece) want += up[row + j * WIDTH + column];
      assert_true(y[i] == in[row + from[piece] * WIDTH + column]);
      assert_true(slope[i] == want);
    }
  }
}

/* The kind of use that is refused: types that files only have, pieces of half words. */
TEST(test_refused) {
  static const struct {
    filtra_dtype dtype;
    const char *message;
  } cases[] = {{FILTRA_F64, "cannot be of type 4 (F64)"},
               {(filtra_dtype)7, "(I8)"},
               {(filtra_dtype)77, "type 77 (unknown)"},
               {FILTRA_F16, "must be dense F32"}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    owned_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = filtra_graph_input(g, "x", cases[i].dtype, 1, (int64_t[]){ODD});
    if (x) filtra_add(g, x, x);
    assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, cases[i].message);
  }
  owned_device *device = test_open_device("storage16=0");
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F16, 2, (int64_t[]){2, ODD});
  filtra_slice(g, x, (int64_t[]){0, 1}, (int64_t[]){2, 3});
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_UNSUPPORTED, "needs 16-bit storage");
}

/* A zero among the dimensions hides no overflow of the others. */
TEST(test_shapes) {
  const int64_t big = INT64_C(1) << 40;
  owned_graph *g = test_graph(test_device(), NULL);
  test_input(g, "x", 0, big, big);
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, "dimension 1");
  filtra_graph_destroy(&g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  filtra_tensor *x = test_input(g, "x", 4);
  filtra_reshape(g, x, 3, (int64_t[]){big, big, 4});
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, "2^31-1");
}

/* Rows that a kernel leaves alone hold whatever was there before, NaN too: not a find. */
TEST(test_search) {
  for (int poisoned = 0; poisoned < 2; poisoned++) {
    filtra_arena *arena;
    filtra_graph *g, *before;
    assert_ok(filtra_arena_create(test_device(), &arena));
    const filtra_graph_options options = {.arena = arena};
    assert_ok(filtra_graph_create(test_device(), &options, &before));
    filtra_tensor *nan = ft_tensor_new(before, "nan", FILTRA_F32, 1, (int64_t[]){4096});
    ft_emit_fill(before, nan, NAN);
    filtra_graph_output(before, nan);
    assert_ok(filtra_graph_compile(before));

    assert_ok(filtra_graph_create(test_device(), &options, &g));
    filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F16, 1, (int64_t[]){2});
    filtra_tensor *part = ft_tensor_new(g, "part", FILTRA_F32, 1, (int64_t[]){1024});
    ft_record_call(
        g, &(ft_kernel_call){.label = "partial",
                             .kernel = "copy/copy",
                             /* one word, of 1024 that are declared */
                             FT_ARGUMENTS(copy, .x = FT_READ(x), .y = FT_WRITE(part), .count = 1),
                             FT_CONSTANTS(copy, .mode = COPY_MOVE),
                             .workgroup = 64});
    filtra_tensor *half = filtra_cast(g, part, FILTRA_BF16);
    filtra_graph_output(g, half);
    assert_ok(filtra_graph_compile(g));
    const uint16_t in[2] = {0, poisoned ? 0x7fc0 : 0};
    uint64_t ticket;
    const char *name;
    assert_ok(filtra_graph_execute(before));
    assert_ok(filtra_graph_set(g, x, in));
    assert_ok(filtra_graph_submit(g, &ticket));
    assert_ok(ft_graph_find_nonfinite(g, ticket, &name));
    if (poisoned)
      assert_string_equal(name, "part");
    else
      assert_null(name);
    filtra_graph_destroy(&g);
    filtra_graph_destroy(&before);
    filtra_arena_destroy(&arena);
  }
}

TEST_MAIN(NULL, test_teardown)
