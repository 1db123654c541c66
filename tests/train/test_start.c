/* How ranks compare the models that they begin with. */
#include "support/harness.h"
#include "support/run.h"

#include "graph/parameters.h"
#include "train/start.h"

#include <filtra/filtra.h>

/* Any value of any parameter counts. */
TEST(values_are_told_apart) {
  const filtra_model_config config = {
      .vocabulary = 9, .classes = 3, .width = 8, .layers = 1, .heads = 1, .seed = 4};
  owned_model *one = test_model(test_device(), &config), *two = test_model(test_device(), &config);
  uint64_t first, second;
  float bias[3] = {0};
  assert_ok(ft_run_hash_start(one, &first));
  assert_ok(ft_run_hash_start(two, &second));
  assert_true(first == second);
  filtra_parameters *params = filtra_model_parameters(two);
  assert_ok(filtra_parameters_get(params, "head.2.bias", bias, 3));
  bias[2] += 1e-6f;
  assert_ok(filtra_parameters_set(params, "head.2.bias", bias, 3));
  assert_ok(ft_run_hash_start(two, &second));
  assert_true(first != second);
}

/* The layer that predicts a value in units of the start's data predicts the same value in those of
 * other data. */
TEST(a_regression_keeps_its_values) {
  filtra_model_config config = {.features = 3,
                                .task = FILTRA_TASK_REGRESSION,
                                .width = 8,
                                .layers = 1,
                                .heads = 1,
                                .target_mean = 2,
                                .target_scale = 3};
  owned_model *one = test_model(test_device(), &config);
  const char *path = test_path(test_folder(), "model.safetensors");
  assert_ok(filtra_model_save(one, path));
  config.target_mean = -1;
  config.target_scale = 0.5f;
  config.seed = 9;
  owned_model *two = test_model(test_device(), &config);
  ft_start *start;
  assert_ok(ft_start_open(path, &start));
  assert_ok(ft_start_take(start, two, true));
  ft_start_close(&start);
  filtra_parameters *a = filtra_model_parameters(one), *b = filtra_model_parameters(two);
  float weight[2][16], bias[2];
  const size_t width = (size_t)ft_parameters_find(a, "head.2.weight")->elements;
  assert_ok(filtra_parameters_get(a, "head.2.weight", weight[0], width));
  assert_ok(filtra_parameters_get(b, "head.2.weight", weight[1], width));
  assert_ok(filtra_parameters_get(a, "head.2.bias", &bias[0], 1));
  assert_ok(filtra_parameters_get(b, "head.2.bias", &bias[1], 1));
  for (size_t i = 0; i < width; i++)
    assert_float_equal(weight[1][i] * 0.5f, weight[0][i] * 3, 1e-5);
  assert_float_equal(bias[1] * 0.5f - 1, bias[0] * 3 + 2, 1e-5);
}

TEST_MAIN(NULL, test_teardown)
