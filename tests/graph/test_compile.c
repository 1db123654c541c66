/* Compiling makes a plan and a program or leaves the graph unchanged: every allocation and every
 * Vulkan call can fail, and compiling can be repeated. */
#include "support/harness.h"

#include "base/memory.h"
#include "gpu/internal.h"
#include "graph/arena.h"
#include "graph/parameters.h"
#include "graph/program.h"

#include <filtra/ops.h>

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS };

/** y = softmax(x w) x, with gradients of w; built once, before its parameters are committed. */
typedef struct network {
  filtra_parameters *params;
  filtra_arena *arena;
  filtra_graph *graph;
  filtra_tensor *x, *y;
} network;

static void build(network *n, filtra_device *dev) {
  *n = (network){0};
  assert_ok(filtra_parameters_create(dev, &n->params));
  assert_ok(filtra_arena_create(dev, &n->arena));
  assert_ok(filtra_graph_create(dev, &(filtra_graph_options){.arena = n->arena}, &n->graph));
  n->x = test_input(n->graph, "x", ROWS, COLUMNS);
  filtra_tensor *w =
      filtra_graph_parameter(n->graph, n->params, "w", 2, (int64_t[]){COLUMNS, COLUMNS},
                             &(filtra_parameter_options){FILTRA_INIT_NORMAL, 1.0f, true});
  filtra_tensor *a = filtra_softmax(n->graph, filtra_linear(n->graph, n->x, w, NULL, NULL), 1);
  n->y = filtra_graph_output(n->graph, filtra_multiply(n->graph, a, n->x));
  assert_ok(filtra_graph_backward(n->graph, 1, &n->y, NULL));
}

static void destroy(network *n) {
  filtra_graph_destroy(&n->graph);
  filtra_arena_destroy(&n->arena);
  filtra_parameters_destroy(&n->params);
}

/** Output and gradient of one run. */
typedef struct results {
  float y[COUNT], gradient[COLUMNS * COLUMNS];
} results;

static void run(const network *n, results *r) {
  float x[COUNT];
  test_random(5, -1, 1, x, COUNT);
  assert_ok(ft_graph_check(n->graph));
  test_run_graph(n->graph, TEST_SET({n->x, x}), TEST_GET({n->y, r->y}));
  assert_ok(filtra_parameters_get_gradient(n->params, "w", r->gradient, COLUMNS * COLUMNS));
}

/* What a failing call does to the graph: nothing. */
static void compile_again(network *n, const results *expected, uint64_t before) {
  results r;
  assert_null(n->graph->plan);
  assert_null(n->graph->program);
  assert_int_equal(filtra_graph_activation_bytes(n->graph), 0);
  assert_int_equal(n->arena->count, 0);
  assert_int_equal(n->params->device->memory_used, before);
  assert_ok(filtra_graph_compile(n->graph));
  run(n, &r);
  assert_memory_equal(&r, expected, sizeof r);
}

/* The n-th allocation, or the n-th Vulkan call, of compiling fails, for every n. Each time on a new
 * device, which has no pipelines yet. Returns how many failed. */
static int fail_each(const char *caps, bool vulkan, const results *expected) {
  int failures = 0;
  for (long n = 1;; n++) {
    filtra_device *dev = test_open_device(caps);
    network net;
    build(&net, dev);
    assert_ok(filtra_parameters_commit(net.params, 7, FILTRA_TRAINABLE));
    const uint64_t before = dev->memory_used;
    if (vulkan)
      ft_vk_fail_after(n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    else
      ft_memory_fail_after(n);
    filtra_status status = filtra_graph_compile(net.graph);
    ft_vk_fail_after(0, VK_SUCCESS);
    ft_memory_fail_after(0);
    if (status) compile_again(&net, expected, before);
    destroy(&net);
    test_close_device(&dev);
    if (!status) return failures;
    failures++;
  }
}

static void expect(results *r) {
  network n;
  build(&n, test_device());
  assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_compile(n.graph));
  run(&n, r);
  destroy(&n);
}

