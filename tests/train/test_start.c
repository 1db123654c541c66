/* What a run takes from the model that it begins with, and how ranks compare such models. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include "graph/parameters.h"
#include "train/start.h"

#include <filtra/filtra.h>
#include <jansson.h>

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

static char said[512];

static void keep(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level == FILTRA_LOG_WARNING && strstr(message, "standardised otherwise"))
    snprintf(said, sizeof said, "%s", message);
}

/* A run of a step on rows x,y,label with numbers up to `scale`, and its data.json. */
static const char *trained(const char *header, double scale, const char *start, json_t **reading) {
  static char text[4096];
  char *to = text + sprintf(text, "%s\n", header);
  for (int i = 0; i < 40; i++)
    to += sprintf(to, "%g,%d,%s\n", scale * i / 40, i % 7, i % 3 ? "yes" : "no");
  const char *run = test_new_run(), *data = test_write_text(test_folder(), "x.csv", text);
  test_device(); /* which has a log of its own when it is opened */
  said[0] = '\0';
  filtra_log_set(keep, NULL);
  filtra_run_options options = {
      .config =
          test_text("{\"data\": \"%s\", \"width\": 8, \"layers\": 1, \"heads\": 1, \"steps\": 1"
                    ", \"batch_size\": 4%s}",
                    data, start ? test_text(", \"init_from\": \"%s\"", start) : ""),
      .folder = run};
  assert_ok(filtra_run_train(test_device(), &options));
  filtra_log_set(NULL, NULL);
  *reading = json_load_file(test_path(run, "data.json"), 0, NULL);
  assert_non_null(*reading);
  return run;
}

/* Weights are for the numbers that they were trained on: other data are standardised by the same
 * means and factors, if they have the same columns. */
TEST(features_keep_their_standardisation) {
  json_t *first, *narrow, *other;
  const char *run = trained("x,y,label", 10, NULL, &first);
  trained("x,y,label", 1, run, &narrow);
  assert_true(json_equal(first, narrow) && !*said);
  trained("x,z,label", 1, run, &other);
  assert_false(
      json_equal(json_object_get(first, "feature_mean"), json_object_get(other, "feature_mean")));
  assert_non_null(strstr(said, "features are standardised otherwise than those of the model"));
  json_decref(first);
  json_decref(narrow);
  json_decref(other);
}

TEST_MAIN(NULL, test_teardown)
