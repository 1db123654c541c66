/* Sums over parts that one call computes have the bits of calls of their own. */
#include "graph/plan.h"
#include "support/harness.h"

enum { ROWS = 600, WIDTH = 20, WEIGHTS = 8, MOST = ROWS * WIDTH };

typedef struct outcome {
  float numbers[WEIGHTS + 1][MOST]; /* the output, then gradients */
  size_t calls, sums;               /* of the plan; those of them that compute several */
} outcome;

/* Two blocks of a product and a norm; the second norm has the gain of the first, whose gradient is
 * therefore written by one sum and added to by another. */
static filtra_tensor *build(filtra_graph *g, filtra_tensor *x, filtra_tensor **w) {
  filtra_tensor *y = filtra_layer_norm(g, filtra_linear(g, x, w[0], w[1], NULL), w[2], w[3], 0);
  y = filtra_layer_norm(g, filtra_linear(g, y, w[4], w[5], NULL), w[2], w[6], 0);
  return filtra_add_positions(g, filtra_reshape(g, y, 3, (int64_t[]){30, 20, WIDTH}), w[7]);
}

static void run(const char *caps, outcome *o) {
  static const int64_t shape[WEIGHTS][2] = {{WIDTH, WIDTH}, {WIDTH}, {WIDTH}, {WIDTH},
                                            {WIDTH, WIDTH}, {WIDTH}, {WIDTH}, {25, WIDTH}};
  static const char *const name[WEIGHTS] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};
  static float data[WEIGHTS + 1][MOST];
  filtra_device *dev = test_open_device(caps);
  filtra_graph *g;
  filtra_tensor *w[WEIGHTS], *x;
  memset(o, 0, sizeof *o);
  assert_ok(filtra_graph_create(dev, NULL, &g));
  for (int i = 0; i <= WEIGHTS; i++)
    test_random(7 + i, -1, 1, data[i], MOST);
  for (int i = 0; i < WEIGHTS; i++) {
    w[i] = filtra_graph_input(g, name[i], FILTRA_F32, shape[i][1] ? 2 : 1, shape[i]);
    filtra_graph_require_gradient(g, w[i]);
  }
  x = filtra_graph_input(g, "x", FILTRA_F32, 2, (int64_t[]){ROWS, WIDTH});
  filtra_tensor *y = filtra_graph_output(g, build(g, x, w)), *gradient[WEIGHTS];
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  for (int i = 0; i < WEIGHTS; i++)
    gradient[i] = filtra_graph_output(g, filtra_graph_gradient(g, w[i]));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  for (int i = 0; i < WEIGHTS; i++)
    assert_ok(filtra_graph_set(g, w[i], data[i]));
  assert_ok(filtra_graph_set(g, x, data[WEIGHTS]));
  assert_ok(filtra_graph_execute(g));
  assert_ok(filtra_graph_get(g, y, o->numbers[WEIGHTS]));
  for (int i = 0; i < WEIGHTS; i++)
    assert_ok(filtra_graph_get(g, gradient[i], o->numbers[i]));
  o->calls = g->plan->call_count;
  for (size_t i = 0; i < o->calls; i++)
    o->sums += !strcmp(g->plan->tasks[i]->label, "sums");
  filtra_graph_destroy(&g);
  test_close_device(&dev);
}

TEST(test_bits) {
  static outcome joined, alone;
  run("fusion=on", &joined);
  run("fusion=off", &alone);
  assert_memory_equal(joined.numbers, alone.numbers, sizeof joined.numbers);
  assert_true(alone.sums == 0);
  if (joined.sums < 2 || joined.calls + 3 > alone.calls)
    fail_msg("%zu calls, %zu of several sums; %zu without", joined.calls, joined.sums, alone.calls);
}

TEST_MAIN(NULL, test_teardown)
