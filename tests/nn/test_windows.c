/* Windows of images, their bias and merged patches against float64 code written from Swin's paper
 * one token at a time: images with sides that are and are not multiples of the window, shifted
 * windows, one row of tokens. */
#include "graph/parameters.h"
#include "nn/windows.h"
#include "support/harness.h"

#include <filtra/filtra.h>

enum { BATCH = 3, WIDTH = 2, HEADS = 2 };

typedef struct window_case {
  int64_t rows, columns, side;
  bool moved, relative;
  filtra_parameters *params;
} window_case;

static const window_case CASES[] = {
    {4, 6, 2},
    {4, 6, 2, .moved = true, .relative = true},
    {6, 10, 4, .moved = true, .relative = true},
    {3, 5, 4, .moved = true, .relative = true},
    {1, 7, 3, .moved = true},
    {5, 5, 1, .moved = true, .relative = true},
    {5, 3, 5, .moved = true, .relative = true},
    {5, 3, 7, .relative = true},
};

static ft_windows windows_of(const window_case *s) {
  ft_windows w = ft_windows_of(s->rows, s->columns, s->side, s->moved);
  w.relative = s->relative;
  return w;
}

/* Tokens of all windows. */
static int64_t covered(const window_case *s) {
  const ft_windows w = windows_of(s);
  return ft_windows_count(&w) * w.height * w.width;
}

/* The token at place `at` of window `number`; -1: beyond the image. */
static int64_t token_at(const ft_windows *w, int64_t number, int64_t at) {
  const int64_t across = (w->columns + w->width - 1) / w->width;
  const int64_t row = number / across * w->height + at / w->width,
                column = number % across * w->width + at % w->width;
  if (row >= w->rows || column >= w->columns) return -1;
  return (row + w->down) % w->rows * w->columns + (column + w->right) % w->columns;
}

/* ---- cutting and joining ---- */

TEST_BUILD(build_cut) {
  const ft_windows w = windows_of(op->settings);
  out[0] = ft_windows_cut(g, &w, in[0]);
}

TEST_REFERENCE(cut) {
  const window_case *s = op->settings;
  const ft_windows w = windows_of(s);
  const int64_t n = w.height * w.width, all = covered(s);
  for (int64_t i = 0; i < BATCH * all * WIDTH; i++) {
    const int64_t b = i / (all * WIDTH), at = i / WIDTH % all;
    const int64_t token = token_at(&w, at / n, at % n);
    out[0][i] = token < 0 ? 0 : in[0][(b * s->rows * s->columns + token) * WIDTH + i % WIDTH];
  }
}

TEST_BUILD(build_join) {
  const ft_windows w = windows_of(op->settings);
  out[0] = ft_windows_join(g, &w, in[0]);
}

TEST_REFERENCE(join) {
  const window_case *s = op->settings;
  const ft_windows w = windows_of(s);
  const int64_t n = w.height * w.width, all = covered(s);
  for (int64_t i = 0; i < BATCH * all * WIDTH; i++) {
    const int64_t b = i / (all * WIDTH), at = i / WIDTH % all;
    const int64_t token = token_at(&w, at / n, at % n);
    if (token >= 0) out[0][(b * s->rows * s->columns + token) * WIDTH + i % WIDTH] = in[0][i];
  }
}

TEST(windows_are_cut_and_joined) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    const window_case *s = &CASES[i];
    const ft_windows w = windows_of(s);
    const int64_t tokens = s->rows * s->columns, count = ft_windows_count(&w),
                  n = w.height * w.width;
    test_op op = {.name = "windows",
                  .in = {{"x", FILTRA_F32, 3, {BATCH, tokens, WIDTH}, .gradient = true}},
                  .build = build_cut,
                  .reference = cut,
                  .out_elements = {BATCH * covered(s) * WIDTH},
                  .settings = s};
    test_check_op(test_device(), &op);
    op.in[0] = (test_tensor){"x", FILTRA_F32, 3, {BATCH * count, n, WIDTH}, .gradient = true};
    op.build = build_join;
    op.reference = join;
    op.out_elements[0] = BATCH * tokens * WIDTH;
    test_check_op(test_device(), &op);
  }
}

/* ---- the bias ---- */

static filtra_tensor *build_windows_bias(filtra_graph *g, const window_case *s) {
  const ft_windows w = windows_of(s);
  const ft_scope scope = {.graph = g, .params = s->params};
  return ft_windows_bias(&scope, &w, BATCH, HEADS, 0.5f);
}

/* x + bias, for a gradient. */
TEST_BUILD(build_bias) {
  out[0] = filtra_add(g, in[0], build_windows_bias(g, op->settings));
}

static void get(const window_case *s, float *to) {
  assert_ok(ft_parameter_download(s->params, ft_parameters_find(s->params, "relative.weight"), to));
}

/* Which end of the image a place of the moved image is from, in a window that holds both. */
static bool went_on(int64_t place, int64_t moved, int64_t size) {
  return moved && place >= size - moved;
}

/* Whether two places of a window are both before the image's end, or both after it, along an axis
 * of `size` places, those of all windows. */
static bool together(int64_t i, int64_t j, int64_t moved, int64_t size) {
  return went_on(i, moved, size) == went_on(j, moved, size);
}

