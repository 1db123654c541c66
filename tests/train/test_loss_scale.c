/* The dynamic loss scale: its effect on gradients cancels exactly, an overflow skips only its step,
 * the scale grows again, and files store all of that. */
#include "support/harness.h"

#include <filtra/filtra.h>

enum { COUNT = 9 };
static const char FILE_NAME[] = "scaled.safetensors";

/* loss = the mean of (w - x)^2 over COUNT elements. */
typedef struct net {
  filtra_parameters *params;
  filtra_graph *g;
  filtra_tensor *x, *loss;
  filtra_optimizer *opt;
} net;

static void build(net *n, filtra_graph *g) {
  const int64_t shape[] = {COUNT, 1};
  const filtra_parameter_options init = {.init = FILTRA_INIT_NORMAL, .value = 1};
  filtra_tensor *w = filtra_graph_parameter(g, n->params, "w", 2, shape, &init);
  n->x = filtra_graph_input(g, "x", FILTRA_F32, 2, shape);
  n->loss = filtra_weighted_mean(g, filtra_squared_error(g, w, n->x), NULL);
}

static net make_net(float loss_scale, uint32_t window) {
  net n = {0};
  assert_ok(filtra_parameters_create(test_device(), &n.params));
  n.g = test_graph(test_device(), NULL);
  build(&n, n.g);
  assert_ok(filtra_parameters_commit(n.params, 3, FILTRA_FIXED));
  assert_ok(filtra_optimizer_create(n.params,
                                    &(filtra_optimizer_options){.learning_rate = 0.01f,
                                                                .clip_norm = 0.2f,
                                                                .loss_scale = loss_scale,
                                                                .loss_scale_window = window},
                                    &n.opt));
  filtra_tensor *scale = filtra_optimizer_loss_scale(n.opt, n.g);
  assert_true((scale != NULL) == (loss_scale > 0));
  assert_ok(filtra_graph_backward(n.g, 1, &n.loss, &scale));
  assert_ok(filtra_optimizer_watch_loss(n.opt, n.g, n.loss));
  assert_ok(filtra_graph_compile(n.g));
  return n;
}

static void free_net(net *n) {
  filtra_graph_destroy(&n->g);
  filtra_optimizer_destroy(&n->opt);
  filtra_parameters_destroy(&n->params);
}

/* A run, and a step by its gradients, one of which becomes `instead` where that is no 0. */
static filtra_optimizer_metrics step(net *n, uint64_t seed, float instead) {
  float x[COUNT], gradient[COUNT];
  filtra_optimizer_metrics result;
  test_random(seed, -1, 1, x, COUNT);
  assert_ok(filtra_graph_set(n->g, n->x, x));
  assert_ok(filtra_graph_submit(n->g, NULL));
  if (instead != 0) {
    assert_ok(filtra_parameters_get_gradient(n->params, "w", gradient, COUNT));
    gradient[4] = instead;
    assert_ok(filtra_parameters_set_gradient(n->params, "w", gradient, COUNT));
  }
  assert_ok(filtra_optimizer_step(n->opt));
  assert_ok(filtra_optimizer_finish(n->opt, &result));
  return result;
}

static void values_of(const net *n, float w[COUNT]) {
  assert_ok(filtra_parameters_get(n->params, "w", w, COUNT));
}

static void assert_same_values(const net *a, const net *b) {
  float x[COUNT], y[COUNT];
  values_of(a, x);
  values_of(b, y);
  assert_memory_equal(x, y, sizeof x);
}

/* A power of two moves no rounding: weights and norms are those without it, bit for bit. */
TEST(test_cancels) {
  net plain = make_net(0, 0), scaled = make_net(0x1p20f, 0);
  for (uint64_t i = 0; i < 5; i++) {
    filtra_optimizer_metrics p = step(&plain, i, 0), s = step(&scaled, i, 0);
    assert_true(p.loss == s.loss && p.gradient_norm == s.gradient_norm);
    assert_true(p.loss_scale == 0 && s.loss_scale == 0x1p20f && s.skipped == 0);
  }
  assert_same_values(&plain, &scaled);
  free_net(&plain);
  free_net(&scaled);
}

TEST(test_overflow) {
  net n = make_net(1024, 3);
  float before[COUNT], after[COUNT];
  step(&n, 0, 0);
  values_of(&n, before);
  filtra_optimizer_metrics r = step(&n, 1, INFINITY);
  values_of(&n, after);
  assert_memory_equal(before, after, sizeof before);
  assert_true(r.step == 2 && r.skipped == 1 && r.skipped_step == 2 && r.loss_scale == 1024);
  assert_true(r.gradient_norm == 0 && isfinite(r.loss));

  /* Three steps in a row without one, counted from there, and it doubles. */
  static const float scales[] = {512, 512, 512, 1024, 1024, 1024, 2048};
  for (uint64_t i = 0; i < FT_COUNT(scales); i++) {
    r = step(&n, 2 + i, 0);
    assert_true(r.loss_scale == scales[i] && r.skipped == 1 && r.skipped_step == 2);
    values_of(&n, after);
    assert_true(memcmp(before, after, sizeof before) != 0);
    memcpy(before, after, sizeof before);
  }
  free_net(&n);
}

