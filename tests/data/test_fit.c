/* Files for a model whose training data came from a program's arrays: numbers that were not
 * standardised, and rows whose columns have means of their own. */
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

static const char SERIES[] = "@problemName x\n@classLabel true a b\n@data\n1.5,2:a\n-3,1e9:b\n";

static filtra_status open_as(const char *text, const ft_data_fit *fit, filtra_dataset **ds) {
  const char *path = test_write_text(test_folder(), "x.ts", text);
  return ft_dataset_open_fitted(path, &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST},
                                fit, ds);
}

static void assert_numbers(const filtra_dataset *ds, float a, float b, float c, float d) {
  float x[2], y[2];
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 0, x));
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TEST, 1, y));
  assert_true(x[0] == a && x[1] == b && y[0] == c && y[1] == d);
}

TEST(numbers_that_were_not_standardised) {
  const ft_data_fit plain = {.plain = true};
  owned_dataset *ds = NULL, *missing = NULL;
  assert_ok(open_as(SERIES, &plain, &ds));
  assert_numbers(ds, 1.5f, 2.0f, -3.0f, 1e9f);
  assert_fails(
      open_as("@problemName x\n@classLabel true a b\n@data\n1,2:a\n?,?:b\n", &plain, &missing),
      FILTRA_ERROR_INPUT, "x.ts: a number of the test split is missing (NaN)");
}

/* What a program's data say of themselves is what a file is read by. */
TEST(arrays_say_that_they_are_not_standardised) {
  const float numbers[] = {1, 2};
  const uint32_t lengths[] = {1, 1};
  const int32_t labels[] = {0, 1};
  filtra_dataset_arrays arrays = {.target = FILTRA_TARGET_CLASS, .features = 1, .classes = 2};
  arrays.splits[FILTRA_SPLIT_TRAIN] =
      (filtra_samples){.count = 2, .lengths = lengths, .features = numbers, .labels = labels};
  for (int standardise = 0; standardise < 2; standardise++) {
    owned_dataset *ds = NULL;
    arrays.standardise = standardise;
    assert_ok(filtra_dataset_create(&arrays, &ds));
    json_auto_t *said = ft_dataset_fit_write(ds, 0);
    assert_true(json_is_false(json_object_get(said, "standardised")) == !standardise);
    assert_true((json_object_get(said, "feature_mean") != NULL) == standardise);
  }
}

TEST(rows_of_columns_in_a_file_of_series) {
  const double mean[] = {0.5, 0.0}, factor[] = {2.0, 0.25};
  ft_data_fit fit = {.mean = mean, .factor = factor, .features = 2, .columns = true};
  owned_dataset *ds = NULL, *other = NULL;
  assert_ok(open_as(SERIES, &fit, &ds));
  assert_numbers(ds, 2.0f, 0.5f, -7.0f, 2.5e8f);
  assert_fails(
      open_as("@problemName x\n@classLabel true a b\n@data\n1,2:a\n1,2,3:b\n", &fit, &other),
      FILTRA_ERROR_INPUT, "x.ts: sample 1 of test has 3 numbers; a row of the training data has 2");
}

TEST_MAIN(NULL, test_teardown)
