/* The Converter's layers: parameters as documented, one token, and unitarity of their rotations and
 * phases. `filtra check` compares values with the golden files. */
#include "nn/converter.h"
#include "support/harness.h"

enum { B = 2, N = 6, C = 8 };

struct network {
  filtra_parameters *params;
  filtra_graph *g;
  filtra_tensor *x, *y, *gradient;
};

/* Every layer once, in the Converter's order: x [B,n,C] -> [B,n,C]. */
static filtra_tensor *layers(const ft_scope *root, filtra_tensor *x, bool flat) {
  filtra_graph *g = root->graph;
  ft_scope positions = ft_scope_enter(root, "positions"), vectors = ft_scope_enter(root, "vectors"),
           values = ft_scope_enter(root, "values"), ffn = ft_scope_enter(root, "ffn");
  x = ft_scale_norm_layer(root, "norm1", ft_recurrent_positions(&positions, x, 2, 0.5f), false);
  ft_unitary u =
      ft_unitary_layer(&vectors, x, &(ft_unitary_options){.flat = flat, .dropout = 0.5f});
  filtra_tensor *eigenvalues =
      filtra_unit_phase(g, ft_eigenvalue_phases(&values, x, 1, 0.5f), FILTRA_RADIANS);
  filtra_tensor *z = filtra_dhhp(g, filtra_complex(g, x, NULL), u.lower, u.upper, u.phases, NULL);
  z = filtra_complex_multiply(g, eigenvalues, z);
  z = filtra_dhhp(g, z, u.lower, u.upper, u.phases, &(filtra_dhhp_options){.inverse = true});
  z = ft_scale_norm_layer(root, "norm2", z, true);
  ft_gffn_options options = {
      .width = 3 * C, .activation = FILTRA_ACTIVATION_SOFTPLUS, .dropout = 0.5f, .residual = x};
  return ft_gffn(&ffn, z, &options);
}

static void build(struct network *net, int64_t n, bool flat, bool training) {
  assert_ok(filtra_parameters_create(test_device(), &net->params));
  net->g = test_graph(test_device(), &(filtra_graph_options){.training = training});
  ft_scope root = {.graph = net->g, .params = net->params};
  net->x = test_input(net->g, "x", B, n, C);
  filtra_graph_require_gradient(net->g, net->x);
  net->y = filtra_graph_output(net->g, layers(&root, net->x, flat));
  assert_ok(ft_graph_status(net->g));
  assert_ok(filtra_parameters_commit(net->params, 7, FILTRA_TRAINABLE));
  assert_ok(filtra_graph_backward(net->g, 1, &net->y, NULL));
  net->gradient = filtra_graph_output(net->g, filtra_graph_gradient(net->g, net->x));
  assert_ok(filtra_graph_compile(net->g));
  assert_ok(ft_graph_check(net->g));
}

static void release(struct network *net) {
  filtra_graph_destroy(&net->g);
  filtra_parameters_destroy(&net->params);
}

static void run(struct network *net, int64_t n, float *y, float *dx) {
  float x[B * N * C];
  test_random(3, -1, 1, x, (size_t)(B * n * C));
  filtra_graph_set_step(net->g, 5, 9);
  test_run_graph(net->g, TEST_SET({net->x, x}), TEST_GET({net->y, y}, {net->gradient, dx}));
}

/* Bounds of the initial values: U(-bound, bound), or a constant. */
static const struct {
  const char *name;
  int64_t shape[2];
  double bound, constant;
} parameters[] = {
    {"positions.0.weight_ih", {3 * C, C}, 0.35355, 0},
    {"positions.1.weight_hh", {3 * C, C}, 0.35355, 0},
    {"positions.1.bias_hh", {3 * C}, 0.35355, 0},
    {"norm1.weight", {C}, 0, 1},
    {"vectors.1.weight", {C, C}, 0.86603, 0},
    {"vectors.1.bias", {C}, 0, 0},
    {"vectors.norm.weight", {C}, 0, 1},
    {"values.2.weight", {C, C}, 0.86603, 0},
    {"norm2.weight", {C}, 0, 1},
    {"ffn.re.weight", {3 * C, C}, 0.43302, 0},
    {"ffn.im.bias", {3 * C}, 0, 0},
    {"ffn.out.weight", {C, 3 * C}, 0.43302, 0},
};

