/* The public optimizer over an application's graph: groups, accumulation, a changed learning rate,
 * skipped and held-back steps, and files. */
#include "support/harness.h"

#include "base/file.h"
#include "base/safetensors.h"

#include <filtra/filtra.h>

enum { ROWS = 7, IN = 5, HIDDEN = 6, OUT = 3 };

/* Two linear layers, cross-entropy; `a` decays, `c` is a buffer that scales the hidden units. */
typedef struct net {
  filtra_parameters *params;
  filtra_graph *g;
  filtra_tensor *x, *labels, *loss;
  filtra_optimizer *opt;
} net;

static const struct {
  const char *name;
  int64_t rows, columns;
  filtra_parameter_options options;
} WEIGHTS[] = {
    {"first.a", HIDDEN, IN, {.init = FILTRA_INIT_UNIFORM, .value = 0.5f, .decay = true}},
    {"first.b", 1, HIDDEN, {.init = FILTRA_INIT_CONSTANT, .value = 0.1f}},
    {"second.a", OUT, HIDDEN, {.init = FILTRA_INIT_UNIFORM, .value = 0.5f, .decay = true}},
    {"second.b", 1, OUT, {.init = FILTRA_INIT_ZERO}},
    {"scale", 1, HIDDEN, {.init = FILTRA_INIT_CONSTANT, .value = 1.5f, .buffer = true}},
};
enum { COUNT = sizeof WEIGHTS / sizeof *WEIGHTS };

static filtra_tensor *weight(net *n, filtra_graph *g, int i) {
  const int64_t matrix[2] = {WEIGHTS[i].rows, WEIGHTS[i].columns};
  bool vector = WEIGHTS[i].rows == 1;
  return filtra_graph_parameter(g, n->params, WEIGHTS[i].name, vector ? 1 : 2,
                                vector ? matrix + 1 : matrix, &WEIGHTS[i].options);
}

static void build(net *n, filtra_graph *g) {
  n->x = test_input(g, "x", ROWS, IN);
  n->labels = filtra_graph_input(g, "labels", FILTRA_I32, 1, (int64_t[]){ROWS});
  const filtra_linear_options relu = {.activation = FILTRA_ACTIVATION_TANH};
  filtra_tensor *h = filtra_linear(g, n->x, weight(n, g, 0), weight(n, g, 1), &relu);
  h = filtra_multiply(g, h, weight(n, g, 4));
  filtra_tensor *logits = filtra_linear(g, h, weight(n, g, 2), weight(n, g, 3), NULL);
  n->loss = filtra_weighted_mean(g, filtra_cross_entropy(g, logits, n->labels, 0), NULL);
}

static net make_net(const filtra_optimizer_options *options) {
  net n = {0};
  assert_ok(filtra_parameters_create(test_device(), &n.params));
  n.g = test_graph(test_device(), NULL);
  build(&n, n.g);
  assert_ok(filtra_parameters_commit(n.params, 3, FILTRA_FIXED));
  assert_ok(filtra_optimizer_create(n.params, options, &n.opt));
  assert_ok(filtra_graph_backward(n.g, 1, &n.loss, NULL));
  assert_ok(filtra_optimizer_watch_loss(n.opt, n.g, n.loss));
  filtra_graph_output(n.g, n.loss);
  assert_ok(filtra_graph_compile(n.g));
  return n;
}

static void free_net(net *n) {
  filtra_graph_destroy(&n->g);
  filtra_optimizer_destroy(&n->opt);
  filtra_parameters_destroy(&n->params);
}

static void run(net *n, uint64_t seed, float poison) {
  float x[ROWS * IN];
  int32_t labels[ROWS];
  test_random(seed, -1, 1, x, ROWS * IN);
  x[3] += poison;
  for (int i = 0; i < ROWS; i++)
    labels[i] = (int32_t)(seed + (uint64_t)i) % OUT;
  assert_ok(filtra_graph_set(n->g, n->x, x));
  assert_ok(filtra_graph_set(n->g, n->labels, labels));
  assert_ok(filtra_graph_submit(n->g, NULL));
}

static void step(net *n, uint64_t seed) {
  run(n, seed, 0);
  assert_ok(filtra_optimizer_step(n->opt));
}

typedef struct values {
  float of[COUNT][HIDDEN * IN];
} values;

static size_t elements(int i) {
  return (size_t)(WEIGHTS[i].rows * WEIGHTS[i].columns);
}

static values all_values(const net *n) {
  values v;
  memset(&v, 0, sizeof v);
  for (int i = 0; i < COUNT; i++)
    assert_ok(filtra_parameters_get(n->params, WEIGHTS[i].name, v.of[i], elements(i)));
  return v;
}

static bool same(const values *a, const values *b, int i) {
  return !memcmp(a->of[i], b->of[i], sizeof a->of[i]);
}

