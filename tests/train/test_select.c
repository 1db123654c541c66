/* Which of a run's models is saved as the best: by accuracy, or by loss. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <jansson.h>

/* Steps so long that a model soon is more wrong where it is wrong, and more often right. */
static const char *config_text(const char *more) {
  return test_text("{\"data\": \"%s\", \"width\": 16, \"layers\": 1, \"batch_size\": 16, "
                   "\"learning_rate\": 0.01, \"steps\": 60, \"eval_every\": 6%s}",
                   test_listops(), more);
}

typedef struct validation {
  int64_t step;
  double loss, accuracy;
} validation;

static bool is_better(const validation *a, const validation *b, bool by_accuracy) {
  if (by_accuracy && a->accuracy != b->accuracy) return a->accuracy > b->accuracy;
  return a->loss < b->loss;
}

/* The evaluation in a run's metrics that is best. */
static validation best_of(const char *folder, bool by_accuracy) {
  validation best = {.step = -1};
  char *text = test_read(test_path(folder, "metrics.jsonl"), NULL), *rest = text, *line;
  while ((line = strsep(&rest, "\n")) && *line) {
    json_auto_t *object = json_loads(line, 0, NULL);
    const json_t *loss = json_object_get(object, "validation_loss");
    validation v = {json_integer_value(json_object_get(object, "step")), json_number_value(loss),
                    json_number_value(json_object_get(object, "validation_accuracy"))};
    if (loss && (best.step < 0 || is_better(&v, &best, by_accuracy))) best = v;
  }
  free(text);
  assert_true(best.step > 0);
  return best;
}

static void assert_kept(const char *folder, const validation *expected) {
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &e, NULL));
  assert_float_equal(e.loss, expected->loss, 1e-6 * expected->loss); /* metrics have nine digits */
  assert_float_equal(e.accuracy, expected->accuracy, 1e-6);
}

/* The same run but for the model that is left of it, also where it was stopped in between. */
TEST(each_keeps_its_own) {
  const char *by_default = test_new_run(), *by_accuracy = test_new_run(), *by_loss = test_new_run();
  const char *stopped = test_new_run();
  assert_ok(test_train(config_text(""), by_default, 100));
  assert_ok(test_train(config_text(", \"select_by\": \"accuracy\""), by_accuracy, 100));
  assert_ok(test_train(config_text(", \"select_by\": \"loss\""), by_loss, 100));
  validation accurate = best_of(by_default, true), lowest = best_of(by_default, false);
  print_message("by accuracy step %d, by loss step %d\n", (int)accurate.step, (int)lowest.step);
  assert_true(accurate.step != lowest.step);
  test_same_run(by_default, by_accuracy); /* whose configuration says what the default came to */
  assert_kept(by_accuracy, &accurate);
  assert_kept(by_loss, &lowest);
  uint64_t between = (uint64_t)(accurate.step + lowest.step) / 2;
  assert_int_equal(test_train(config_text(", \"select_by\": \"loss\""), stopped, between),
                   FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, stopped, 100));
  test_same_run(by_loss, stopped);
}

#define TEXT_RUN                                                                                   \
  "{\"data\": \"%s\", \"width\": 8, \"layers\": 1, \"heads\": 1, \"max_length\": 8, "              \
  "\"batch_size\": 2, \"steps\": 2%s}"

/* Text is judged by its loss whichever way that is said, and by nothing else. */
TEST(text_by_its_loss) {
  const char *text = test_path(test_folder(), "text.txt"), *folder = test_new_run();
  test_write(text, "to be or not to be that is the question", 39);
  const char *with = test_text(TEXT_RUN, text, ", \"select_by\": \"accuracy\"");
  assert_fails(test_train(with, folder, 100), FILTRA_ERROR_INPUT,
               "\"select_by\" is accuracy; in task \"language_model\" accepted are auto, loss");
  assert_ok(test_train(test_text(TEXT_RUN, text, ""), folder, 100));
  owned char *kept = test_read(test_path(folder, "config.json"), NULL);
  assert_non_null(strstr(kept, "\"select_by\": \"loss\""));
}

TEST_MAIN(NULL, test_teardown)
