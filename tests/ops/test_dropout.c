/* Dropout: the device's mask equals the host's Philox stream. */
#include "support/harness.h"

#include "base/rng.h"

/* Whether element `index` of op `op_id` is kept: word index % 4 of the block at index / 4. */
static bool kept(uint64_t seed, uint64_t step, uint32_t op_id, uint32_t index, float rate) {
  uint32_t words[4];
  ft_philox((uint32_t[]){index / 4, op_id, (uint32_t)step, (uint32_t)(step >> 32)},
            (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, words);
  return (float)(words[index % 4] >> 8) * 0x1p-24f >= rate;
}

struct settings {
  float rate;
};

TEST_BUILD(build) {
  const struct settings *s = op->settings;
  out[0] = filtra_dropout(g, in[0], s->rate);
  out[1] = filtra_dropout(g, in[0], s->rate); /* another mask; its gradient is added */
}

TEST_REFERENCE(reference) {
  const struct settings *s = op->settings;
  for (uint32_t id = 0; id < 2; id++)
    for (uint32_t i = 0; i < (uint32_t)op->dims[0]; i++) {
      bool keep = !op->training || kept(op->seed, op->step, id, i, s->rate);
      double scale = op->training ? 1 / (1 - (double)s->rate) : 1;
      out[id][i] = keep ? scale * in[0][i] : 0;
    }
}

static void check(int64_t rows, int64_t columns, float rate, bool training) {
  struct settings settings = {rate};
  test_op op = {.name = "dropout",
                .in = {{"x", FILTRA_F32, 2, {rows, columns}, .gradient = true}},
                .build = build,
                .reference = reference,
                .settings = &settings,
                .dims = {rows * columns},
                .training = training,
                .seed = UINT64_C(0x123456789abcdef0),
                .step = UINT64_C(0x100000003)};
  test_check_op(test_device(), &op);
}

TEST(test_masks) {
  check(1, 1, 0.5f, true);
  check(3, 7, 0.1f, true);
  check(33, 130, 0.9f, true);
  check(5, 9, 0, true);
  check(5, 9, 0.5f, false);
}

/* How many are kept, that steps differ, and that one step repeats. */
TEST(test_rate_and_steps) {
  enum { COUNT = 100003 };
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", COUNT);
  filtra_tensor *y = filtra_graph_output(g, filtra_dropout(g, x, 0.3f));
  assert_ok(filtra_graph_compile(g));
  float *ones = malloc(COUNT * sizeof *ones), *out[3];
  assert_non_null(ones);
  for (int i = 0; i < COUNT; i++)
    ones[i] = 1;
  for (int k = 0; k < 3; k++) {
    out[k] = malloc(COUNT * sizeof *ones);
    assert_non_null(out[k]);
    filtra_graph_set_step(g, 11, k == 1 ? 6 : 5);
    test_run_graph(g, TEST_SET({x, ones}), TEST_GET({y, out[k]}));
  }
  int alive = 0, same = 0;
  for (int i = 0; i < COUNT; i++) {
    alive += out[0][i] > 0;
    same += (out[0][i] > 0) == (out[1][i] > 0);
  }
  double deviation = sqrt(COUNT * 0.3 * 0.7);
  assert_true(fabs(alive - 0.7 * COUNT) < 5 * deviation);
  assert_true(fabs(same - 0.58 * COUNT) < 5 * sqrt(COUNT * 0.58 * 0.42));
  assert_memory_equal(out[0], out[2], COUNT * sizeof *ones);
  for (int k = 0; k < 3; k++)
    free(out[k]);
  free(ones);
}

/* Executions move on by one step, from 0 or from where they were set. */
TEST(test_steps_advance) {
  enum { COUNT = 1000, RUNS = 3 };
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", COUNT);
  filtra_tensor *y = filtra_graph_output(g, filtra_dropout(g, x, 0.5f));
  float ones[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; i++)
    ones[i] = 1.0f;
  assert_ok(filtra_graph_compile(g));
  assert_ok(filtra_graph_set(g, x, ones));
  for (uint64_t first = 0; first <= 40; first += 40) {
    if (first) filtra_graph_set_step(g, 0, first);
    for (uint64_t k = 0; k < RUNS; k++) {
      assert_ok(filtra_graph_execute(g));
      assert_ok(filtra_graph_get(g, y, out));
      for (uint32_t i = 0; i < COUNT; i++)
        assert_true((out[i] != 0.0f) == kept(0, first + k, 0, i, 0.5f));
    }
  }
}

TEST(test_errors) {
  const float rates[] = {-0.1f, 1.0f, NAN};
  for (size_t i = 0; i < FT_COUNT(rates); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    filtra_tensor *x = test_input(g, "x", 3);
    test_refuse(&g, filtra_dropout(g, x, rates[i]), "must lie in [0,1)");
  }
}

TEST_MAIN(NULL, test_teardown)
