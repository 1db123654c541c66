/* Runs and checkpoints continue with the configurations that they began with, bit for bit, even if
 * the device has been tuned since. */
#include "base/file.h"
#include "ops/tuning.h"
#include "support/harness.h"
#include "support/run.h"
#include "train/trainer.h"

#include <filtra/filtra.h>

static const char *config_text(void) {
  static char text[2048];
  snprintf(text, sizeof text,
           "{\"data\": \"%s\", \"mixer\": \"softmax\", \"width\": 24, \"heads\": 2, \"layers\": 1, "
           "\"batch_size\": 8, \"dropout\": 0.1, \"learning_rate\": 0.01, \"steps\": 6, "
           "\"eval_every\": 3, \"checkpoint_every\": 3, \"log_every\": 1}",
           test_listops());
  return text;
}

static bool stop_after(void *user, const filtra_run_progress *progress) {
  return progress->last.step < *(const uint64_t *)user;
}

/* NULL resumes; 0 goes on to the end. Under way with that tuning on the device. */
static filtra_status run(const char *config, const char *folder, uint64_t steps,
                         ft_tuning *tuning) {
  filtra_device *dev = test_device();
  ft_tuning *before = ft_tuning_use(dev, tuning);
  filtra_status status =
      filtra_run_train(dev, &(filtra_run_options){.config = config,
                                                  .folder = folder,
                                                  .progress = steps ? stop_after : NULL,
                                                  .user = &steps});
  assert_ptr_equal(ft_tuning_use(dev, before), tuning);
  return status;
}

/* For each key that was asked, the `rank`-th last configuration that the op would not take: those
 * cut into most parts, whose sums have another order. */
static ft_tuning *choose_others(const ft_tuning *asked, size_t rank) {
  ft_tuning *t = ft_tuning_new();
  for (size_t i = 0; i < asked->question_count; i++) {
    const ft_tuning_question *q = &asked->questions[i];
    size_t left = rank;
    for (size_t k = ft_configuration_count(q->family); k-- > 0;) {
      ft_configuration c = ft_configuration_at(q->family, k);
      if (ft_configuration_same(&c, &q->standard) || !q->usable(test_device(), q, &c) || left--)
        continue;
      ft_tuning_entry *e = ft_tuning_add(t, q->key, q->family);
      e->chosen = true;
      e->choice = c;
      break;
    }
  }
  assert_true(ft_tuning_chosen(t) > 2);
  return t;
}

static ft_tuning *other_choices(size_t rank) {
  static ft_tuning *asked;
  if (!asked) {
    asked = ft_tuning_new();
    asked->collect = true;
    assert_ok(run(config_text(), test_new_run(), 0, asked));
  }
  return choose_others(asked, rank);
}

static uint64_t bits(const char *path) {
  size_t size;
  uint64_t hash = 14695981039346656037u;
  owned char *data = test_read(path, &size);
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ (unsigned char)data[i]) * 1099511628211u;
  return hash;
}

/* ---- whole runs ---- */

TEST(test_runs_stay_as_they_began) {
  ft_tuning *a = other_choices(0), *b = other_choices(1), *const tunings[] = {NULL, a, b};
  const char *whole[3];
  for (int i = 0; i < 3; i++) {
    whole[i] = test_new_run();
    assert_ok(run(config_text(), whole[i], 0, tunings[i]));
    test_no_leftovers(whole[i]);
  }
  /* Else this test would show nothing. */
  assert_true(bits(test_path(whole[0], "model.safetensors")) !=
              bits(test_path(whole[1], "model.safetensors")));
  for (int i = 0; i < 3; i++) {
    const char *parts = test_new_run();
    assert_int_equal(run(config_text(), parts, 3, tunings[i]), FILTRA_ERROR_CANCELLED);
    assert_ok(run(NULL, parts, 0, tunings[(i + 1) % 3]));
    test_same_run(whole[i], parts);
  }
  /* A run that was killed before its first checkpoint. */
  const char *early = test_new_run();
  assert_int_equal(run(config_text(), early, 3, a), FILTRA_ERROR_CANCELLED);
  assert_int_equal(remove(test_path(early, "checkpoint/state.safetensors")), 0);
  assert_ok(run(NULL, early, 0, b));
  test_same_run(whole[1], early);
  ft_tuning_release(&a);
  ft_tuning_release(&b);
}

static int warnings;

static void count_warnings(void *user, filtra_log_level level, const char *message) {
  (void)user;
  warnings += level == FILTRA_LOG_WARNING && strstr(message, "another driver");
}

