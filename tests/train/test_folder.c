/* A run and its folder: a new run takes only a folder of its own, and a resumed run must have the
 * same settings, data and best model. */
#include "base/file.h"
#include "base/memory.h"
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"
#include "train/run.h"

#include <filtra/filtra.h>
#include <jansson.h>
#include <unistd.h>

static const char *config_for(const char *data, const char *more) {
  return test_text("{\"data\": \"%s\", \"mixer\": \"agf\", \"width\": 8, \"layers\": 1, "
                   "\"batch_size\": 8, \"steps\": 6, \"eval_every\": 2, \"checkpoint_every\": 4"
                   "%s}",
                   data, more);
}

static const char *config_text(const char *more) {
  return config_for(test_listops(), more);
}

static bool goes_on(void *user, const filtra_run_progress *progress) {
  int *steps_left = user;
  (void)progress;
  return (*steps_left)-- != 0;
}

/* NULL resumes. Stops after so many steps; -1: not. */
static filtra_status run(const char *config, const char *folder, int steps, bool allow) {
  return filtra_run_train(test_device(), &(filtra_run_options){.config = config,
                                                               .folder = folder,
                                                               .progress = goes_on,
                                                               .user = &steps,
                                                               .allow_changes = allow});
}

static const char *stopped_run(void) {
  const char *folder = test_new_run();
  assert_fails(run(config_text(""), folder, 5, false), FILTRA_ERROR_CANCELLED, "5 of 6");
  return folder;
}

static const char *reference_run(void) {
  static const char *folder;
  if (folder) return folder;
  folder = test_new_run();
  assert_ok(run(config_text(""), folder, -1, false));
  return folder;
}

/* ---- the folder of a new run ---- */

TEST(test_folders_of_others) {
  static const char *const NAMES[] = {"thesis.txt",    "model.safetensors", "data.json",
                                      "metrics.jsonl", "tuning.json",       "basic_train.tsv",
                                      ".hidden"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    const char *folder = test_folder();
    test_write(test_path(folder, NAMES[i]), "mine", 4);
    uint64_t before = test_snapshot(folder);
    assert_fails(run(config_text(""), folder, -1, false), FILTRA_ERROR_ARGUMENT,
                 test_text("holds %s", NAMES[i]));
    assert_true(test_snapshot(folder) == before);
  }
  const char *leftover = test_folder(); /* a checkpoint whose configuration is gone */
  assert_ok(ft_make_directories(test_path(leftover, "checkpoint")));
  assert_fails(run(config_text(""), leftover, -1, false), FILTRA_ERROR_ARGUMENT, "checkpoint");
  assert_fails(run(config_text(""), "", -1, false), FILTRA_ERROR_ARGUMENT, "folder");
  assert_fails(run(NULL, "", -1, false), FILTRA_ERROR_ARGUMENT, "folder");
}

/* An empty folder will do, and what a run leaves that is killed as it begins. */
TEST(test_empty_folders) {
  const char *folder = test_folder();
  assert_ok(run(config_text(""), folder, -1, false));
  test_same_run(reference_run(), folder);
  folder = test_folder();
  test_write(test_path(folder, "metrics.jsonl"), "", 0);
  test_write(test_path(folder, "config.json.12-3.tmp"), "{", 1);
  assert_ok(run(config_text(""), folder, -1, false));
  test_same_run(reference_run(), folder);
}

TEST(test_folder_in_use) {
  const char *folder = test_folder();
  FILE *lock;
  assert_ok(ft_append_open(test_path(folder, "metrics.jsonl"), &lock));
  test_write(test_path(folder, "config.json.12-3.tmp"), "{", 1); /* which it is writing */
  uint64_t before = test_snapshot(folder);
  assert_fails(run(config_text(""), folder, -1, false), FILTRA_ERROR_PATH, "another process");
  assert_true(test_snapshot(folder) == before);
  fclose(lock);
  assert_ok(run(config_text(""), folder, -1, false));
}

/* A run may have come and gone since the folder was seen to be empty. */
TEST(test_folder_taken_meanwhile) {
  ft_metrics *metrics = NULL;
  bool made;
  uint64_t before = test_snapshot(reference_run());
  assert_fails(ft_run_claim_folder(reference_run(), &metrics, &made), FILTRA_ERROR_ARGUMENT,
               "holds a run already");
  ft_metrics_close(&metrics);
  assert_true(test_snapshot(reference_run()) == before);
}

