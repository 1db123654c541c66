/* Gradient norm, halt and the Adam family, against float64 over many steps. */
#include "support/harness.h"

#include "graph/parameters.h"
#include "ops/optimizer.h"
#include "reference/tokenwise.h"

/* A graph whose gradients and loss the test sets itself. */
typedef struct bench {
  int64_t count;
  filtra_graph *g;
  filtra_tensor *gradients, *loss, *inputs, *metrics;
  ft_buffer values, first, second, state;
} bench;

static void make_buffer(ft_buffer *buffer, int64_t words) {
  uint64_t bytes = (uint64_t)words * sizeof(float);
  assert_ok(ft_buffer_create(test_device(), bytes, FT_MEMORY_DEVICE, buffer));
  assert_ok(ft_fill(test_device(), buffer, 0, bytes, 0));
}

static filtra_tensor *flat(bench *b, const char *name, const ft_buffer *buffer) {
  return ft_tensor_external(b->g, name, FILTRA_F32, 1, &b->count, buffer, 0);
}

static bench make_bench(int64_t count, const float *values) {
  bench b = {.count = count};
  make_buffer(&b.values, count);
  make_buffer(&b.first, count);
  make_buffer(&b.second, count);
  make_buffer(&b.state, FT_OPTIMIZER_STATE_WORDS);
  assert_ok(ft_upload(test_device(), &b.values, 0, values, (uint64_t)count * sizeof *values));
  return b;
}

/* Graphs keep pointers to the buffers, so the bench must have its final address. */
static void build_bench(bench *b, int64_t decayed) {
  assert_ok(filtra_graph_create(test_device(), NULL, &b->g));
  b->gradients = filtra_graph_input(b->g, "gradients", FILTRA_F32, 1, &b->count);
  b->loss = test_input(b->g, "loss", 1);
  b->inputs = ft_optimizer_input(b->g);
  filtra_tensor *state = ft_tensor_external(b->g, "state", FILTRA_I32, 1,
                                            (int64_t[]){FT_OPTIMIZER_STATE_WORDS}, &b->state, 0);
  b->metrics = ft_emit_gradient_norm(b->g, 1, &b->gradients, b->loss, b->inputs, state, NULL);
  ft_adam_tensors tensors = {flat(b, "values", &b->values), b->gradients,
                             flat(b, "first", &b->first), flat(b, "second", &b->second)};
  ft_emit_adam(b->g, &tensors, decayed, b->inputs, b->metrics);
  filtra_graph_output(b->g, b->metrics);
  assert_ok(filtra_graph_compile(b->g));
  assert_ok(ft_graph_check(b->g));
}

static ft_step_metrics run_step(bench *b, const ft_optimizer_settings *settings, uint64_t step,
                                const float *gradients, float loss) {
  ft_optimizer_inputs inputs;
  ft_step_metrics metrics;
  ft_optimizer_prepare(settings, step, &inputs);
  test_run_graph(b->g, TEST_SET({b->inputs, &inputs}, {b->gradients, gradients}, {b->loss, &loss}),
                 TEST_GET({b->metrics, &metrics}));
  return metrics;
}

static void fetch(bench *b, const ft_buffer *buffer, float *out) {
  assert_ok(ft_download(test_device(), buffer, 0, out, (uint64_t)b->count * sizeof *out));
}

static void destroy_bench(bench *b) {
  filtra_graph_destroy(&b->g);
  ft_buffer_destroy(test_device(), &b->values);
  ft_buffer_destroy(test_device(), &b->first);
  ft_buffer_destroy(test_device(), &b->second);
  ft_buffer_destroy(test_device(), &b->state);
}

/* ---- updates ---- */

/* Settings of one step of a schedule that moves all there is to move. */
static reference_adam_settings schedule(reference_adam_kind kind, int step, double clip_norm) {
  return (reference_adam_settings){.kind = kind,
                                   .learning_rate = 1e-2 * (1 + 0.5 * sin(step)),
                                   .beta1 = 0.95 - 0.005 * step,
                                   .beta2 = 0.99,
                                   .epsilon = 1e-6,
                                   .weight_decay = 0.1,
                                   .clip_norm = clip_norm};
}

static ft_optimizer_settings device_settings(const reference_adam_settings *s) {
  static const filtra_optimizer_kind kinds[] = {[REFERENCE_ADAMW] = FILTRA_OPTIMIZER_ADAMW,
                                                [REFERENCE_ADAM] = FILTRA_OPTIMIZER_ADAM,
                                                [REFERENCE_RADAM] = FILTRA_OPTIMIZER_RADAM};
  return (ft_optimizer_settings){kinds[s->kind], s->learning_rate, s->beta1,    s->beta2,
                                 s->epsilon,     s->weight_decay,  s->clip_norm};
}