/* A run that moved on: said once for the folder, once for the checkpoint. */
TEST(test_other_drivers) {
  ft_tuning *a = other_choices(0);
  const char *folder = test_new_run();
  assert_int_equal(run(config_text(), folder, 3, a), FILTRA_ERROR_CANCELLED);
  test_patch(test_path(folder, "tuning.json"), "\"driver_uuid\":\"", "\"driver_uuiD\":\"");
  test_patch(test_path(folder, "checkpoint/state.safetensors"), "\\\"driver_uuid\\\":\\\"",
             "\\\"driver_uuiD\\\":\\\"");
  filtra_log_set(count_warnings, NULL);
  assert_ok(run(NULL, folder, 0, NULL));
  filtra_log_set(NULL, NULL);
  assert_int_equal(warnings, 2);
  /* Damaged is not foreign. */
  test_write(test_path(folder, "tuning.json"), "{", 1);
  assert_fails(run(NULL, folder, 0, NULL), FILTRA_ERROR_INPUT, "tuning.json");
  ft_tuning_release(&a);
}

/* ---- trainers alone ---- */

enum { SIZE = 8, LENGTH = 40, WIDTH = 16 };

static void step(filtra_trainer *trainer, int steps) {
  static int32_t tokens[SIZE * LENGTH], lengths[SIZE], labels[SIZE];
  static float weights[SIZE];
  for (int i = 0; i < SIZE * LENGTH; i++)
    tokens[i] = i % 7;
  for (int i = 0; i < SIZE; i++) {
    lengths[i] = LENGTH;
    labels[i] = i % 2;
    weights[i] = 1.0f;
  }
  const filtra_batch batch = {.size = SIZE,
                              .length = LENGTH,
                              .count = SIZE,
                              .tokens = tokens,
                              .lengths = lengths,
                              .labels = labels,
                              .weights = weights};
  for (int i = 0; i < steps; i++)
    assert_ok(filtra_trainer_step(trainer, &batch, NULL));
}

static void make(ft_tuning *tuning, filtra_model **model, filtra_trainer **trainer) {
  ft_tuning *before = ft_tuning_use(test_device(), tuning);
  assert_ok(filtra_model_create(test_device(),
                                &(filtra_model_config){.mixer = "softmax",
                                                       .vocabulary = 8,
                                                       .classes = 2,
                                                       .max_length = LENGTH,
                                                       .layers = 1,
                                                       .heads = 2,
                                                       .width = WIDTH,
                                                       .ffn_width = 16,
                                                       .seed = 1},
                                model));
  assert_ok(filtra_trainer_create(
      *model, &(filtra_train_options){.optimizer = {.learning_rate = 0.01f}}, trainer));
  ft_tuning_use(test_device(), before);
}

/* Every key that this trainer asks, answered with something else. */
static ft_tuning *trainer_choices(void) {
  ft_tuning *asked = ft_tuning_new();
  filtra_model *model;
  filtra_trainer *trainer;
  asked->collect = true;
  make(asked, &model, &trainer);
  step(trainer, 1);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  ft_tuning *others = choose_others(asked, 0);
  ft_tuning_release(&asked);
  return others;
}

TEST(test_checkpoints_carry_choices) {
  ft_tuning *choices = trainer_choices(), *const tunings[] = {NULL, choices};
  float bias[2][WIDTH];
  for (int i = 0; i < 2; i++) {
    const char *folder = test_folder();
    owned_model *model = NULL, *other = NULL;
    owned_trainer *trainer = NULL, *restored = NULL;
    make(tunings[i], &model, &trainer);
    step(trainer, 3);
    assert_ok(filtra_trainer_save(trainer, test_path(folder, "half")));
    step(trainer, 3);
    assert_ok(filtra_trainer_save(trainer, test_path(folder, "whole")));
    /* One that has graphs of its own by then. */
    make(tunings[!i], &other, &restored);
    step(restored, 1);
    assert_ok(filtra_trainer_restore(restored, test_path(folder, "half")));
    step(restored, 3);
    assert_ok(filtra_trainer_save(restored, test_path(folder, "again")));
    assert_true(bits(test_path(folder, "whole")) == bits(test_path(folder, "again")));
    assert_ok(filtra_parameters_get(model->params, "norm.bias", bias[i], WIDTH));
  }
  assert_memory_not_equal(bias[0], bias[1], sizeof bias[0]); /* else this test would show nothing */
  ft_tuning_release(&choices);
}

TEST_MAIN(NULL, test_teardown)
