/* How ranks compare the models that they begin with. */
#include "support/harness.h"

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

TEST_MAIN(NULL, test_teardown)
