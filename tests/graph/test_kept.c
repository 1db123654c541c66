/* What graphs keep of a fixed parameter set: computed once for all graphs, and again after the
 * parameter was set or may have been trained. */
#include "graph/kept.h"

#include "graph/plan.h"
#include "support/harness.h"

enum { ROWS = 20, COLUMNS = 24, COUNT = ROWS * COLUMNS };

static const int64_t shape[2] = {ROWS, COLUMNS};

typedef struct fixture {
  filtra_parameters *params;
  float x[COUNT], w[COUNT];
} fixture;

/* y = x + kept, where kept is twice w. */
typedef struct sum {
  filtra_graph *graph;
  filtra_tensor *x, *w, *y;
} sum;

static void twice(filtra_graph *g, filtra_tensor *x, filtra_tensor *y,
                  const ft_keep_numbers *numbers) {
  for (int64_t i = 0; i < numbers->number[0]; i++)
    ft_emit_copy(g, x, y, i > 0);
}

static sum record(const fixture *f) {
  sum s;
  assert_ok(filtra_graph_create(test_device(), NULL, &s.graph));
  s.x = filtra_graph_input(s.graph, "x", FILTRA_F32, 2, shape);
  s.w = filtra_graph_parameter(s.graph, f->params, "w", 2, shape, NULL);
  filtra_tensor *kept = s.w;
  if (ft_graph_keeps(s.graph, s.w))
    kept = ft_graph_keep(s.graph, s.w, twice, &(ft_keep_numbers){{2}}, 2, shape);
  s.y = filtra_graph_output(s.graph, filtra_add(s.graph, s.x, kept));
  assert_ok(ft_graph_status(s.graph));
  return s;
}

static void compile(const fixture *f, const sum *s) {
  assert_ok(filtra_graph_compile(s->graph));
  assert_ok(ft_graph_check(s->graph));
  assert_ok(filtra_graph_set(s->graph, s->x, f->x));
}

static void check(const fixture *f, const sum *s) {
  float y[COUNT];
  assert_ok(filtra_graph_execute(s->graph));
  assert_ok(filtra_graph_get(s->graph, s->y, y));
  for (int i = 0; i < COUNT; i++)
    assert_float_equal(y[i], f->x[i] + 2 * f->w[i], 1e-6);
}

static void set(fixture *f, uint64_t seed) {
  test_random(seed, -1, 1, f->w, COUNT);
  assert_ok(filtra_parameters_set(f->params, "w", f->w, COUNT));
}

static void begin(fixture *f, filtra_trainable trainable) {
  assert_ok(filtra_parameters_create(test_device(), &f->params));
  sum s = record(f);
  assert_false(ft_graph_keeps(s.graph, s.w)); /* nobody knows yet whether the set is fixed */
  filtra_graph_destroy(&s.graph);
  assert_ok(filtra_parameters_commit(f->params, 1, trainable));
  test_random(1, -1, 1, f->x, COUNT);
  set(f, 2);
}

TEST(test_graphs_share) {
  fixture f;
  begin(&f, FILTRA_FIXED);
  sum first = record(&f), second = record(&f);
  const uint64_t before = filtra_device_memory_used(test_device());
  const uint64_t extent = ft_kept_extent(f.params);
  assert_true(extent >= sizeof f.w && extent < 2 * sizeof f.w + (64 << 10));
  assert_ok(ft_kept_refresh(f.params));
  assert_int_equal(filtra_device_memory_used(test_device()), before + extent);
  compile(&f, &first);
  compile(&f, &second);
  check(&f, &first);
  check(&f, &second);
  filtra_graph_destroy(&first.graph);
  set(&f, 3);
  check(&f, &second);
  sum third = record(&f);
  set(&f, 4);
  compile(&f, &third);
  check(&f, &third);
  check(&f, &second);
  assert_int_equal(ft_kept_extent(f.params), extent);
  filtra_graph_destroy(&second.graph);
  filtra_graph_destroy(&third.graph);
  assert_ok(filtra_parameters_destroy(&f.params));
}