TEST_REFERENCE(bias) {
  const window_case *s = op->settings;
  const ft_windows w = windows_of(s);
  const int64_t n = w.height * w.width, count = ft_windows_count(&w);
  const int64_t across = (s->columns + w.width - 1) / w.width,
                down = (s->rows + w.height - 1) / w.height;
  owned float *table =
      calloc((size_t)((2 * w.height - 1) * (2 * w.width - 1) * HEADS), sizeof *table);
  if (s->relative) get(s, table);
  for (int64_t i = 0; i < BATCH * count * HEADS * n * n; i++) {
    const int64_t window = i / (HEADS * n * n) % count, h = i / (n * n) % HEADS, q = i / n % n,
                  k = i % n;
    const int64_t row = q / w.width - k / w.width + w.height - 1,
                  column = q % w.width - k % w.width + w.width - 1;
    const int64_t top = window / across * w.height, left = window % across * w.width;
    const bool near = together(top + q / w.width, top + k / w.width, w.down, down * w.height) &&
                      together(left + q % w.width, left + k % w.width, w.right, across * w.width);
    out[0][i] =
        in[0][i] + (double)table[(row * (2 * w.width - 1) + column) * HEADS + h] - (near ? 0 : 100);
  }
}

static void declare(window_case *s) {
  assert_ok(filtra_parameters_create(test_device(), &s->params));
  owned_graph *g = test_graph(test_device(), NULL);
  build_windows_bias(g, s);
  assert_ok(ft_graph_status(g));
  if (s->relative) assert_ok(filtra_parameters_commit(s->params, 3, FILTRA_TRAINABLE));
}

TEST(windows_have_a_bias) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    window_case s = CASES[i];
    const ft_windows w = windows_of(&s);
    const int64_t n = w.height * w.width, batch = BATCH * ft_windows_count(&w);
    if (!s.relative && !w.down && !w.right) continue;
    declare(&s);
    const test_op op = {.name = "bias of windows",
                        .in = {{"x", FILTRA_F32, 4, {batch, HEADS, n, n}, .gradient = true}},
                        .build = build_bias,
                        .reference = bias,
                        .out_elements = {batch * HEADS * n * n},
                        .settings = &s};
    test_check_op(test_device(), &op);
    filtra_parameters_destroy(&s.params);
  }
}

/* ---- merging ---- */

static filtra_tensor *merged(filtra_graph *g, const window_case *s, filtra_tensor *x) {
  const ft_scope scope = {.graph = g, .params = s->params};
  return ft_merge_patches(&scope, x, s->rows, s->columns);
}

TEST_BUILD(build_merge) {
  out[0] = merged(g, op->settings, in[0]);
}

/* The norm's gain is 1 and its bias 0. */
static void merge_one(const float *weight, const double *four, double *to) {
  double mean = 0, square = 0;
  for (int c = 0; c < 4 * WIDTH; c++)
    mean += four[c] / (4 * WIDTH);
  for (int c = 0; c < 4 * WIDTH; c++)
    square += (four[c] - mean) * (four[c] - mean) / (4 * WIDTH);
  for (int r = 0; r < 2 * WIDTH; r++) {
    to[r] = 0;
    for (int c = 0; c < 4 * WIDTH; c++)
      to[r] += (double)weight[r * 4 * WIDTH + c] * (four[c] - mean) / sqrt(square + 1e-5);
  }
}

TEST_REFERENCE(merge) {
  const window_case *s = op->settings;
  const int64_t rows = (s->rows + 1) / 2, columns = (s->columns + 1) / 2;
  float weight[2 * WIDTH * 4 * WIDTH];
  assert_ok(ft_parameter_download(s->params, ft_parameters_find(s->params, "weight"), weight));
  for (int64_t at = 0; at < BATCH * rows * columns; at++) {
    const int64_t b = at / (rows * columns), top = at / columns % rows * 2, left = at % columns * 2;
    double four[4 * WIDTH] = {0};
    for (int64_t k = 0; k < 4; k++) {
      const int64_t row = top + k % 2, column = left + k / 2;
      for (int64_t c = 0; c < WIDTH && row < s->rows && column < s->columns; c++)
        four[k * WIDTH + c] = in[0][((b * s->rows + row) * s->columns + column) * WIDTH + c];
    }
    merge_one(weight, four, out[0] + at * 2 * WIDTH);
  }
}

TEST(patches_are_merged) {
  static const int64_t SIZES[][2] = {{4, 6}, {3, 4}, {2, 5}, {5, 3}, {1, 2}};
  for (size_t i = 0; i < FT_COUNT(SIZES); i++) {
    window_case s = {.rows = SIZES[i][0], .columns = SIZES[i][1]};
    assert_ok(filtra_parameters_create(test_device(), &s.params));
    owned_graph *g = test_graph(test_device(), NULL);
    merged(g, &s, test_input(g, "x", 1, s.rows * s.columns, WIDTH));
    assert_ok(ft_graph_status(g));
    assert_ok(filtra_parameters_commit(s.params, 3, FILTRA_TRAINABLE));
    const int64_t after = (s.rows + 1) / 2 * ((s.columns + 1) / 2);
    const test_op op = {
        .name = "merged patches",
        .in = {{"x", FILTRA_F32, 3, {BATCH, s.rows * s.columns, WIDTH}, .gradient = true}},
        .build = build_merge,
        .reference = merge,
        .out_elements = {BATCH * after * 2 * WIDTH},
        .settings = &s};
    test_check_op(test_device(), &op);
    filtra_graph_destroy(&g);
    filtra_parameters_destroy(&s.params);
  }
}

TEST_MAIN(NULL, test_teardown)
