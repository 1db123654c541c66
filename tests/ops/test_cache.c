/* Rows that stay on the device between runs, and what is refused. */
#include "support/harness.h"

#include "ops/decoding.h"

enum { B = 3, H = 2, M = 7, D = 5, C = H * D, ROWS = B * M * C };

typedef struct fixture {
  ft_buffer buffer;
  filtra_graph *graph;
  filtra_tensor *x, *position, *seen, *mask;
  int64_t tokens;
} fixture;

/* A graph that writes pieces of a packed [B,N,2C] as [B,H,N,D] into a cache [B,M,C] and reads all
 * of it afterwards. */
static void open_fixture(fixture *f, int64_t tokens, bool placed) {
  filtra_device *dev = test_device();
  const uint64_t bytes = ROWS * sizeof(float);
  *f = (fixture){.tokens = tokens};
  assert_ok(ft_buffer_create(dev, bytes, FT_MEMORY_DEVICE, &f->buffer));
  assert_ok(ft_fill(dev, &f->buffer, 0, bytes, 0));
  assert_ok(filtra_graph_create(dev, NULL, &f->graph));
  filtra_graph *g = f->graph;
  f->x = test_input(g, "x", B, tokens, 2 * C);
  if (placed) {
    f->position = filtra_graph_input(g, "position", FILTRA_I32, 1, (int64_t[]){B});
    f->mask = filtra_graph_output(g, ft_cache_mask(g, f->position, M));
  }
  filtra_tensor *piece[2];
  filtra_chunk(g, f->x, 2, piece);
  filtra_tensor *cache =
      ft_tensor_external(g, "cache", FILTRA_F32, 3, (int64_t[]){B, M, C}, &f->buffer, 0);
  cache = ft_cache_write(g, filtra_split_heads(g, cache, H), filtra_split_heads(g, piece[1], H),
                         f->position);
  f->seen = filtra_graph_output(
      g, filtra_slice(g, cache, (int64_t[]){0, 0, 0, 0}, (int64_t[]){B, H, M, D}));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
}

static void close_fixture(fixture *f) {
  filtra_graph_destroy(&f->graph);
  ft_buffer_destroy(test_device(), &f->buffer);
}

static void write_row(float *expected, int b, int64_t row, const float *x) {
  if (row >= 0 && row < M) memcpy(expected + (b * M + row) * C, x, C * sizeof *x);
}

/* One run, and the same on the host in `expected` [B,M,C]. */
static void run(fixture *f, uint64_t seed, const int32_t position[B], float *expected) {
  float x[B * M * 2 * C], seen[ROWS], mask[B * M];
  test_random(seed, -1, 1, x, sizeof x / sizeof *x);
  assert_ok(filtra_graph_set(f->graph, f->x, x));
  if (position) assert_ok(filtra_graph_set(f->graph, f->position, position));
  test_run_graph(f->graph, NULL, TEST_GET({f->seen, seen}));
  for (int b = 0; b < B; b++)
    for (int64_t n = 0; n < f->tokens; n++) {
      const float *row = x + (b * f->tokens + n) * 2 * C + C;
      write_row(expected, b, position ? position[b] : n, row);
      if (position) write_row(expected, b, M - 1, row);
    }
  for (int i = 0; i < ROWS; i++) {
    int b = i / (M * C), m = i / C % M, h = i / D % H, d = i % D;
    assert_true(seen[((b * H + h) * M + m) * D + d] == expected[i]);
  }
  if (!position) return;
  assert_ok(filtra_graph_get(f->graph, f->mask, mask));
  for (int i = 0; i < B * M; i++)
    assert_true(mask[i] == (i % M < position[i / M] || i % M == M - 1));
}

TEST(a_token_stays_and_is_last) {
  fixture f;
  float expected[ROWS] = {0};
  open_fixture(&f, 1, true);
  run(&f, 1, (int32_t[]){0, 0, 0}, expected);
  run(&f, 2, (int32_t[]){2, 3, 5}, expected);
  run(&f, 3, (int32_t[]){1, M - 1, 4}, expected);
  close_fixture(&f);
}

TEST(rows_outside_are_dropped) {
  fixture f;
  float expected[ROWS] = {0};
  open_fixture(&f, 1, true);
  run(&f, 1, (int32_t[]){M - 2, M, INT32_MAX}, expected);
  run(&f, 2, (int32_t[]){-1, -2, INT32_MIN}, expected);
  close_fixture(&f);
}

TEST(first_tokens_take_the_first_rows) {
  for (int64_t tokens = 1; tokens <= M; tokens += 3) {
    fixture f;
    float expected[ROWS] = {0};
    open_fixture(&f, tokens, false);
    run(&f, 1, NULL, expected);
    run(&f, 2, NULL, expected);
    close_fixture(&f);
  }
}

/* ---- errors ---- */

typedef enum mistake { TRAINING, BACKWARD, PLANNED, SHAPE, TOKENS, POSITION } mistake;

static void refuse(mistake which, const char *part) {
  filtra_device *dev = test_device();
  ft_buffer buffer;
  assert_ok(ft_buffer_create(dev, ROWS * sizeof(float), FT_MEMORY_DEVICE, &buffer));
  filtra_graph *g = test_graph(dev, &(filtra_graph_options){.training = which == TRAINING});
  const int64_t rows[] = {B, H, M, D};
  filtra_tensor *x = test_input(g, "x", B, H, which == TOKENS ? 2 : 1, which == SHAPE ? D + 1 : D);
  filtra_graph_require_gradient(g, x);
  filtra_tensor *position =
      filtra_graph_input(g, "position", FILTRA_I32, 1, (int64_t[]){which == POSITION ? 1 : B});
  filtra_tensor *cache = which == PLANNED
                             ? ft_tensor_new(g, "cache", FILTRA_F32, 4, rows)
                             : ft_tensor_external(g, "cache", FILTRA_F32, 4, rows, &buffer, 0);
  filtra_tensor *y = ft_cache_write(g, cache, x, position);
  if (which == BACKWARD) {
    y = filtra_slice(g, y, (int64_t[]){0, 0, 0, 0}, rows);
    assert_fails(filtra_graph_backward(g, 1, &y, NULL), FILTRA_ERROR_UNSUPPORTED, part);
  } else {
    assert_null(y);
    assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, part);
  }
  filtra_graph_destroy(&g);
  ft_buffer_destroy(dev, &buffer);
}

TEST(mistakes_are_told) {
  refuse(TRAINING, "a training graph takes whole sequences");
  refuse(BACKWARD, "no gradient leads through tokens of earlier runs");
  refuse(PLANNED, "must be external");
  refuse(SHAPE, "[B,H,M,D] of x [3, 2, 1, 6]");
  refuse(TOKENS, "of x [3, 2, 2, 5], which must have one token");
  refuse(POSITION, "position [1] must be [B] of x [3, 2, 1, 5]");
}

TEST_MAIN(NULL, test_teardown)