static void check_updates(reference_adam_kind kind, int64_t count, int64_t decayed,
                          double clip_norm) {
  size_t n = (size_t)count;
  float *got = test_alloc(n * sizeof *got), *gradients = test_alloc(n * sizeof *gradients);
  double *values = test_alloc(n * sizeof *values), *slopes = test_alloc(n * sizeof *slopes);
  double *first = test_alloc(n * sizeof *first), *second = test_alloc(n * sizeof *second);
  test_random(1, -1, 1, got, n);
  for (size_t i = 0; i < n; i++)
    values[i] = (double)got[i];
  bench b = make_bench(count, got);
  build_bench(&b, decayed);
  for (int step = 1; step <= 20; step++) {
    reference_adam_settings want = schedule(kind, step, clip_norm);
    ft_optimizer_settings settings = device_settings(&want);
    test_random(100 + (uint64_t)step, -1, 1, gradients, n);
    for (size_t i = 0; i < n; i++)
      slopes[i] = (double)gradients[i];
    ft_step_metrics m = run_step(&b, &settings, (uint64_t)step, gradients, (float)step);
    double norm = reference_adam(&want, step, count, decayed, values, slopes, first, second);
    assert_true(m.loss == (float)step && m.halt == 0);
    assert_true(fabs((double)m.gradient_norm - norm) <= 1e-6 * norm);
    double clip = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
    assert_true(fabs((double)m.clip_scale - clip) < 1e-6);
    fetch(&b, &b.values, got);
    assert_true(test_relative_error(got, values, n) < 2e-6);
  }
  fetch(&b, &b.first, got);
  assert_true(test_relative_error(got, first, n) < 2e-6);
  fetch(&b, &b.second, got);
  assert_true(test_relative_error(got, second, n) < 2e-6);
  destroy_bench(&b);
  free(got);
  free(gradients);
  free(values);
  free(slopes);
  free(first);
  free(second);
}

static void check_kind(reference_adam_kind kind) {
  check_updates(kind, 1, 0, 0);
  check_updates(kind, 1, 1, 0);
  check_updates(kind, 67, 40, 0);
  check_updates(kind, 8209, 4001, 0.25); /* always clipped */
  check_updates(kind, 259, 259, 9.5);    /* clipped in some steps */
}

TEST(test_adamw) {
  check_kind(REFERENCE_ADAMW);
}

TEST(test_adam) {
  check_kind(REFERENCE_ADAM);
}

TEST(test_radam) {
  check_kind(REFERENCE_RADAM);
}

/* With beta2 = 0.999 the first five steps are momentum steps and the sixth is rectified. */
TEST(test_rectification_starts) {
  ft_optimizer_settings s = {FILTRA_OPTIMIZER_RADAM, 1e-3, 0.9, 0.999, 1e-8, 0, 0};
  ft_optimizer_inputs in;
  ft_optimizer_prepare(&s, 5, &in);
  assert_true(in.second_scale == 0 && in.epsilon == 1);
  assert_true(fabs((double)in.step_size - 1e-3 / (1 - pow(0.9, 5))) < 1e-9);
  ft_optimizer_prepare(&s, 6, &in);
  assert_true(in.second_scale == 1 && in.epsilon == 1e-8f);
}

/* ---- norm ---- */

TEST(test_norm_of_many) {
  enum { COUNT = 1500007 };
  owned float *x = test_alloc(COUNT * sizeof *x);
  test_random(5, 0.9, 1.1, x, COUNT);
  double squares = 0;
  for (int i = 0; i < COUNT; i++)
    squares += (double)x[i] * (double)x[i];
  bench b = make_bench(COUNT, x);
  build_bench(&b, 0);
  ft_optimizer_settings s = {FILTRA_OPTIMIZER_ADAMW, 1e-3, 0.9, 0.999, 1e-8, 0, 0};
  ft_step_metrics m = run_step(&b, &s, 1, x, 0);
  assert_true(fabs((double)m.gradient_norm / sqrt(squares) - 1) < 2e-7);
  destroy_bench(&b);
}

/* ---- halt ---- */

enum { FEW = 333 };

/* Steps with one bad value at step 3: nothing is written then or later, and it is remembered. */
static void check_halt(float bad_gradient, float bad_loss, uint32_t halt) {
  const uint64_t bad_step = UINT64_C(0x100000003);
  ft_optimizer_settings s = {FILTRA_OPTIMIZER_ADAMW, 1e-2, 0.9, 0.999, 1e-8, 0.1, 1};
  float gradients[FEW], before[3][FEW], after[FEW];
  test_random(9, -1, 1, gradients, FEW);
  bench b = make_bench(FEW, gradients);
  build_bench(&b, FEW);
  const ft_buffer *buffers[] = {&b.values, &b.first, &b.second};
  for (uint64_t step = bad_step - 2; step < bad_step; step++)
    assert_int_equal(run_step(&b, &s, step, gradients, 1).halt, 0);
  for (int k = 0; k < 3; k++)
    fetch(&b, buffers[k], before[k]);
  for (uint64_t step = bad_step; step < bad_step + 3; step++) {
    float kept = gradients[217];
    if (step == bad_step) gradients[217] = bad_gradient;
    ft_step_metrics m = run_step(&b, &s, step, gradients, step == bad_step ? bad_loss : 1);
    gradients[217] = kept;
    assert_int_equal(m.halt, halt);
    assert_int_equal(m.halt_step_low, 3);
    assert_int_equal(m.halt_step_high, 1);
    for (int k = 0; k < 3; k++) {
      fetch(&b, buffers[k], after);
      assert_memory_equal(after, before[k], sizeof after);
    }
  }
  destroy_bench(&b);
}