/* A set that is fixed at first and trained later: a graph from before follows each step. */
TEST(test_trained_later) {
  fixture f;
  begin(&f, FILTRA_FIXED);
  sum before = record(&f);
  compile(&f, &before);
  check(&f, &before);
  filtra_optimizer *optimizer;
  assert_ok(filtra_optimizer_create(f.params, &(filtra_optimizer_options){.learning_rate = 0.1f},
                                    &optimizer));
  filtra_graph *step;
  assert_ok(filtra_graph_create(test_device(), &(filtra_graph_options){.training = true}, &step));
  filtra_tensor *w = filtra_graph_parameter(step, f.params, "w", 2, shape, NULL);
  assert_false(ft_graph_keeps(step, w));
  filtra_tensor *y = filtra_add(step, w, w);
  assert_ok(filtra_graph_backward(step, 1, &y, NULL));
  assert_ok(filtra_graph_compile(step));
  for (int i = 0; i < 2; i++) {
    const float old = f.w[0];
    f.params->kept->current = false;
    assert_ok(filtra_graph_execute(step));
    assert_ok(filtra_optimizer_step(optimizer));
    assert_false(f.params->kept->current); /* steps, which read no kept tensor, compute none */
    assert_ok(filtra_parameters_get(f.params, "w", f.w, COUNT));
    assert_true(f.w[0] != old);
    check(&f, &before);
  }
  filtra_graph_destroy(&step);
  filtra_graph_destroy(&before.graph);
  filtra_optimizer_destroy(&optimizer);
  assert_ok(filtra_parameters_destroy(&f.params));
}

TEST(test_trainable_sets_keep_nothing) {
  fixture f;
  begin(&f, FILTRA_TRAINABLE);
  sum s = record(&f);
  assert_false(ft_graph_keeps(s.graph, s.w));
  assert_int_equal(ft_kept_extent(f.params), 0);
  filtra_graph_destroy(&s.graph);
  assert_ok(filtra_parameters_destroy(&f.params));
}

/* Kept tensors would take as much memory again. */
TEST(test_large_sets_keep_nothing) {
  fixture f;
  begin(&f, FILTRA_FIXED);
  uint64_t *memory = (uint64_t *)&ft_caps_of(test_device())->info.memory_bytes;
  const uint64_t all = *memory;
  *memory = 8 * ft_parameters_extent(f.params) - 1;
  sum s = record(&f);
  const bool little = ft_graph_keeps(s.graph, s.w);
  *memory = all;
  assert_false(little);
  assert_true(ft_graph_keeps(s.graph, s.w));
  filtra_graph_destroy(&s.graph);
  assert_ok(filtra_parameters_destroy(&f.params));
}

/* Products take their weight from kept panels on devices with uniform loads. */
TEST(test_products) {
  fixture f;
  float y[ROWS * ROWS];
  begin(&f, FILTRA_FIXED);
  filtra_graph *g;
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 2, shape);
  filtra_tensor *w = filtra_graph_parameter(g, f.params, "w", 2, shape, NULL);
  filtra_tensor *product = filtra_graph_output(g, filtra_linear(g, x, w, NULL, NULL));
  compile(&f, &(sum){.graph = g, .x = x});
  if (ft_caps_of(test_device())->uniform_loads) {
    assert_true(ft_kept_extent(f.params) > 0);
    assert_int_equal(g->plan->call_count, 1); /* no copy in each execution */
  }
  for (uint64_t seed = 2; seed < 4; seed++) {
    set(&f, seed);
    assert_ok(filtra_graph_execute(g));
    assert_ok(filtra_graph_get(g, product, y));
    for (int i = 0; i < ROWS * ROWS; i++) {
      double expected = 0;
      for (int k = 0; k < COLUMNS; k++)
        expected += (double)f.x[i / ROWS * COLUMNS + k] * (double)f.w[i % ROWS * COLUMNS + k];
      assert_float_equal(y[i], expected, 1e-5);
    }
  }
  filtra_graph_destroy(&g);
  assert_ok(filtra_parameters_destroy(&f.params));
}

TEST_MAIN(NULL, test_teardown)
