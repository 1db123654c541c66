/* Synvolution of sorted tokens: initially equals the unsorted one, then follows its scores. Values
 * and gradients against float64: tests/golden/synvolution_sorted_* and kernelution_tri*. */
#include "support/harness.h"

#include "nn/mixer.h"

enum { BATCH = 2, TOKENS = 13, WIDTH = 8, COUNT = BATCH * TOKENS * WIDTH };

static const int32_t LENGTHS[] = {TOKENS, 6};

typedef struct layer {
  filtra_tensor *x, *lengths, *y;
} layer;

static layer build(filtra_graph *g, filtra_parameters *params, const char *mixer) {
  ft_mixer m;
  json_auto_t *json = json_loads(mixer, 0, NULL);
  assert_ok(ft_mixer_read(json, "test", &m));
  const int64_t batch = BATCH;
  layer l = {test_input(g, "x", BATCH, TOKENS, WIDTH),
             filtra_graph_input(g, "lengths", FILTRA_I32, 1, &batch), NULL};
  const filtra_mixer_input in = {
      .x = l.x, .mask = filtra_length_mask(g, l.lengths, TOKENS), .heads = 1, .max_length = TOKENS};
  ft_scope scope = {.graph = g, .params = params};
  filtra_tensor *auxiliary = NULL;
  l.y = filtra_graph_output(g, m.kind->build(&scope, m.options, &in, &auxiliary));
  return l;
}

/* Of all parameters from one seed, but the order's. */
static void result(const char *mixer, const float *order, float *y) {
  float x[COUNT];
  test_random(5, -1, 1, x, COUNT);
  owned_parameters *params = test_parameters(test_device());
  filtra_graph *g = test_graph(test_device(), NULL);
  layer l = build(g, params, mixer);
  assert_ok(filtra_parameters_commit(params, 3, FILTRA_FIXED));
  if (order) assert_ok(filtra_parameters_set(params, "order.weight", order, WIDTH));
  test_evaluate(&g, TEST_SET({l.x, x}, {l.lengths, LENGTHS}), TEST_GET({l.y, y}));
}

TEST(own_order_at_first) {
  float plain[COUNT], first[COUNT], later[COUNT], zero[WIDTH] = {0}, one[WIDTH] = {3};
  static const char sorted[] = "{\"name\": \"synvolution\", \"sort_tokens\": true}";
  result("{\"name\": \"synvolution\"}", NULL, plain);
  result(sorted, NULL, first);
  assert_memory_equal(first, plain, sizeof plain);
  result(sorted, zero, first);
  assert_memory_equal(first, plain, sizeof plain);
  result(sorted, one, later);
  assert_memory_not_equal(later, plain, sizeof plain);
}

TEST_MAIN(NULL, test_teardown)
