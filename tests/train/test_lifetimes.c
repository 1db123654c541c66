/* Objects made on a device, from graphs to trainers: the order in which they can be destroyed, the
 * objects with which they can be combined, and the process in which they can be used. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include <sys/wait.h>
#include <unistd.h>

static const int64_t FOUR[] = {4};

static filtra_device *other_device(void) {
  return test_open_device("");
}

/* A parent outlives its children: closing it early is an error that changes nothing. */
TEST(test_parents_go_last) {
  filtra_device *device = other_device();
  filtra_parameters *params;
  filtra_arena *arena;
  filtra_graph *g;
  filtra_optimizer *o;
  assert_ok(filtra_parameters_create(device, &params));
  assert_ok(filtra_arena_create(device, &arena));
  assert_ok(filtra_graph_create(device, &(filtra_graph_options){.arena = arena}, &g));
  filtra_tensor *p = filtra_graph_parameter(g, params, "p", 1, FOUR, NULL);
  assert_non_null(p);
  filtra_tensor *y = filtra_graph_output(g, filtra_affine(g, p, 2.0f, 1.0f));
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_TRAINABLE));
  assert_ok(filtra_optimizer_create(params, NULL, &o));
  assert_ok(filtra_graph_compile(g));
  assert_fails(filtra_device_close(&device), FILTRA_ERROR_ARGUMENT, "objects made with it are");
  assert_fails(filtra_parameters_destroy(&params), FILTRA_ERROR_ARGUMENT, "2 objects made with it");
  assert_fails(filtra_arena_destroy(&arena), FILTRA_ERROR_ARGUMENT, "1 object made with it is");
  float values[4];
  assert_ok(filtra_graph_execute(g)); /* all goes on */
  assert_ok(filtra_graph_get(g, y, values));
  assert_true(values[3] == 1.0f);
  filtra_graph_destroy(&g);
  assert_ok(filtra_arena_destroy(&arena));
  assert_fails(filtra_parameters_destroy(&params), FILTRA_ERROR_ARGUMENT, "1 object made with it");
  assert_ok(filtra_optimizer_destroy(&o));
  assert_fails(filtra_device_close(&device), FILTRA_ERROR_ARGUMENT, "1 object made with it is");
  assert_ok(filtra_parameters_destroy(&params));
  assert_ok(filtra_parameters_destroy(&params)); /* twice does nothing */
  assert_ok(filtra_arena_destroy(&arena));
  test_close_device(&device);
  assert_null(device);
  assert_ok(filtra_device_close(&device));
}

/* What a graph uses of an optimizer is the optimizer's memory. */
TEST(optimizers_outlive_graphs_that_use_them) {
  filtra_parameters *params;
  filtra_optimizer *o;
  filtra_graph *g;
  assert_ok(filtra_parameters_create(test_device(), &params));
  assert_ok(filtra_graph_create(test_device(), NULL, &g)); /* declares it */
  assert_non_null(filtra_graph_parameter(g, params, "p", 1, FOUR, NULL));
  filtra_graph_destroy(&g);
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_TRAINABLE));
  assert_ok(filtra_optimizer_create(params, &(filtra_optimizer_options){.loss_scale = 8.0f}, &o));
  for (int uses = 1; uses < 4; uses++) {
    assert_ok(filtra_graph_create(test_device(), NULL, &g));
    filtra_tensor *loss = filtra_graph_input(g, "loss", FILTRA_F32, 1, (int64_t[]){1});
    if (uses & 1) assert_ok(filtra_optimizer_watch_loss(o, g, loss));
    if (uses & 2) assert_non_null(filtra_optimizer_loss_scale(o, g));
    assert_ok(filtra_graph_compile(g));
    assert_fails(filtra_optimizer_destroy(&o), FILTRA_ERROR_ARGUMENT,
                 "the optimizer cannot go yet: 1 object made with it is still there");
    assert_ok(filtra_graph_set(g, loss, (float[]){2.0f}));
    assert_ok(filtra_graph_execute(g));
    filtra_graph_destroy(&g);
  }
  assert_ok(filtra_optimizer_destroy(&o));
  assert_ok(filtra_optimizer_destroy(&o)); /* twice does nothing */
  assert_ok(filtra_parameters_destroy(&params));
}

