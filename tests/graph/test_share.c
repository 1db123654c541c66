/* Calls that repeat earlier ones are dropped, and only those: results have the bits that they have
 * with all calls. */
#include "graph/plan.h"
#include "support/harness.h"

enum { ROWS = 5, WIDTH = 7, ELEMENTS = ROWS * WIDTH };

typedef filtra_tensor *build_fn(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x);

typedef struct example {
  const char *name;
  build_fn *build; /* returns what is differentiated by x */
  size_t repeated; /* calls that are dropped */
} example;

typedef struct outcome {
  float y[ELEMENTS], dx[ELEMENTS];
  size_t calls; /* of the tape */
} outcome;

static void run(const char *caps, build_fn *build, outcome *o) {
  const int64_t shape[] = {ROWS, WIDTH};
  float data[2][ELEMENTS];
  filtra_device *dev = test_open_device(caps);
  filtra_graph *g;
  assert_ok(filtra_graph_create(dev, NULL, &g));
  filtra_tensor *in[2];
  for (int i = 0; i < 2; i++) {
    in[i] = filtra_graph_input(g, i ? "x" : "mask", FILTRA_F32, 2, shape);
    test_random(11 + i, 0.5, 1.5, data[i], ELEMENTS);
  }
  filtra_graph_require_gradient(g, in[1]);
  filtra_tensor *y = filtra_graph_output(g, build(g, in[0], in[1]));
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  filtra_tensor *dx = filtra_graph_output(g, filtra_graph_gradient(g, in[1]));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  test_run_graph(g, TEST_SET({in[0], data[0]}, {in[1], data[1]}), TEST_GET({y, o->y}, {dx, o->dx}));
  o->calls = g->tape.call_count;
  filtra_graph_destroy(&g);
  test_close_device(&dev);
}

/* Two calls, from which the other functions make graphs. */
static filtra_tensor *ranks(filtra_graph *g, filtra_tensor *mask, float factor) {
  return filtra_affine(g, filtra_cumulative_sum(g, mask, 1, FILTRA_FORWARD), factor, 0.5f);
}

static filtra_tensor *layers(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  for (int i = 0; i < 3; i++)
    x = filtra_multiply(g, filtra_activate(g, x, FILTRA_ACTIVATION_GELU), ranks(g, mask, 2));
  return x;
}

/* The first activation of each segment is recomputed. */
static filtra_tensor *segments(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  for (int i = 0; i < 3; i++) {
    ft_segment_begin(g, FT_RECOMPUTE_BLOCKS);
    x = filtra_activate(g, x, FILTRA_ACTIVATION_GELU);
    x = filtra_activate(g, filtra_multiply(g, x, ranks(g, mask, 2)), FILTRA_ACTIVATION_GELU);
    ft_segment_end(g);
  }
  return x;
}

static filtra_tensor *numbers(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  return filtra_multiply(g, filtra_multiply(g, x, ranks(g, mask, 2)), ranks(g, mask, 3));
}

static filtra_tensor *views(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  const int64_t shape[] = {ROWS, 3};
  filtra_tensor *left = filtra_slice(g, mask, (int64_t[]){0, 0}, shape);
  filtra_tensor *right = filtra_slice(g, mask, (int64_t[]){0, 3}, shape);
  filtra_tensor *y = filtra_slice(g, x, (int64_t[]){0, 0}, shape);
  y = filtra_multiply(g, y, filtra_affine(g, left, 2, 1));
  y = filtra_multiply(g, y, filtra_affine(g, right, 2, 1));
  filtra_tensor *rest = filtra_slice(g, x, (int64_t[]){0, 6}, (int64_t[]){ROWS, 1});
  return filtra_concat(g, 1, 3, (filtra_tensor *[]){y, y, rest});
}

static filtra_tensor *gradients(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  filtra_tensor *a = filtra_affine(g, x, 2, 1), *b = filtra_affine(g, x, 2, 1);
  return filtra_multiply(g, filtra_multiply(g, a, mask), b);
}

static filtra_tensor *output(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  filtra_tensor *a = ranks(g, mask, 2), *b = filtra_graph_output(g, ranks(g, mask, 2));
  return filtra_multiply(g, filtra_multiply(g, x, a), b);
}

/* What the second call reads is not what the first has read. */
static filtra_tensor *changed(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  filtra_tensor *a = filtra_affine(g, mask, 2, 1);
  x = filtra_multiply(g, x, ranks(g, a, 2));
  ft_emit_copy(g, mask, a, true);
  return filtra_multiply(g, x, ranks(g, a, 2));
}

static filtra_tensor *changed_input(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  x = filtra_multiply(g, x, ranks(g, mask, 2));
  ft_emit_fill(g, mask, 2);
  return filtra_multiply(g, x, ranks(g, mask, 2));
}

/* The second result is changed later. */
static filtra_tensor *changed_result(filtra_graph *g, filtra_tensor *mask, filtra_tensor *x) {
  filtra_tensor *a = filtra_affine(g, mask, 2, 1), *b = filtra_affine(g, mask, 2, 1);
  ft_emit_copy(g, mask, b, true);
  return filtra_multiply(g, filtra_multiply(g, x, a), b);
}

TEST(test_calls) {
  static const example examples[] = {
      {"layers", layers, 4},
      {"recomputed segments", segments, 4 + 6}, /* what segments share is not recomputed */
      {"other numbers", numbers, 1},
      {"other views", views, 0},
      {"a gradient", gradients, 0},
      {"an output", output, 1},
      {"a changed operand", changed, 0},
      {"a changed input", changed_input, 0},
      {"a changed result", changed_result, 0},
  };
  for (size_t i = 0; i < FT_COUNT(examples); i++) {
    outcome shared, alone;
    run("fusion=on", examples[i].build, &shared);
    run("fusion=off", examples[i].build, &alone);
    if (memcmp(shared.y, alone.y, sizeof shared.y) || memcmp(shared.dx, alone.dx, sizeof shared.dx))
      fail_msg("%s: not the bits that all calls give", examples[i].name);
    if (alone.calls - shared.calls != examples[i].repeated)
      fail_msg("%s: %zu calls of %zu, %zu repeat others", examples[i].name, shared.calls,
               alone.calls, examples[i].repeated);
  }
}

TEST_MAIN(NULL, test_teardown)
