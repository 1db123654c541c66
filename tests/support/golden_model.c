#include "support/golden_model.h"

#include "graph/parameters.h"
#include "model/model.h"
#include "support/harness.h"

const char *test_golden_path(const char *folder, const char *name, const char *end) {
  static char path[600];
  snprintf(path, sizeof path, "%s/golden/%s/%s%s", TEST_SOURCE_DIR, folder, name, end);
  return path;
}

filtra_model *test_golden_model(const char *folder, const char *name) {
  filtra_model *model;
  assert_ok(
      filtra_model_load(test_device(), test_golden_path(folder, name, ".safetensors"), &model));
  return model;
}

void test_golden_open(const char *folder, const char *name, test_golden_batch *g) {
  test_golden_read(test_golden_path(folder, name, ".golden.safetensors"), g);
}

void test_golden_logits(const char *folder, const char *name) {
  test_golden_batch g;
  double loss, score, weight;
  owned_model *model = test_golden_model(folder, name);
  test_golden_open(folder, name, &g);
  const double error = test_golden_difference(model, &g);
  if (!(error <= 2e-5)) fail_msg("%s: logits differ by %g of the largest", name, error);
  assert_ok(filtra_model_evaluate_batch(model, &g.batch, &loss, &score, &weight));
  assert_true(fabs(loss - (double)*g.loss) <= 2e-5 * fabs((double)*g.loss));
  ft_safetensors_close(&g.file);
}

static void check_gradient(filtra_model *model, const ft_parameter *p, const test_golden_batch *g,
                           const char *model_name) {
  char name[160];
  double most = 0, largest = 1e-3;
  snprintf(name, sizeof name, "gradient.%s", p->name);
  const float *expected = test_golden_data(g, name);
  owned float *x = calloc((size_t)p->elements, sizeof *x);
  if (!expected) fail_msg("%s: the reference has no %s", model_name, p->name);
  assert_ok(ft_download(model->device, &model->params->gradients, p->offset, x,
                        (uint64_t)p->elements * sizeof *x));
  for (int64_t n = 0; n < p->elements; n++) {
    most = fmax(most, fabs((double)x[n] - (double)expected[n]));
    largest = fmax(largest, fabs((double)expected[n]));
  }
  if (!(most <= 2e-4 * largest))
    fail_msg("%s: the gradient of %s differs by %g of %g", model_name, p->name, most, largest);
}

void test_golden_gradients(const char *folder, const char *name) {
  test_golden_batch g;
  owned_model *model = test_golden_model(folder, name);
  owned_trainer *trainer;
  test_golden_open(folder, name, &g);
  assert_ok(filtra_trainer_create(
      model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f}}, &trainer));
  assert_ok(filtra_trainer_step(trainer, &g.batch, NULL));
  for (size_t k = 0; k < model->params->count; k++)
    check_gradient(model, &model->params->list[k], &g, name);
  ft_safetensors_close(&g.file);
}