TEST(test_models_go_last) {
  filtra_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_trainer *trainer = toy_trainer(model);
  filtra_graph *g;
  float loss;
  assert_fails(filtra_model_destroy(&model), FILTRA_ERROR_ARGUMENT, "the model cannot go yet");
  toy_train(trainer, 0, 1, &loss);
  filtra_trainer_destroy(&trainer);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  const char *name = filtra_parameters_name(filtra_model_parameters(model), 0);
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_parameters_shape(filtra_model_parameters(model), 0, shape);
  assert_non_null(
      filtra_graph_parameter(g, filtra_model_parameters(model), name, ndim, shape, NULL));
  assert_fails(filtra_model_destroy(&model), FILTRA_ERROR_ARGUMENT, "the model cannot go yet");
  toy_batch batch;
  double score, weight, mean;
  toy_make_batch(1, &batch);
  assert_ok(filtra_model_evaluate_batch(model, &batch.batch, &mean, &score, &weight));
  filtra_graph_destroy(&g);
  assert_ok(filtra_model_destroy(&model));
}

/* On a GPU another device's addresses would be read and written. */
TEST(test_objects_of_another_device) {
  filtra_device *device = other_device();
  filtra_parameters *params;
  filtra_arena *arena;
  filtra_graph *g;
  filtra_optimizer *o;
  assert_ok(filtra_parameters_create(device, &params));
  assert_ok(filtra_arena_create(device, &arena));
  assert_fails(filtra_graph_create(test_device(), &(filtra_graph_options){.arena = arena}, &g),
               FILTRA_ERROR_ARGUMENT, "the arena is another device's");
  assert_null(g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  assert_null(filtra_graph_parameter(g, params, "p", 1, FOUR, NULL));
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT,
               "parameter p: the parameters are another device's");
  filtra_graph_destroy(&g);

  assert_ok(filtra_graph_create(device, NULL, &g)); /* declares it */
  assert_non_null(filtra_graph_parameter(g, params, "p", 1, FOUR, NULL));
  filtra_graph_destroy(&g);
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_TRAINABLE));
  assert_ok(filtra_optimizer_create(params, &(filtra_optimizer_options){.loss_scale = 8.0f}, &o));
  const int64_t one[] = {1};
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  filtra_tensor *loss = filtra_graph_input(g, "loss", FILTRA_F32, 1, one);
  assert_fails(filtra_optimizer_watch_loss(o, g, loss), FILTRA_ERROR_ARGUMENT, "another device's");
  assert_fails(filtra_graph_compile(g), FILTRA_ERROR_ARGUMENT, "another device's");
  filtra_graph_destroy(&g);
  assert_ok(filtra_graph_create(test_device(), NULL, &g));
  assert_null(filtra_optimizer_loss_scale(o, g));
  assert_null(filtra_graph_parameter_copy(g, params, "p"));
  filtra_graph_destroy(&g);
  filtra_optimizer_destroy(&o);
  assert_ok(filtra_parameters_destroy(&params));
  assert_ok(filtra_arena_destroy(&arena));
  test_close_device(&device);
}

/* The driver's threads are not in a process that was forked. */
static int use_in_child(filtra_model *model, filtra_device *device, filtra_parameters *params) {
  toy_batch batch;
  double loss, score, weight;
  float value[4];
  alarm(30); /* where it hangs */
  toy_make_batch(1, &batch);
  if (filtra_model_evaluate_batch(model, &batch.batch, &loss, &score, &weight) !=
          FILTRA_ERROR_ARGUMENT ||
      !strstr(filtra_error_message(), "a process that it forked must open a device"))
    return 1;
  if (filtra_parameters_get(params, "p", value, 4) != FILTRA_ERROR_ARGUMENT) return 2;
  filtra_parameters_destroy(&params);
  return filtra_device_close(&device) || device ? 3 : 0;
}

TEST(test_forked_process) {
  filtra_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_device *device = other_device();
  filtra_parameters *params;
  filtra_graph *g;
  toy_batch batch;
  double loss, score, weight;
  int status;
  assert_ok(filtra_parameters_create(device, &params));
  assert_ok(filtra_graph_create(device, NULL, &g));
  assert_non_null(filtra_graph_parameter(g, params, "p", 1, FOUR, NULL));
  filtra_graph_destroy(&g);
  assert_ok(filtra_parameters_commit(params, 1, FILTRA_FIXED));
  toy_make_batch(1, &batch);
  assert_ok(filtra_model_evaluate_batch(model, &batch.batch, &loss, &score, &weight));
  pid_t child = fork();
  if (!child) _exit(use_in_child(model, device, params));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_ok(filtra_model_evaluate_batch(model, &batch.batch, &loss, &score, &weight));
  assert_ok(filtra_parameters_destroy(&params));
  test_close_device(&device);
  assert_ok(filtra_model_destroy(&model));
}

TEST_MAIN(NULL, test_teardown)