TEST(test_parameter_names) {
  struct network net = {0};
  build(&net, N, false, false);
  assert_int_equal(filtra_parameters_count(net.params), 2 * 4 + 2 + 2 * 5 + 6);
  for (size_t i = 0; i < FT_COUNT(parameters); i++) {
    size_t count =
        (size_t)(parameters[i].shape[0] * (parameters[i].shape[1] ? parameters[i].shape[1] : 1));
    float values[3 * C * C];
    assert_ok(filtra_parameters_get(net.params, parameters[i].name, values, count));
    double largest = 0;
    for (size_t k = 0; k < count; k++)
      largest = fmax(largest, fabs((double)values[k] - parameters[i].constant));
    assert_true(largest <= parameters[i].bound && largest >= 0.6 * parameters[i].bound);
  }
  release(&net);
}

/* One token has no rotations; gradients still arrive everywhere. */
TEST(test_lengths) {
  for (int64_t n = 1; n <= N; n += N - 1)
    for (int kind = 0; kind < 4; kind++) {
      struct network net = {0};
      float y[2][B * N * C], dx[2][B * N * C];
      size_t bytes = (size_t)(B * n * C) * sizeof(float);
      build(&net, n, kind & 1, kind & 2);
      run(&net, n, y[0], dx[0]);
      run(&net, n, y[1], dx[1]);
      assert_memory_equal(y[0], y[1], bytes);
      assert_memory_equal(dx[0], dx[1], bytes);
      double size = 0;
      for (int64_t i = 0; i < B * n * C; i++) {
        assert_true(isfinite(y[0][i]) && isfinite(dx[0][i]));
        size += fabs((double)dx[0][i]);
      }
      assert_true(size > 1e-3);
      release(&net);
    }
}

TEST(test_unitary) {
  owned_parameters *params = test_parameters(test_device());
  filtra_graph *g = test_graph(test_device(), NULL);
  ft_scope root = {.graph = g, .params = params};
  filtra_tensor *x = test_input(g, "x", B, N, C);
  ft_unitary u = ft_unitary_layer(&root, x, &(ft_unitary_options){0});
  filtra_tensor *z = filtra_complex(g, x, filtra_affine(g, x, -0.5f, 0.25f));
  filtra_tensor *y = filtra_graph_output(g, filtra_dhhp(g, z, u.lower, u.upper, u.phases, NULL));
  filtra_tensor *back = filtra_graph_output(
      g, filtra_dhhp(g, y, u.lower, u.upper, u.phases, &(filtra_dhhp_options){.inverse = true}));
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_FIXED));
  float in[B * N * C], there[B * N * C][2], again[B * N * C][2];
  test_random(4, -1, 1, in, B * N * C);
  test_evaluate(&g, TEST_SET({x, in}), TEST_GET({y, there}, {back, again}));
  double before = 0, after = 0, moved = 0;
  for (int i = 0; i < B * N * C; i++) {
    double im = -0.5 * (double)in[i] + 0.25;
    assert_true(fabs(again[i][0] - in[i]) < 1e-5 && fabs(again[i][1] - im) < 1e-5);
    before += (double)in[i] * (double)in[i] + im * im;
    after += pow(there[i][0], 2) + pow(there[i][1], 2);
    moved = fmax(moved, fabs((double)there[i][0] - (double)in[i]));
  }
  assert_true(fabs(before - after) < 1e-4 && moved > 0.1);
}

TEST_MAIN(NULL, test_teardown)