TEST(every_failure_leaves_the_graph_as_it_was) {
  results expected;
  expect(&expected);
  assert_true(fail_each("", false, &expected) > 20);
  /* Of an H200's driver at most ten calls could fail. */
  assert_true(fail_each("", true, &expected) > (test_device()->caps.for_cpu ? 20 : 1));
}

/* Compiling runs out of device memory at one block or slot after the other, as less of it is left;
 * it works as soon as enough is. */
TEST(memory_that_comes_free) {
  enum { LIMIT = 16 << 20, STEP = 64 << 10 };
  owned_device *dev = test_open_device("memory=16777216");
  results expected;
  int failures = 0;
  expect(&expected);
  for (uint64_t left = 0;; left += STEP) {
    network n;
    ft_buffer ballast;
    build(&n, dev);
    assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_TRAINABLE));
    const uint64_t before = dev->memory_used, slack = n.params->values.slack;
    assert_ok(ft_buffer_create(dev, LIMIT - before - slack - left, FT_MEMORY_DEVICE, &ballast));
    filtra_status status = filtra_graph_compile(n.graph);
    ft_buffer_destroy(dev, &ballast);
    if (status) {
      assert_int_equal(status, FILTRA_ERROR_DEVICE_MEMORY);
      compile_again(&n, &expected, before);
    }
    destroy(&n);
    if (!status) break;
    failures++;
  }
  assert_true(failures > 5); /* a block, and two buffers for each of three slots */
}

/* Measuring takes nothing, needs no commit, and says what compiling takes. */
TEST(measured_before_the_commit) {
  network n;
  build(&n, test_device());
  const uint64_t before = test_device()->memory_used;
  uint64_t activations[2], transfers[2];
  for (int i = 0; i < 2; i++) {
    assert_ok(ft_graph_measure(n.graph, &activations[i], &transfers[i]));
    assert_int_equal(activations[i], activations[0]);
    assert_int_equal(transfers[i], transfers[0]);
    assert_int_equal(filtra_graph_activation_bytes(n.graph), 0);
    assert_int_equal(test_device()->memory_used, before);
  }
  assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_TRAINABLE));
  const uint64_t committed = test_device()->memory_used;
  assert_ok(filtra_graph_compile(n.graph));
  assert_int_equal(ft_buffer_extent(filtra_graph_activation_bytes(n.graph)), activations[0]);
  /* GPUs' drivers round up what a buffer takes; there is one of activations, and two a slot. */
  const uint64_t rounding = test_device()->caps.for_cpu ? 0 : 7 * 64 * 1024;
  assert_between(test_device()->memory_used - committed - activations[0] - transfers[0], 0,
                 rounding);
  destroy(&n);
}

/* What a graph recorded before the commit must find there. */
TEST(parameters_that_do_not_fit) {
  network n;
  build(&n, test_device());
  assert_fails(filtra_graph_compile(n.graph), FILTRA_ERROR_ARGUMENT, "commit");
  assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_FIXED));
  assert_fails(filtra_graph_compile(n.graph), FILTRA_ERROR_ARGUMENT, "without gradients");
  destroy(&n);

  build(&n, test_device());
  filtra_graph *other = test_graph(test_device(), NULL);
  filtra_graph_parameter(other, n.params, "late", 1, (int64_t[]){3}, NULL);
  filtra_graph_destroy(&other);
  assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_TRAINABLE));
  assert_fails(filtra_graph_compile(n.graph), FILTRA_ERROR_ARGUMENT, "parameter late");
  destroy(&n);
}

TEST(compiled_once) {
  network n;
  build(&n, test_device());
  assert_ok(filtra_parameters_commit(n.params, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_compile(n.graph));
  assert_fails(filtra_graph_compile(n.graph), FILTRA_ERROR_ARGUMENT, "compiled already");
  results first, second;
  run(&n, &first);
  run(&n, &second);
  assert_memory_equal(&first, &second, sizeof first);
  destroy(&n);
}

TEST_MAIN(NULL, test_teardown)