/* Frozen parameters and buffers stay, bit for bit; the others learn. */
TEST(test_groups) {
  const filtra_parameter_group groups[] = {{.names = "first.*", .frozen = true},
                                           {.names = "first.b", .rate_scale = 0.5f}};
  net n = make_net(&(filtra_optimizer_options){.groups = groups, .group_count = 2});
  values before = all_values(&n);
  for (uint64_t i = 0; i < 5; i++)
    step(&n, i);
  assert_ok(filtra_optimizer_finish(n.opt, NULL));
  values after = all_values(&n);
  assert_true(same(&before, &after, 0) && same(&before, &after, 4));
  assert_false(same(&before, &after, 1) || same(&before, &after, 2) || same(&before, &after, 3));
  free_net(&n);

  /* AdamW's first step is one learning rate long whatever the gradient: half of it in the group. */
  n = make_net(
      &(filtra_optimizer_options){.learning_rate = 0.01f, .groups = groups, .group_count = 2});
  step(&n, 1);
  assert_ok(filtra_optimizer_finish(n.opt, NULL));
  after = all_values(&n);
  assert_true(fabsf(fabsf(after.of[1][0] - before.of[1][0]) - 0.005f) < 1e-5f);
  assert_true(fabsf(fabsf(after.of[3][0] - before.of[3][0]) - 0.01f) < 1e-5f);
  free_net(&n);
}

/* A frozen parameter's gradient does not count for clipping. */
TEST(test_norm_of_groups) {
  const filtra_parameter_group frozen = {.names = "second.*", .frozen = true};
  net n = make_net(&(filtra_optimizer_options){.groups = &frozen, .group_count = 1});
  filtra_optimizer_metrics r;
  step(&n, 4);
  assert_ok(filtra_optimizer_finish(n.opt, &r));
  double sum = 0;
  for (int i = 0; i < 2; i++) {
    float gradient[HIDDEN * IN];
    assert_ok(filtra_parameters_get_gradient(n.params, WEIGHTS[i].name, gradient, elements(i)));
    for (size_t k = 0; k < elements(i); k++)
      sum += (double)gradient[k] * (double)gradient[k];
  }
  assert_true(fabs((double)r.gradient_norm - sqrt(sum)) < 1e-6);
  free_net(&n);
}

/* Four times the same micro-batch at a quarter each is one step by it; scales are exact here. */
TEST(test_accumulation) {
  net once = make_net(NULL), often = make_net(NULL);
  filtra_optimizer_metrics a, b;
  for (uint64_t i = 0; i < 3; i++) {
    step(&once, i);
    for (int k = 0; k < 4; k++) {
      run(&often, i, 0);
      assert_ok(filtra_optimizer_accumulate(often.opt, 0.25f));
    }
    assert_ok(filtra_optimizer_step(often.opt));
  }
  assert_ok(filtra_optimizer_finish(once.opt, &a));
  assert_ok(filtra_optimizer_finish(often.opt, &b));
  values x = all_values(&once), y = all_values(&often);
  for (int i = 0; i < COUNT; i++)
    for (size_t k = 0; k < elements(i); k++)
      assert_true(fabsf(x.of[i][k] - y.of[i][k]) < 1e-6f);
  assert_true(fabsf(a.loss - b.loss) < 1e-6f);
  assert_int_equal(b.step, 3);

  run(&often, 77, 0); /* forgotten: the step takes what comes behind */
  assert_ok(filtra_optimizer_accumulate(often.opt, 1000));
  filtra_optimizer_discard(often.opt);
  step(&once, 8);
  step(&often, 8);
  x = all_values(&once), y = all_values(&often);
  assert_true(fabsf(x.of[0][0] - y.of[0][0]) < 1e-6f);
  free_net(&once);
  free_net(&often);
}

/* Gradients written between run and step, as a sum over devices would be. */
TEST(test_written_gradients) {
  net n = make_net(&(filtra_optimizer_options){.learning_rate = 0.01f});
  float zeros[HIDDEN * IN] = {0}, gradient[OUT] = {1, -1, 0};
  values before = all_values(&n);
  run(&n, 1, 0);
  for (int i = 0; i < 3; i++)
    assert_ok(filtra_parameters_set_gradient(n.params, WEIGHTS[i].name, zeros, elements(i)));
  assert_ok(filtra_parameters_set_gradient(n.params, "second.b", gradient, OUT));
  assert_ok(filtra_optimizer_step(n.opt));
  values after = all_values(&n);
  assert_true(same(&before, &after, 0) && same(&before, &after, 1) && same(&before, &after, 2));
  for (int i = 0; i < OUT; i++)
    assert_true(fabsf(after.of[3][i] - before.of[3][i] + 0.01f * gradient[i]) < 1e-6f);
  free_net(&n);
}