/* ---- the run that it was ---- */

static json_t *identity_of(const char *path) {
  size_t size;
  owned char *data = test_read(path, &size);
  char *at = memmem(data, size, "\"filtra.run\":\"", 14), text[4096] = "";
  assert_non_null(at);
  at += 14;
  for (size_t n = 0; *at != '"' && n + 1 < sizeof text; at++) {
    if (*at == '\\') at++;
    text[n++] = *at;
  }
  json_t *object = json_loads(text, 0, NULL);
  assert_non_null(object);
  return object;
}

static const char *part_of(const json_t *identity, const char *key) {
  const char *text = json_string_value(json_object_get(identity, key));
  assert_non_null(text);
  return text;
}

/* Model and checkpoint are of one run; another seed makes another run of the same data. */
TEST(test_identities) {
  const char *other = test_new_run();
  assert_ok(run(config_text(", \"seed\": 2"), other, -1, false));
  json_auto_t *model = identity_of(test_path(reference_run(), "model.safetensors"));
  json_auto_t *checkpoint = identity_of(test_path(reference_run(), "checkpoint/state.safetensors"));
  json_auto_t *second = identity_of(test_path(other, "model.safetensors"));
  assert_int_equal(json_integer_value(json_object_get(model, "format")), 1);
  assert_int_equal(json_integer_value(json_object_get(checkpoint, "format")), 1);
  assert_string_equal(part_of(model, "id"), part_of(checkpoint, "id"));
  assert_string_equal(part_of(model, "data"), part_of(checkpoint, "data"));
  assert_int_equal(strlen(part_of(model, "id")), 16);
  assert_string_not_equal(part_of(model, "id"), part_of(second, "id"));
}

TEST(test_changed_settings) {
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"\"learning_rate\": 0.001", "\"learning_rate\": 0.002",
       "\"learning_rate\" was 0.001 and is 0.002"},
      {"\"seed\": 1", "\"seed\": 3", "\"seed\" was 1 and is 3"},
      {"\"batch_size\": 8", "\"batch_size\": 4", "\"batch_size\" was 8 and is 4"},
      {"\"dropout\": 0.0", "\"dropout\": 0.1", "\"dropout\" was 0.0 and is 0.1"},
      {"\"K\": 5", "\"K\": 4", "\"mixer.K\" was 5 and is 4"},
      {"\"schedule\": \"constant\"", "\"schedule\": \"cosine\"  ",
       "\"constant\" and is \"cosine\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = stopped_run();
    test_patch(test_path(folder, "config.json"), cases[i].from, cases[i].to);
    uint64_t before = test_snapshot(folder);
    assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, cases[i].part);
    assert_true(test_snapshot(folder) == before);
  }
  const char *folder = stopped_run(); /* told to go on; then it is one run to the end */
  test_patch(test_path(folder, "config.json"), "\"seed\": 1", "\"seed\": 3");
  assert_fails(run(NULL, folder, 0, true), FILTRA_ERROR_CANCELLED, "5 of 6");
  assert_ok(run(NULL, folder, -1, false));
  folder = stopped_run(); /* changes no number */
  test_patch(test_path(folder, "config.json"), "\"log_every\": 10", "\"log_every\": 11");
  assert_ok(run(NULL, folder, -1, false));
  folder = stopped_run();
  test_patch(test_path(folder, "config.json"), "\"steps\": 6", "\"steps\": 2");
  assert_fails(run(NULL, folder, -1, true), FILTRA_ERROR_INPUT,
               "is of step 5; the run has 2 steps");
}

/* A copy of the data that a test can change. */
static const char *copied_data(void) {
  static const char *const NAMES[] = {"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"};
  const char *folder = test_folder();
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    size_t size;
    owned char *text = test_read(test_path(test_listops(), NAMES[i]), &size);
    test_write(test_path(folder, NAMES[i]), text, size);
  }
  return folder;
}

