/* Measures of predictions compared with scikit-learn 1.9 and SciPy 1.17, and runs that select
 * models by them. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include "train/measures.h"

#include <filtra/filtra.h>

static void near(double is, double wanted) {
  assert_float_equal(is, wanted, 1e-12);
}

/* sklearn.metrics.f1_score (of class 1; macro) and matthews_corrcoef. */
TEST(two_classes) {
  const int32_t labels[] = {0, 1, 1, 0, 1, 0, 0, 1, 1, 1}, none[10] = {0};
  const int32_t predicted[] = {0, 1, 0, 0, 1, 1, 0, 1, 0, 1};
  filtra_evaluation e = {0};
  assert_ok(ft_measure_classes(2, 10, labels, predicted, &e));
  near(e.f1, 0.7272727272727273);
  near(e.macro_f1, 0.696969696969697);
  near(e.matthews, 0.408248290463863);
  assert_ok(ft_measure_classes(2, 10, labels, none, &e));
  near(e.f1, 0.0);
  near(e.macro_f1, 0.2857142857142857);
  near(e.matthews, 0.0);
  assert_ok(ft_measure_classes(2, 10, none, none, &e)); /* of a class that is nowhere */
  near(e.f1, 0.0);
}

TEST(more_classes) {
  const int32_t labels[] = {0, 1, 2, 2, 1, 0, 3, 3, 1}, predicted[] = {0, 2, 2, 1, 1, 0, 3, 0, 1};
  filtra_evaluation e = {0};
  assert_ok(ft_measure_classes(4, 9, labels, predicted, &e));
  near(e.macro_f1, 0.6583333333333333);
  near(e.f1, e.macro_f1);
  near(e.matthews, 0.5594023904871686);
}

/* scipy.stats.pearsonr and spearmanr, with ties. */
TEST(correlations) {
  const double values[] = {1.0, 2.5, 2.5, 4.0, -1.0, 0.25, 7.0, 3.0};
  const double predicted[] = {1.5, 2.0, 3.0, 3.0, -0.5, 0.5, 5.0, 1.5};
  const double constant[8] = {3, 3, 3, 3, 3, 3, 3, 3};
  filtra_evaluation e = {0};
  assert_ok(ft_measure_values(8, values, predicted, &e));
  near(e.pearson, 0.9504167658724718);
  near(e.spearman, 0.8666825838483473);
  assert_ok(ft_measure_values(8, values, constant, &e));
  near(e.pearson, 0.0);
  near(e.spearman, 0.0);
}

static const char *config_text(const char *more) {
  return test_text("{\"data\": \"%s\", \"width\": 16, \"layers\": 1, \"batch_size\": 16, "
                   "\"learning_rate\": 0.01, \"steps\": 30, \"eval_every\": 3%s}",
                   test_listops(), more);
}

/* The step of the evaluation with the most of a measure, and the one after which `patience`
 * evaluations had no more; from a run's metrics. */
static void scan(const char *folder, const char *key, int patience, int *best, int *end) {
  owned char *text = test_read(test_path(folder, "metrics.jsonl"), NULL);
  char *rest = text, *line;
  double most = -2.0, loss = 0.0;
  int waited = 0;
  *best = *end = 0;
  while ((line = strsep(&rest, "\n")) && *line) {
    json_auto_t *object = json_loads(line, 0, NULL);
    const json_t *value = json_object_get(object, key);
    if (!value) continue;
    const int step = (int)json_integer_value(json_object_get(object, "step"));
    const double is = json_number_value(value),
                 lost = json_number_value(json_object_get(object, "validation_loss"));
    waited = is > most ? 0 : waited + 1;
    if (is > most || (is == most && lost < loss)) {
      *best = step;
      loss = lost;
    }
    if (is > most) most = is;
    if (waited == patience && !*end) *end = step;
  }
}

/* A run that keeps the best by F1 and stops by it: also where it was stopped in between. */
TEST(best_and_patience_by_f1) {
  const char *folder = test_new_run(), *again = test_new_run();
  const char *by = ", \"select_by\": \"f1\", \"patience_by\": \"macro_f1\", \"patience\": 3";
  int best, end, counted;
  assert_ok(test_train(config_text(by), folder, 100));
  scan(folder, "validation_f1", 3, &best, &end);
  assert_true(best > 0);
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &e, NULL));
  owned char *text = test_read(test_path(folder, "metrics.jsonl"), NULL);
  const char *last = NULL;
  for (const char *at = text; (at = strstr(at, "{\"step\":")); at++)
    last = at;
  counted = atoi(last + 8);
  assert_int_equal(counted, end ? end : 30);
  assert_non_null(strstr(text, test_text("\"step\":%d,", best)));
  assert_int_equal(test_train(config_text(by), again, 7), FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, again, 100));
  test_same_run(folder, again);
}

