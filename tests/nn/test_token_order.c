/* Synvolution of sorted tokens: it begins as the one without, and follows its scores from there.
 * Values and gradients against float64: tests/golden/synvolution_sorted_* and kernelution_tri*. */
#include "support/harness.h"

#include "nn/mixer.h"

enum { BATCH = 2, TOKENS = 13, WIDTH = 8, COUNT = BATCH * TOKENS * WIDTH };

static const int32_t LENGTHS[] = {TOKENS, 6};

typedef struct layer {
  filtra_tensor *x, *lengths, *y;
} layer;

static layer build(filtra_graph *g, filtra_parameters *params, const char *mixer) {
  ft_mixer m;
  json_t *json = json_loads(mixer, 0, NULL);
  assert_ok(ft_mixer_read(json, "test", &m));
  json_decref(json);
  const int64_t batch = BATCH;
  layer l = {filtra_graph_input(g, "x", FILTRA_F32, 3, (int64_t[]){BATCH, TOKENS, WIDTH}),
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
  filtra_parameters *params = NULL;
  filtra_graph *g = NULL;
  float x[COUNT];
  test_random(5, -1, 1, x, COUNT);
  assert_ok(filtra_parameters_create(test_device(), &params));
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  build(g, params, mixer);
  assert_ok(filtra_parameters_commit(params, 3, FILTRA_FIXED));
  if (order) assert_ok(filtra_parameters_set(params, "order.weight", order, WIDTH));
  filtra_graph_destroy(&g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  layer l = build(g, params, mixer);
  test_evaluate(&g, TEST_SET({l.x, x}, {l.lengths, LENGTHS}), TEST_GET({l.y, y}));
  filtra_parameters_destroy(&params);
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