TEST(test_halt) {
  check_halt(NAN, 1, FT_HALT_GRADIENT);
  check_halt(INFINITY, 1, FT_HALT_GRADIENT);
  check_halt(0.5f, NAN, FT_HALT_LOSS);
  check_halt(0.5f, -INFINITY, FT_HALT_LOSS);
  check_halt(-NAN, INFINITY, FT_HALT_LOSS | FT_HALT_GRADIENT);
}

/* ---- training ---- */

/* Least squares through the tape: the flat buffers are those of the parameters' own tensors. */
typedef struct regression {
  filtra_graph *g;
  filtra_tensor *x, *target, *inputs, *metrics;
  ft_buffer first, second, state;
} regression;

enum { ROWS = 5, COLUMNS = 13 };

static filtra_tensor *build_loss(regression *r, filtra_parameters *params) {
  const int64_t shape[] = {ROWS, COLUMNS};
  assert_ok(filtra_graph_create(test_device(), NULL, &r->g));
  r->x = filtra_graph_input(r->g, "x", FILTRA_F32, 2, shape);
  r->target = filtra_graph_input(r->g, "target", FILTRA_F32, 2, shape);
  const filtra_parameter_options decays = {FILTRA_INIT_NORMAL, 0.1f, true};
  filtra_tensor *bias = filtra_graph_parameter(r->g, params, "bias", 2, shape, NULL);
  filtra_tensor *weight = filtra_graph_parameter(r->g, params, "weight", 2, shape, &decays);
  filtra_tensor *y = filtra_add(r->g, filtra_multiply(r->g, weight, r->x), bias);
  return filtra_weighted_mean(r->g, filtra_squared_error(r->g, y, r->target), NULL);
}

TEST(test_training) {
  regression r = {0};
  owned_parameters *params = test_parameters(test_device());
  filtra_tensor *loss = build_loss(&r, params);
  assert_ok(filtra_parameters_commit(params, 3, FILTRA_TRAINABLE));
  const int64_t count = (int64_t)(params->bytes / sizeof(float));
  make_buffer(&r.first, count);
  make_buffer(&r.second, count);
  make_buffer(&r.state, FT_OPTIMIZER_STATE_WORDS);
  assert_ok(filtra_graph_backward(r.g, 1, &loss, NULL));
  const struct {
    const char *name;
    const ft_buffer *buffer;
  } parts[] = {{"values", &params->values},
               {"gradients", &params->gradients},
               {"first", &r.first},
               {"second", &r.second}};
  filtra_tensor *t[4];
  for (int i = 0; i < 4; i++)
    t[i] = ft_tensor_external(r.g, parts[i].name, FILTRA_F32, 1, &count, parts[i].buffer, 0);
  r.inputs = ft_optimizer_input(r.g);
  filtra_tensor *halt = ft_tensor_external(r.g, "state", FILTRA_I32, 1,
                                           (int64_t[]){FT_OPTIMIZER_STATE_WORDS}, &r.state, 0);
  r.metrics =
      filtra_graph_output(r.g, ft_emit_gradient_norm(r.g, 1, &t[1], loss, r.inputs, halt, NULL));
  ft_emit_adam(r.g, &(ft_adam_tensors){t[0], t[1], t[2], t[3]},
               (int64_t)(params->decay_bytes / sizeof(float)), r.inputs, r.metrics);
  assert_ok(filtra_graph_compile(r.g));
  assert_ok(ft_graph_check(r.g));

  float x[ROWS * COLUMNS], target[ROWS * COLUMNS];
  test_random(1, -1, 1, x, ROWS * COLUMNS);
  test_random(2, -1, 1, target, ROWS * COLUMNS);
  ft_optimizer_settings s = {FILTRA_OPTIMIZER_ADAMW, 0.05, 0.9, 0.999, 1e-8, 1e-4, 1};
  float losses[2];
  for (uint64_t step = 1; step <= 100; step++) {
    ft_optimizer_inputs in;
    ft_step_metrics m;
    ft_optimizer_prepare(&s, step, &in);
    test_run_graph(r.g, TEST_SET({r.inputs, &in}, {r.x, x}, {r.target, target}),
                   TEST_GET({r.metrics, &m}));
    assert_int_equal(m.halt, 0);
    losses[step > 1] = m.loss;
  }
  assert_true(losses[1] < 1e-3f * losses[0]);
  filtra_graph_destroy(&r.g);
  ft_buffer_destroy(test_device(), &r.first);
  ft_buffer_destroy(test_device(), &r.second);
  ft_buffer_destroy(test_device(), &r.state);
}

TEST_MAIN_TWICE("subgroup=0")
