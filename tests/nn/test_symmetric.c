/* p-LaT with one matrix for queries and keys: equals two equal matrices, with the sum of their
 * gradients. Values against float64: tests/golden/plaplacian_symmetric_*. */
#include "support/harness.h"

#include "nn/mixer.h"

enum { BATCH = 2, TOKENS = 37, WIDTH = 12, HEADS = 3, MATRIX = WIDTH * WIDTH };

/* A layer's results for the same input and the same upstream gradient. */
typedef struct layer {
  filtra_parameters *params;
  filtra_graph *graph;
  filtra_tensor *x, *lengths, *y, *dx;
} layer;

static void build(layer *l, const char *mixer, bool causal) {
  ft_mixer m;
  json_auto_t *json = json_loads(mixer, JSON_DECODE_ANY, NULL);
  assert_ok(ft_mixer_read(json, "test", &m));
  assert_ok(
      filtra_graph_create(test_device(), &(filtra_graph_options){.training = true}, &l->graph));
  filtra_graph *g = l->graph;
  const int64_t batch = BATCH;
  l->x = test_input(g, "x", BATCH, TOKENS, WIDTH);
  filtra_graph_require_gradient(g, l->x);
  l->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &batch);
  const filtra_mixer_input in = {.x = l->x,
                                 .mask = filtra_length_mask(g, l->lengths, TOKENS),
                                 .heads = HEADS,
                                 .causal = causal,
                                 .max_length = TOKENS};
  ft_scope scope = {.graph = g, .params = l->params};
  filtra_tensor *auxiliary = NULL;
  l->y = filtra_graph_output(g, m.kind->build(&scope, m.options, &in, &auxiliary));
  assert_ok(ft_graph_status(g));
}

static void open_layer(layer *l, const char *mixer, bool causal) {
  assert_ok(filtra_parameters_create(test_device(), &l->params));
  build(l, mixer, causal);
  assert_ok(filtra_parameters_commit(l->params, 3, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_backward(l->graph, 1, &l->y, NULL));
  l->dx = filtra_graph_output(l->graph, filtra_graph_gradient(l->graph, l->x));
  assert_ok(filtra_graph_compile(l->graph));
  assert_ok(ft_graph_check(l->graph));
}

static void set(layer *l, const char *name, const float *values, size_t count) {
  assert_ok(filtra_parameters_set(l->params, name, values, count));
}

static void run(layer *l, float *y, float *dx) {
  static const int32_t lengths[] = {TOKENS, 20};
  float x[BATCH * TOKENS * WIDTH];
  test_random(5, -1, 1, x, FT_COUNT(x));
  test_run_graph(l->graph, TEST_SET({l->x, x}, {l->lengths, lengths}),
                 TEST_GET({l->y, y}, {l->dx, dx}));
}

static void close_layer(layer *l) {
  filtra_graph_destroy(&l->graph);
  filtra_parameters_destroy(&l->params);
}

static void assert_near(const char *what, const float *got, const float *expected, size_t count) {
  owned double *reference = test_alloc(count * sizeof *reference);
  for (size_t i = 0; i < count; i++)
    reference[i] = (double)expected[i];
  double error = test_relative_error(got, reference, count);
  if (!(error < 2e-6)) fail_msg("%s: %g", what, error);
}

/* [Q, K, V] of the gradients of `name`, each of `size`; Q and K added to [K, V]. */
static void shared_gradient(layer *l, const char *name, size_t size, float *out) {
  owned float *all = test_alloc(3 * size * sizeof *all);
  assert_ok(filtra_parameters_get_gradient(l->params, name, all, 3 * size));
  for (size_t i = 0; i < size; i++) {
    out[i] = all[i] + all[size + i];
    out[size + i] = all[2 * size + i];
  }
}

TEST(one_matrix_for_two) {
  static const char symmetric[] = "{\"name\": \"plaplacian\", \"symmetric\": true}";
  enum { COUNT = BATCH * TOKENS * WIDTH };
  float weight[3 * MATRIX], bias[3 * WIDTH], y[2][COUNT], dx[2][COUNT];
  float got[2 * MATRIX], expected[2 * MATRIX];
  test_random(7, -0.4, 0.4, weight, 3 * MATRIX);
  test_random(8, -0.4, 0.4, bias, 3 * WIDTH);
  memcpy(weight, weight + MATRIX, MATRIX * sizeof *weight); /* W_Q = W_K */
  memcpy(bias, bias + WIDTH, WIDTH * sizeof *bias);
  for (int causal = 0; causal < 2; causal++) {
    layer two, one;
    open_layer(&two, "\"plaplacian\"", causal);
    open_layer(&one, symmetric, causal);
    assert_int_equal(filtra_parameters_scalars(two.params) - filtra_parameters_scalars(one.params),
                     MATRIX + WIDTH);
    set(&two, "qkv.weight", weight, 3 * MATRIX);
    set(&two, "qkv.bias", bias, 3 * WIDTH);
    set(&one, "kv.weight", weight + MATRIX, 2 * MATRIX);
    set(&one, "kv.bias", bias + WIDTH, 2 * WIDTH);
    run(&two, y[0], dx[0]);
    run(&one, y[1], dx[1]);
    assert_near("y", y[1], y[0], COUNT);
    assert_near("dx", dx[1], dx[0], COUNT);
    shared_gradient(&two, "qkv.weight", MATRIX, expected);
    assert_ok(filtra_parameters_get_gradient(one.params, "kv.weight", got, 2 * MATRIX));
    assert_near("kv.weight", got, expected, 2 * MATRIX);
    shared_gradient(&two, "qkv.bias", WIDTH, expected);
    assert_ok(filtra_parameters_get_gradient(one.params, "kv.bias", got, 2 * WIDTH));
    assert_near("kv.bias", got, expected, 2 * WIDTH);
    close_layer(&two);
    close_layer(&one);
  }
}

TEST(others_have_no_such_option) {
  static const char *const others[] = {"softmax", "gfsa", "linear"};
  for (size_t i = 0; i < FT_COUNT(others); i++) {
    ft_mixer m;
    json_auto_t *json = json_pack("{ss sb}", "name", others[i], "symmetric", 1);
    assert_fails(ft_mixer_read(json, "test", &m), FILTRA_ERROR_INPUT, "\"symmetric\"");
  }
}

TEST_MAIN(NULL, test_teardown)