TEST(test_changed_data) {
  for (int kind = 0; kind < 4; kind++) {
    const char *folder = test_new_run(), *data = copied_data();
    const char *path = test_path(data, kind == 3 ? "basic_val.tsv" : "basic_train.tsv");
    assert_fails(run(config_for(data, ""), folder, 5, false), FILTRA_ERROR_CANCELLED, "5 of 6");
    size_t size;
    char *text = test_read(path, &size), *label = text + size - 2;
    if (kind == 0 || kind == 3) *label = *label == '3' ? '4' : '3';
    if (kind == 1) *label = *label; /* only written anew */
    if (kind == 2) {                /* without its last line */
      text[size - 1] = '\0';
      size = (size_t)(strrchr(text, '\n') + 1 - text);
    }
    test_write(path, text, size);
    free(text);
    if (kind == 1) {
      assert_ok(run(NULL, folder, -1, false));
      continue;
    }
    assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, "other data");
    assert_ok(run(NULL, folder, -1, true)); /* without that line, with the next epoch */
  }
}

TEST(test_lost_files) {
  const char *folder = stopped_run(); /* without a checkpoint it begins again */
  ft_remove_tree(test_path(folder, "checkpoint"));
  remove(test_path(folder, "tuning.json"));
  assert_ok(run(NULL, folder, -1, false));
  test_same_run(reference_run(), folder);
  folder = stopped_run();
  remove(test_path(folder, "model.safetensors"));
  assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, "model.safetensors: is missing");
  assert_ok(run(NULL, folder, -1, true)); /* the last evaluation is to come */
  assert_true(ft_file_exists(test_path(folder, "model.safetensors")));
  remove(test_path(folder, "model.safetensors")); /* complete, and none to come */
  assert_fails(run(NULL, folder, -1, true), FILTRA_ERROR_INPUT, "has no model.safetensors");
  folder = stopped_run();
  remove(test_path(folder, "metrics.jsonl"));
  for (int again = 0; again < 2; again++) /* the first leaves an empty one, its lock */
    assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT,
                 "metrics.jsonl: is missing or empty, the log of the 5 steps so far");
  assert_ok(run(NULL, folder, -1, true));
  folder = test_new_run(); /* stopped before its first line */
  const char *config =
      test_text("{\"data\": \"%s\", \"mixer\": \"agf\", \"width\": 8, \"layers\": 1, "
                "\"batch_size\": 8, \"steps\": 6, \"eval_every\": 6, \"log_every\": 6}",
                test_listops());
  assert_fails(run(config, folder, 5, false), FILTRA_ERROR_CANCELLED, "5 of 6");
  assert_int_equal(ft_file_size(test_path(folder, "metrics.jsonl")), 0);
  assert_ok(run(NULL, folder, -1, false));
}

/* Nothing outside is written through a link, and nothing said to be a run's is read through one. */
TEST(test_links) {
  static const char *const NAMES[] = {"metrics.jsonl",     "config.json",    "checkpoint",
                                      "model.safetensors", "eval-test.json", "about.json",
                                      "tuning.json",       "any/depth/link", FILTRA_RUN_CHECKPOINT};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    const char *folder = stopped_run(), *outside = test_folder();
    const char *there = test_path(outside, "theirs"), *link = test_path(folder, NAMES[i]);
    assert_ok(ft_make_directories(test_path(folder, "any/depth")));
    if (ft_file_exists(link))
      assert_int_equal(rename(link, there), 0);
    else
      test_write(there, "{}", 2);
    assert_int_equal(symlink(there, link), 0);
    uint64_t before = test_snapshot(folder);
    filtra_run *opened = NULL;
    assert_fails(run(NULL, folder, -1, true), FILTRA_ERROR_PATH,
                 test_text("%s is a symbolic link", NAMES[i]));
    assert_fails(filtra_run_open(folder, &opened), FILTRA_ERROR_PATH, "symbolic link");
    assert_null(opened);
    assert_true(test_snapshot(folder) == before);
  }
}