/* 2^24 is as far as it grows, and further up it only falls. */
TEST(test_largest) {
  net n = make_net(0x1p23f, 1);
  static const float scales[] = {0x1p23f, 0x1p24f, 0x1p24f};
  for (uint64_t i = 0; i < FT_COUNT(scales); i++)
    assert_true(step(&n, i, 0).loss_scale == scales[i]);
  free_net(&n);
  n = make_net(0x1p40f, 1);
  assert_true(step(&n, 0, 0).loss_scale == 0x1p40f);
  assert_true(step(&n, 1, NAN).loss_scale == 0x1p40f);
  assert_true(step(&n, 2, 0).loss_scale == 0x1p39f);
  free_net(&n);
}

/* Where halving does not help, the gradients themselves are at fault; and so is a loss that is no
 * number, at once. Neither changes anything. */
TEST(test_hopeless) {
  net n = make_net(1, 0);
  float x[COUNT] = {0}, gradient[COUNT], before[COUNT], after[COUNT];
  for (int i = 0; i < COUNT; i++)
    gradient[i] = INFINITY;
  values_of(&n, before);
  for (int i = 0; i < 14; i++)
    assert_true(step(&n, 0, INFINITY).skipped == (uint64_t)i + 1);
  assert_ok(filtra_graph_set(n.g, n.x, x));
  assert_ok(filtra_graph_submit(n.g, NULL));
  assert_ok(filtra_parameters_set_gradient(n.params, "w", gradient, COUNT));
  assert_ok(filtra_optimizer_step(n.opt));
  assert_fails(filtra_optimizer_finish(n.opt, NULL), FILTRA_ERROR_NONFINITE,
               "step 15: the gradient norm is a NaN or an infinity");
  assert_int_equal(filtra_optimizer_step_count(n.opt), 14);

  x[2] = NAN;
  assert_ok(filtra_graph_set(n.g, n.x, x));
  assert_ok(filtra_graph_submit(n.g, NULL));
  assert_ok(filtra_optimizer_step(n.opt));
  assert_fails(filtra_optimizer_finish(n.opt, NULL), FILTRA_ERROR_NONFINITE, "step 15: the loss");
  values_of(&n, after);
  assert_memory_equal(before, after, sizeof before);
  filtra_optimizer_metrics r = step(&n, 3, 0);
  assert_true(r.step == 15 && r.skipped == 14 && r.loss_scale == 0x1p-14f);
  free_net(&n);
}

/* A restored optimizer goes on where the other is: scale, steps towards its growth, skips. */
TEST(test_files) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), FILE_NAME);
  net a = make_net(64, 4), b = make_net(8, 4), plain = make_net(0, 0);
  for (uint64_t i = 0; i < 3; i++)
    step(&a, i, i == 1 ? INFINITY : 0);
  assert_ok(filtra_optimizer_save(a.opt, path));
  assert_ok(filtra_optimizer_restore(b.opt, path));
  for (uint64_t i = 3; i < 12; i++) {
    filtra_optimizer_metrics x = step(&a, i, i == 7 ? INFINITY : 0);
    filtra_optimizer_metrics y = step(&b, i, i == 7 ? INFINITY : 0);
    assert_memory_equal(&x, &y, sizeof x);
  }
  assert_same_values(&a, &b);

  /* To one without a scale and back: it begins anew. */
  assert_ok(filtra_optimizer_restore(plain.opt, path));
  assert_true(step(&plain, 3, 0).loss_scale == 0);
  assert_ok(filtra_optimizer_save(plain.opt, path));
  assert_ok(filtra_optimizer_restore(b.opt, path));
  filtra_optimizer_metrics r = step(&b, 4, 0);
  assert_true(r.loss_scale == 8 && r.skipped == 0);
  free_net(&a);
  free_net(&b);
  free_net(&plain);
}

TEST(test_options) {
  static const float wrong[] = {-1, 0.5f, 3, 0x1p41f, INFINITY, NAN};
  net n = make_net(0, 0);
  for (size_t i = 0; i < FT_COUNT(wrong); i++) {
    filtra_optimizer *opt;
    assert_fails(filtra_optimizer_create(n.params,
                                         &(filtra_optimizer_options){.loss_scale = wrong[i]}, &opt),
                 FILTRA_ERROR_ARGUMENT, "0 and powers of two from 1 to 2^40");
    assert_null(opt);
  }
  free_net(&n);
}

TEST_MAIN(NULL, test_teardown)