TEST(measures_of_other_tasks) {
  assert_fails(test_train(config_text(", \"select_by\": \"pearson\""), test_new_run(), 100),
               FILTRA_ERROR_INPUT,
               "\"select_by\" is pearson; in task \"classification\" accepted are auto, accuracy, "
               "loss, f1, macro_f1, matthews");
  assert_fails(test_train(config_text(", \"patience_by\": \"r2\""), test_new_run(), 100),
               FILTRA_ERROR_INPUT, "\"patience_by\" is r2");
  assert_fails(test_train(config_text(", \"regression_loss\": \"mae\""), test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT, "regression_loss is for regression");
}

/* What evaluations say follows from the predictions of the split. */
TEST(evaluations_measure_predictions) {
  const char *folder = test_new_run();
  assert_ok(test_train(config_text(""), folder, 100));
  owned_run *run = NULL;
  owned_model *model = NULL;
  owned_dataset *data = NULL;
  filtra_evaluation e, again = {0};
  assert_ok(filtra_run_open(folder, &run));
  assert_ok(filtra_run_load_model(run, test_device(), &model));
  assert_ok(filtra_run_open_data(run, NULL, FILTRA_SPLIT_TRAIN, NULL, &data));
  assert_ok(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_TRAIN, 7, &e));
  const uint64_t count = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN];
  const size_t outputs = (size_t)filtra_model_outputs(model);
  owned float *logits = test_alloc(count * outputs * sizeof *logits);
  owned int32_t *labels = test_alloc(count * sizeof *labels),
                *predicted = test_alloc(count * sizeof *predicted);
  assert_ok(filtra_model_predict_split(model, data, FILTRA_SPLIT_TRAIN, 7, logits));
  for (uint64_t i = 0; i < count; i++) {
    filtra_sample sample;
    assert_ok(filtra_dataset_sample(data, FILTRA_SPLIT_TRAIN, i, &sample));
    labels[i] = sample.label;
    predicted[i] = 0;
    for (size_t k = 1; k < outputs; k++)
      if (logits[i * outputs + k] > logits[i * outputs + (size_t)predicted[i]])
        predicted[i] = (int32_t)k;
  }
  assert_ok(ft_measure_classes((uint32_t)outputs, count, labels, predicted, &again));
  near(e.macro_f1, again.macro_f1);
  near(e.matthews, again.matthews);
  assert_true(e.macro_f1 > 0.0);
}

enum { ROWS = 60 };

/* A table of x and y = 2 x, except a row in eleven that is far off, which x does not tell. */
static const char *outliers(void) {
  const char *path = test_path(test_folder(), "outliers.csv");
  FILE *file = fopen(path, "w");
  fputs("x,y\n", file);
  for (int i = 0; i < ROWS; i++)
    fprintf(file, "%d.5,%d\n", i % 20, i % 11 == 3 ? 400 : 2 * (i % 20) + 1);
  fclose(file);
  return path;
}

/* Where all values of a split are equal there is nothing to explain: R2 is 0, also where the mean
 * of the values rounds. */
TEST(values_that_are_equal) {
  static const char *const values[] = {"3", "0.1", "7"};
  for (size_t i = 0; i < FT_COUNT(values); i++) {
    const char *data = test_folder(), *v = values[i];
    test_write_text(data, "train.csv", "a,y\n1,2\n2,4\n3,5\n4,9\n5,9.5\n6,11\n");
    test_write_text(
        data, "test.csv",
        test_text("a,y\n1,%s\n2,%s\n3,%s\n4,%s\n5,%s\n6,%s\n7,%s\n", v, v, v, v, v, v, v));
    const char *folder = test_new_run();
    filtra_evaluation e;
    assert_ok(test_train(test_text("{\"data\": \"%s\", \"width\": 16, \"layers\": 1, "
                                   "\"batch_size\": 4, \"steps\": 2, \"task\": \"regression\"}",
                                   data),
                         folder, 100));
    assert_ok(filtra_run_evaluate(test_device(), folder, "test", NULL, NULL, NULL, &e, NULL));
    assert_true(e.r_squared == 0.0);
  }
}

/* Mean errors of predictions of 2 x: less moved by outliers with mae. */
TEST(absolute_errors) {
  const char *data = outliers();
  double error[2];
  for (int i = 0; i < 2; i++) {
    const char *folder = test_new_run(), *loss = i ? "mae" : "mse";
    filtra_evaluation e;
    assert_ok(test_train(
        test_text(
            "{\"data\": \"%s\", \"width\": 16, \"layers\": 1, \"batch_size\": 60, "
            "\"learning_rate\": 0.01, \"steps\": 150, \"eval_every\": 150, "
            "\"validation_share\": 0.1, \"task\": \"regression\", \"regression_loss\": \"%s\"}",
            data, loss),
        folder, 1000));
    assert_ok(filtra_run_evaluate(test_device(), folder, "train", NULL, NULL, NULL, &e, NULL));
    error[i] = e.absolute_error;
    print_message("%s: mae %g, rmse %g, r2 %g, pearson %g, spearman %g\n", loss, e.absolute_error,
                  e.root_mean_square_error, e.r_squared, e.pearson, e.spearman);
    owned char *config = test_read(test_path(folder, "config.json"), NULL);
    assert_non_null(strstr(config, i ? "\"select_by\": \"mae\"" : "\"select_by\": \"loss\""));
  }
  assert_true(error[1] < 0.8 * error[0]);
}

TEST_MAIN(NULL, test_teardown)