TEST(test_learning_rate) {
  net n = make_net(&(filtra_optimizer_options){.learning_rate = 0.01f});
  filtra_optimizer_metrics r;
  step(&n, 1);
  assert_ok(filtra_optimizer_set_learning_rate(n.opt, 0.25f));
  step(&n, 2);
  assert_ok(filtra_optimizer_finish(n.opt, &r));
  assert_true(r.learning_rate == 0.25f);
  values before = all_values(&n);
  assert_ok(filtra_optimizer_set_learning_rate(n.opt, 0));
  step(&n, 3);
  values after = all_values(&n);
  assert_memory_equal(&before, &after, sizeof before);
  assert_fails(filtra_optimizer_set_learning_rate(n.opt, NAN), FILTRA_ERROR_ARGUMENT,
               "learning_rate is nan");
  free_net(&n);
}

/* A bad step, and the one behind it that was in flight, leave nothing behind; training goes on as
 * if they had not been asked for, and files can be written and read in between. */
TEST(test_bad_step) {
  owned char *path = ft_path_join(test_folder(), "state.safetensors");
  for (int accumulated = 0; accumulated < 2; accumulated++) {
    net good = make_net(NULL), bad = make_net(NULL);
    for (uint64_t i = 0; i < 3; i++) {
      step(&good, i);
      step(&bad, i);
    }
    run(&bad, 3, NAN);
    if (accumulated) assert_ok(filtra_optimizer_accumulate(bad.opt, 1));
    assert_ok(filtra_optimizer_step(bad.opt));
    step(&bad, 9);
    filtra_optimizer_metrics r;
    assert_fails(filtra_optimizer_finish(bad.opt, &r), FILTRA_ERROR_NONFINITE, "step 4");
    assert_int_equal(filtra_optimizer_step_count(bad.opt), 3);
    assert_ok(filtra_optimizer_finish(bad.opt, &r));
    assert_int_equal(r.step, 3);
    assert_ok(filtra_optimizer_save(bad.opt, path));
    assert_ok(filtra_optimizer_restore(bad.opt, path));
    for (uint64_t i = 3; i < 6; i++) {
      step(&good, i);
      step(&bad, i);
    }
    assert_fails(filtra_optimizer_accumulate(bad.opt, NAN), FILTRA_ERROR_ARGUMENT, "times nan");
    assert_ok(filtra_optimizer_finish(good.opt, NULL));
    assert_ok(filtra_optimizer_finish(bad.opt, NULL));
    values x = all_values(&good), y = all_values(&bad);
    assert_memory_equal(&x, &y, sizeof x);
    free_net(&good);
    free_net(&bad);
  }
}

/* Saved, loaded into a fresh set, bitwise the same; and trained on from there. */
TEST(test_files) {
  const filtra_optimizer_options options = {.schedule = FILTRA_SCHEDULE_LINEAR, .steps = 20};
  owned char *whole = ft_path_join(test_folder(), "state.safetensors");
  owned char *weights = ft_path_join(test_folder(), "weights.safetensors");
  net a = make_net(&options), b = make_net(&options);
  for (uint64_t i = 0; i < 4; i++)
    step(&a, i);
  assert_ok(filtra_optimizer_save(a.opt, whole));
  assert_ok(filtra_parameters_save(a.params, weights));
  assert_ok(filtra_parameters_load(b.params, weights));
  values x = all_values(&a), y = all_values(&b);
  assert_memory_equal(&x, &y, sizeof x);
  assert_ok(filtra_optimizer_restore(b.opt, whole));
  assert_int_equal(filtra_optimizer_step_count(b.opt), 4);
  step(&a, 5);
  step(&b, 5);
  x = all_values(&a), y = all_values(&b);
  assert_memory_equal(&x, &y, sizeof x);

  float nan = NAN, scale[HIDDEN] = {0};
  scale[2] = nan;
  assert_ok(filtra_parameters_set(b.params, "scale", scale, HIDDEN));
  assert_fails(filtra_parameters_save(b.params, weights), FILTRA_ERROR_NONFINITE, "tensor scale");
  assert_ok(filtra_parameters_load(b.params, weights)); /* the old file is still there */
  assert_fails(filtra_parameters_load(b.params, whole), FILTRA_ERROR_INPUT, "missing");
  free_net(&a);
  free_net(&b);
}

/* Tensors of another program's file, all with the same numbers. */
static void describe_weights(filtra_dtype dtype, const void *numbers, ft_safetensor *tensors) {
  for (int i = 0; i < COUNT; i++) {
    bool vector = WEIGHTS[i].rows == 1;
    tensors[i] = (ft_safetensor){
        .name = WEIGHTS[i].name, .dtype = dtype, .ndim = vector ? 1 : 2, .data = numbers};
    tensors[i].shape[0] = vector ? WEIGHTS[i].columns : WEIGHTS[i].rows;
    tensors[i].shape[1] = WEIGHTS[i].columns;
  }
}