/* A folder that looks as one left by a run that was killed as it began. */
TEST(test_links_in_a_new_folder) {
  const char *folder = test_folder(), *there = test_path(test_folder(), "theirs");
  const char *link = test_path(folder, "metrics.jsonl");
  for (int exists = 0; exists < 2; exists++) {
    if (exists) test_write(there, "", 0);
    if (!exists) assert_int_equal(symlink(there, link), 0);
    assert_fails(run(config_text(""), folder, -1, false), FILTRA_ERROR_PATH,
                 test_text("%s is a symbolic link", link));
    assert_int_equal(ft_file_size(there), 0);
    assert_true(ft_file_exists(there) == exists);
    assert_true(ft_is_link(link));
  }
}

static char planted[512], theirs[512];

static bool plant_link(void *user, const filtra_run_progress *progress) {
  (void)user, (void)progress;
  if (ft_is_link(planted)) return true;
  remove(planted);
  return !symlink(theirs, planted);
}

/* Nor is one followed that comes while the run goes on. */
TEST(test_links_during_a_run) {
  static const char *const NAMES[] = {"model.safetensors", FILTRA_RUN_CHECKPOINT, "checkpoint"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    const char *folder = test_new_run(), *outside = test_folder();
    const char *link = test_path(folder, NAMES[i]), *there = test_path(outside, "theirs");
    if (i == 2)
      assert_ok(ft_make_directories(there));
    else
      test_write(there, "mine", 4);
    uint64_t before = test_snapshot(outside);
    snprintf(planted, sizeof planted, "%s", link);
    snprintf(theirs, sizeof theirs, "%s", there);
    assert_fails(filtra_run_train(test_device(), &(filtra_run_options){.config = config_text(""),
                                                                       .folder = folder,
                                                                       .progress = plant_link}),
                 FILTRA_ERROR_PATH, test_text("%s is a symbolic link", link));
    assert_true(test_snapshot(outside) == before);
    assert_true(ft_is_link(link));
  }
}

/* A run of equal settings and data has the same bits, whoever trained it. */
TEST(test_checkpoint_of_an_equal_run) {
  static const char *const NAMES[] = {"checkpoint/state.safetensors", "model.safetensors"};
  const char *folder = test_new_run(), *other = stopped_run();
  assert_fails(run(config_text(""), folder, 2, false), FILTRA_ERROR_CANCELLED, "2 of 6");
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    size_t size;
    owned char *data = test_read(test_path(other, NAMES[i]), &size);
    test_write(test_path(folder, NAMES[i]), data, size);
  }
  assert_ok(run(NULL, folder, -1, false));
  size_t size, reference_size;
  owned char *data = test_read(test_path(folder, "model.safetensors"), &size);
  owned char *reference =
      test_read(test_path(reference_run(), "model.safetensors"), &reference_size);
  assert_int_equal(size, reference_size);
  assert_memory_equal(data, reference, size);
}

/* Where a run stands is not guessed. */
TEST(test_damaged_checkpoint) {
  const char *folder = stopped_run();
  test_patch(test_path(folder, "checkpoint/state.safetensors"), "\\\"waited\\\"", "\\\"wasted\\\"");
  assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, "is damaged");
}

/* A loss that is no number is no result. */
TEST(test_broken_model) {
  const char *folder = test_new_run();
  filtra_model *model;
  filtra_evaluation e;
  assert_ok(run(config_text(""), folder, -1, false));
  const char *path = test_path(folder, "model.safetensors");
  assert_ok(filtra_model_load(test_device(), path, &model));
  toy_break(model);
  assert_ok(filtra_model_save(model, path));
  filtra_model_destroy(&model);
  assert_fails(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &e, NULL),
               FILTRA_ERROR_NONFINITE, "the loss over the val split is not finite");
}

TEST(test_model_of_another_run) {
  const char *folder = stopped_run(), *other = test_new_run();
  assert_ok(run(config_text(", \"seed\": 2"), other, -1, false));
  size_t size;
  owned char *data = test_read(test_path(other, "model.safetensors"), &size);
  test_write(test_path(folder, "model.safetensors"), data, size);
  assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, "is of another run");
  test_patch(test_path(folder, "checkpoint/state.safetensors"), "\\\"format\\\":1",
             "\\\"format\\\":2");
  assert_fails(run(NULL, folder, -1, false), FILTRA_ERROR_INPUT, "format 2");
}

TEST_MAIN(NULL, test_teardown)