/* Weights of other programs in 16 bits are read as what they say. */
TEST(test_half_file) {
  owned char *path = ft_path_join(test_folder(), "half.safetensors");
  net n = make_net(NULL);
  uint16_t ones[HIDDEN * IN];
  ft_safetensor tensors[COUNT];
  for (int i = 0; i < HIDDEN * IN; i++)
    ft_element_set(FILTRA_BF16, ones, (size_t)i, 0.5f * (float)i);
  describe_weights(FILTRA_BF16, ones, tensors);
  assert_ok(ft_safetensors_write(path, tensors, COUNT, NULL, 0));
  assert_ok(filtra_parameters_load(n.params, path));
  values v = all_values(&n);
  for (int i = 0; i < COUNT; i++)
    for (size_t k = 0; k < elements(i); k++)
      assert_true(v.of[i][k] == 0.5f * (float)k);
  free_net(&n);
}

/* A number that is finite in a file of F64 and none of F32, and a tensor too many. */
TEST(test_other_files) {
  owned char *path = ft_path_join(test_folder(), "large.safetensors");
  net n = make_net(NULL);
  double numbers[HIDDEN * IN] = {0};
  ft_safetensor tensors[COUNT + 1];
  describe_weights(FILTRA_F64, numbers, tensors);
  assert_ok(ft_safetensors_write(path, tensors, COUNT, NULL, 0));
  assert_ok(filtra_parameters_load(n.params, path));
  tensors[COUNT] = tensors[0];
  tensors[COUNT].name = "third.weight";
  assert_ok(ft_safetensors_write(path, tensors, COUNT + 1, NULL, 0));
  assert_fails(filtra_parameters_load(n.params, path), FILTRA_ERROR_INPUT,
               "tensor third.weight is none of the");
  numbers[1] = 1e300;
  assert_ok(ft_safetensors_write(path, tensors, COUNT, NULL, 0));
  assert_fails(filtra_parameters_load(n.params, path), FILTRA_ERROR_INPUT, "NaN or an infinity");
  free_net(&n);
}

TEST(test_refused) {
  net n = make_net(NULL);
  const filtra_parameter_group nobody = {.names = "third.*"}, unnamed = {.frozen = true},
                               buffer = {.names = "scale"};
  const filtra_parameter_group all = {.names = "*", .frozen = true},
                               heavy = {.names = "*", .weight_decay = 1001.0f};
  const struct {
    filtra_optimizer_options options;
    const char *message;
  } cases[] = {
      {{.groups = &nobody, .group_count = 1}, "\"third.*\" names no trained parameter"},
      {{.groups = &buffer, .group_count = 1},
       "\"scale\" names no trained parameter (scale is a buffer)"},
      {{.groups = &unnamed, .group_count = 1}, "has no names"},
      {{.group_count = 1}, "groups is NULL"},
      {{.groups = &all, .group_count = 1}, "all are frozen"},
      {{.groups = &heavy, .group_count = 1}, "weight_decay is 1001, accepted are at most 1000"},
      {{.beta1 = 1}, "\"beta1\" is 1, accepted are 1e-06 to 0.99999"},
      {{.learning_rate = -1}, "\"learning_rate\" is -1, accepted are 1e-12 to 10"},
      {{.schedule = FILTRA_SCHEDULE_COSINE}, "needs steps"},
      {{.kind = (filtra_optimizer_kind)7}, "\"optimizer\" must be one of adamw, adam, radam"},
  };
  filtra_optimizer *opt;
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    assert_fails(filtra_optimizer_create(n.params, &cases[i].options, &opt), FILTRA_ERROR_ARGUMENT,
                 cases[i].message);
  assert_fails(filtra_optimizer_create(NULL, NULL, &opt), FILTRA_ERROR_ARGUMENT, "params");
  assert_fails(filtra_optimizer_step(NULL), FILTRA_ERROR_ARGUMENT, "optimizer");
  assert_fails(filtra_optimizer_watch_loss(n.opt, NULL, NULL), FILTRA_ERROR_ARGUMENT, "g is");
  net early = {0}; /* whose parameters are not committed yet */
  assert_ok(filtra_parameters_create(test_device(), &early.params));
  assert_ok(filtra_graph_create(test_device(), NULL, &early.g));
  build(&early, early.g);
  assert_fails(filtra_optimizer_create(early.params, NULL, &opt), FILTRA_ERROR_ARGUMENT,
               "commit the parameters first");
  assert_fails(filtra_optimizer_watch_loss(n.opt, early.g, early.x), FILTRA_ERROR_ARGUMENT,
               "must have one element");
  free_net(&early);
  free_net(&n);
}

TEST_MAIN(NULL, test_teardown)
