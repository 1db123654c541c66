/* Whole runs: interrupted and resumed ones end with the same bits; errors are found before the
 * folder is made; no failing allocation or device call leaves damage. */
#include "base/file.h"
#include "support/harness.h"

#include "data/dataset.h"
#include "gpu/internal.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <jansson.h>

/* Twelve steps of a one-layer filter model, six an epoch, in two lengths. `more` begins with a
 * comma or is empty; a key in it overrides the one before. */
static const char *config_text(const char *more) {
  static char text[4096], patched[4096];
  snprintf(text, sizeof text,
           "{\"data\": \"%s\", \"mixer\": \"agf\", \"width\": 8, \"layers\": 1, \"batch_size\": 8, "
           "\"dropout\": 0.1, \"learning_rate\": 0.01, \"steps\": 12, \"eval_every\": 4, "
           "\"checkpoint_every\": 3, \"log_every\": 1}",
           test_listops());
  snprintf(patched, sizeof patched, "{\"steps\": 12%s}", more);
  json_auto_t *object = json_loads(text, 0, NULL), *overrides = json_loads(patched, 0, NULL);
  assert_non_null(object);
  assert_non_null(overrides);
  json_object_update(object, overrides);
  owned char *merged = json_dumps(object, 0);
  snprintf(text, sizeof text, "%s", merged);
  return text;
}

typedef struct watch {
  int stop_after; /* steps; -1: never */
  int calls;      /* the first comes before the first step */
  filtra_run_progress last;
} watch;

static bool watch_progress(void *user, const filtra_run_progress *progress) {
  watch *w = user;
  w->last = *progress;
  return w->calls++ != w->stop_after;
}

/* Checks that at most two submitted steps are unfinished, and none after an evaluation. */
static bool watch_steps(void *user, const filtra_run_progress *p) {
  watch *w = user;
  const uint64_t submitted = (uint64_t)w->calls++;
  assert_true(p->step <= submitted && p->step + 2 >= submitted && p->step >= w->last.step);
  assert_true(p->last.step == p->step && (!p->evaluated || p->step == submitted));
  w->last = *p;
  return true;
}

/* NULL resumes. */
static filtra_status run(const char *config, const char *folder, watch *w) {
  watch unused = {.stop_after = -1};
  return filtra_run_train(test_device(), &(filtra_run_options){.config = config,
                                                               .folder = folder,
                                                               .progress = watch_progress,
                                                               .user = w ? w : &unused});
}

/* The run that all others must equal. */
static const char *reference_run(void) {
  static const char *folder;
  if (folder) return folder;
  folder = test_new_run();
  assert_ok(run(config_text(""), folder, NULL));
  return folder;
}

/* ---- exactness ---- */

TEST(test_seed_decides_every_bit) {
  const char *again = test_new_run(), *other = test_new_run();
  assert_ok(run(config_text(""), again, NULL));
  test_same_run(reference_run(), again);
  assert_ok(run(config_text(", \"seed\": 2"), other, NULL));
  size_t size;
  owned char *one = test_read(test_path(again, "model.safetensors"), &size);
  owned char *two = test_read(test_path(other, "model.safetensors"), &size);
  assert_memory_not_equal(one, two, size);
}

/* Validation samples are drawn by a seed of their own: runs of several seeds are judged by the same
 * ones. An earlier run goes on with those that its seed drew. */
TEST(test_split_seed) {
  static const char table[] = "text,label\na,x\nb,y\naa,x\nbb,y\naaa,x\nbbb,y\nab,x\nba,y\n";
  const char *file = test_path(test_folder(), "t.csv");
  uint64_t prints[4];
  test_write(file, table, strlen(table));
  static const char *const seeds[4] = {"\"seed\": 1", "\"seed\": 2",
                                       "\"seed\": 2, \"split_seed\": 7", "\"seed\": 7"};
  for (int i = 0; i < 4; i++) {
    const char *folder = test_new_run();
    assert_ok(run(config_text(test_text(", \"data\": \"%s\", \"batch_size\": 2, \"steps\": 2, "
                                        "\"validation_share\": 0.5, %s",
                                        file, seeds[i])),
                  folder, NULL));
    if (i == 3) /* as if it had been written before */
      test_patch(test_path(folder, "config.json"), "\"split_seed\": 1,", "                ");
    filtra_run *opened = NULL;
    owned_dataset *data = NULL;
    assert_ok(filtra_run_open(folder, &opened));
    assert_ok(filtra_run_open_data(opened, NULL, FILTRA_SPLIT_TRAIN, NULL, &data));
    prints[i] = ft_dataset_fingerprint(data);
    filtra_run_close(&opened);
  }
  assert_true(prints[0] == prints[1]);
  assert_true(prints[1] != prints[2]);
  assert_true(prints[2] == prints[3]);
}

static filtra_status run_on(const filtra_dataset *data, const char *config, const char *folder,
                            watch *w) {
  return filtra_run_train(
      test_device(),
      &(filtra_run_options){
          .config = config, .folder = folder, .progress = watch_progress, .user = w, .data = data});
}

/* Data in memory give the run that the same data give from a file; resuming needs them again. */
TEST(test_data_in_memory) {
  const char *whole = test_new_run(), *memory = test_new_run();
  owned_dataset *data = NULL, *other = NULL;
  assert_ok(filtra_dataset_open(test_listops(), NULL, &data));
  assert_ok(run(config_text(""), whole, NULL));
  owned char *config = strdup(config_text(""));
  json_auto_t *object = json_loads(config, 0, NULL);
  json_object_del(object, "data");
  owned char *nameless = json_dumps(object, 0);
  watch w = {.stop_after = 5};
  assert_fails(run_on(data, nameless, memory, &w), FILTRA_ERROR_CANCELLED, "of 12");
  w = (watch){.stop_after = -1};
  assert_fails(run_on(NULL, NULL, memory, &w), FILTRA_ERROR_INPUT, "was trained on data in memory");
  assert_ok(run_on(data, NULL, memory, &w));
  test_same_metrics(whole, memory);
  filtra_run *opened = NULL;
  assert_ok(filtra_run_open(memory, &opened));
  assert_string_equal(filtra_run_get_info(opened)->data, ":memory:");
  assert_fails(filtra_run_open_data(opened, NULL, FILTRA_SPLIT_TEST, NULL, &other),
               FILTRA_ERROR_INPUT, "was trained on data in memory");
  assert_ok(filtra_run_open_data(opened, test_listops(), FILTRA_SPLIT_TEST, NULL, &other));
  filtra_run_close(&opened);
  assert_fails(run_on(data, config_text(""), test_new_run(), &w), FILTRA_ERROR_ARGUMENT,
               "the options give data in memory");
}

/* A call for each submitted step and one before; it tells of the newest finished one. */
TEST(test_progress) {
  watch w = {0};
  const filtra_run_options o = {.config = config_text(", \"eval_every\": 5"),
                                .folder = test_new_run(),
                                .progress = watch_steps,
                                .user = &w};
  assert_ok(filtra_run_train(test_device(), &o));
  assert_int_equal(w.calls, 13);
  assert_int_equal(w.last.step, 12);
}

/* Stopped before the first step, and after each of some, also twice. */
TEST(test_stopped_and_resumed) {
  static const int stops[][2] = {{0, 0}, {1, 1}, {3, -1}, {4, 2}, {7, 4}, {11, -1}};
  for (size_t i = 0; i < FT_COUNT(stops); i++) {
    const char *folder = test_new_run();
    const char *config = config_text("");
    int done = 0;
    for (int k = 0; k < 2 && stops[i][k] >= 0; k++) {
      watch w = {.stop_after = stops[i][k]};
      assert_fails(run(config, folder, &w), FILTRA_ERROR_CANCELLED, folder);
      done += stops[i][k];
      config = NULL;
      assert_non_null(strstr(filtra_error_message(), test_text("after step %d of 12", done)));
    }
    watch w = {.stop_after = -1};
    assert_ok(run(NULL, folder, &w));
    assert_int_equal(w.last.step, 12);
    test_same_run(reference_run(), folder);
  }
}

/* What a killed process leaves: lines after the checkpoint, a line cut short, temporaries. */
TEST(test_resumed_after_a_kill) {
  const char *folder = test_new_run();
  watch w = {.stop_after = 6};
  assert_fails(run(config_text(""), folder, &w), FILTRA_ERROR_CANCELLED, "6 of 12");
  FILE *metrics = fopen(test_path(folder, "metrics.jsonl"), "a");
  fputs("{\"step\":7,\"loss\":1}\n{\"step\":8,\"loss\":2}\n{\"step\":9,\"lo", metrics);
  fclose(metrics);
  test_write(test_path(folder, "model.safetensors.123-0.tmp"), "x", 1);
  test_write(test_path(folder, "config.json.77-12.tmp"), "x", 1);
  test_write(test_path(folder, "checkpoint/state.safetensors.9-1.tmp"), "x", 1);
  test_write(test_path(folder, "mine.tmp"), "x", 1); /* not ours: stays */
  assert_ok(run(NULL, folder, NULL));
  assert_true(ft_file_exists(test_path(folder, "mine.tmp")));
  remove(test_path(folder, "mine.tmp"));
  test_same_run(reference_run(), folder);
}

TEST(test_complete_run_stays_as_it_is) {
  uint64_t before = test_snapshot(reference_run());
  watch w = {.stop_after = -1};
  assert_ok(run(NULL, reference_run(), &w));
  assert_int_equal(w.calls, 1);
  assert_int_equal(w.last.step, 12);
  assert_int_equal(w.last.last.step, 0);
  assert_true(w.last.validation_accuracy >= 0);
  assert_true(test_snapshot(reference_run()) == before);
  assert_fails(run(config_text(""), reference_run(), NULL), FILTRA_ERROR_ARGUMENT, "holds a run");
  assert_true(test_snapshot(reference_run()) == before);
}

/* Without a lower validation loss (the weights hardly move) the run ends early; such a run is
 * complete, and the same when it was interrupted. */
TEST(test_patience) {
  const char *more =
      ", \"patience\": 2, \"eval_every\": 2, \"learning_rate\": 1e-12, \"dropout\": 0";
  const char *whole = test_new_run(), *stopped = test_new_run();
  watch w = {.stop_after = -1};
  assert_ok(run(config_text(more), whole, &w));
  assert_int_equal(w.last.step, 6); /* the first evaluation is a lower one */
  assert_int_equal(w.last.steps, 6);
  for (int i = 0; i < 2; i++) {
    watch part = {.stop_after = i ? 1 : 4};
    assert_fails(run(i ? NULL : config_text(more), stopped, &part), FILTRA_ERROR_CANCELLED,
                 "of 12");
  }
  assert_ok(run(NULL, stopped, NULL));
  test_same_run(whole, stopped);
  uint64_t before = test_snapshot(whole);
  w = (watch){.stop_after = -1};
  assert_ok(run(NULL, whole, &w));
  assert_int_equal(w.calls, 1);
  assert_true(test_snapshot(whole) == before);
}

TEST(test_one_process_a_run) {
  FILE *lock;
  const char *metrics = test_path(reference_run(), "metrics.jsonl");
  assert_ok(ft_append_open(metrics, &lock));
  assert_fails(run(NULL, reference_run(), NULL), FILTRA_ERROR_PATH, "another process");
  fclose(lock);
  assert_ok(run(NULL, reference_run(), NULL));
}

/* The written configuration is complete: given back, it makes the same run. */
TEST(test_written_configuration) {
  size_t size;
  const char *folder = test_new_run();
  owned char *text = test_read(test_path(reference_run(), "config.json"), &size);
  assert_int_equal(text[size - 1], '\n');
  assert_ok(run(text, folder, NULL));
  test_same_run(reference_run(), folder);
  json_auto_t *object = json_loads(text, 0, NULL);
  assert_true(json_object_size(object) > 40);
  assert_int_equal(json_object_size(json_object_get(object, "mixer")), 11);
  assert_int_equal(json_integer_value(json_object_get(object, "max_length")), 32);
}

/* ---- what is refused ---- */

static void refuse(const char *more, filtra_status status, const char *part) {
  const char *folder = test_new_run();
  assert_fails(run(config_text(more), folder, NULL), status, part);
  assert_null(strchr(filtra_error_message(), '\n'));
  assert_false(ft_file_exists(folder));
}

TEST(test_configurations) {
  static const struct {
    const char *more, *part;
  } cases[] = {
      {", \"learning_rat\": 1", "did you mean \"learning_rate\"?"},
      {", \"layers\": \"two\"", "\"layers\" must be a whole number"},
      {", \"layers\": 1.5", "\"layers\" must be a whole number"},
      {", \"layers\": 0", "\"layers\" is 0, accepted are 1 to 256"},
      {", \"layers\": -3", "\"layers\" is -3"},
      {", \"heads\": 3", "multiple of \"heads\" 3"},
      {", \"width\": 16384", "128 channels a head"},
      {", \"dropout\": 1", "\"dropout\" is 1, accepted are 0 to 0.999"},
      {", \"learning_rate\": -1e-3", "\"learning_rate\" is -0.001"},
      {", \"learning_rate\": true", "\"learning_rate\" must be a number"},
      {", \"beta1\": 0", "\"beta1\" is 0"},
      {", \"beta1\": 0.8, \"schedule\": \"one_cycle\"",
       "\"beta1\" has no effect with \"schedule\""},
      {", \"truncate\": 1", "\"truncate\" must be true or false"},
      {", \"norm\": \"middle\"", "\"norm\" must be one of pre, post"},
      {", \"schedule\": 3", "constant, linear, cosine, one_cycle"},
      {", \"optimizer\": \"sgd\"", "adamw, adam, radam"},
      {", \"task\": \"regression\"", "\"task\" is regression, but the data are for classification"},
      {", \"precision\": \"fp8\"", "\"precision\" must be one of fp32, bf16, fp16"},
      {", \"loss_scale\": 1024", "loss_scale and loss_scale_window are for precision fp16"},
      {", \"epochs\": 1", "not both"},
      {", \"schedule\": \"linear\", \"warmup_steps\": 2, \"warmup_epochs\": 1", "not both"},
      {", \"shares\": \"3:x\"", "\"shares\" is \"3:x\", accepted are \"auto\" and a number"},
      {", \"batch_size\": 65536", "\"batch_size\" is 65536, accepted are 1 to 65535"},
      {", \"steps\": 9223372036854775807", "\"steps\" is"},
      {", \"schedule\": \"linear\", \"warmup_steps\": 13", "warmup_steps"},
      {", \"mixer\": \"agff\"", "unknown mixer \"agff\"; known are softmax, "},
      {", \"mixer\": 7", "\"mixer\" must be a name or an object"},
      {", \"mixer\": {\"K\": 3}", "\"mixer\" has the option \"K\" and no \"name\""},
      {", \"mixer\": {\"name\": \"agf\", \"order\": 3}",
       "mixer \"agf\" has no option \"order\"; its options: K, "},
      {", \"mixer\": {\"name\": \"agf\", \"K\": 33}", "mixer \"agf\": \"K\" is 33"},
      {", \"mixer\": {\"name\": \"agf\", \"basis\": \"x\"}", "jacobi, legendre, chebyshev"},
      {", \"mixer\": {\"name\": \"agf\", \"a\": -1, \"b\": -1}", "divides by zero"},
      {", \"mixer\": {\"name\": \"agf\", \"K\": 3, \"a\": -1, \"b\": -2}", "divides by zero"},
      {", \"mixer\": {\"name\": \"softmax\", \"K\": 3}", "mixer \"softmax\" has no option \"K\""},
      {", \"data\": \"\"", "\"data\" is missing"},
      {", \"data\": 5", "\"data\" must be a string"},
      {", \"tokenizer\": \"words\"", "\"words\""},
      {", \"vocabulary\": 15", "\"vocabulary\" 16 and \"classes\" 10 at least"},
      {", \"classes\": 9", "\"classes\" 10 at least"},
      {", \"max_length\": 8", "basic_train.tsv:"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_new_run();
    filtra_status status = run(config_text(cases[i].more), folder, NULL);
    const char *message = status ? filtra_error_message() : "";
    if ((status != FILTRA_ERROR_INPUT && status != FILTRA_ERROR_ARGUMENT) ||
        !strstr(message, cases[i].part) || strchr(message, '\n'))
      fail_msg("%s: %s: \"%s\", wanted \"%s\"", cases[i].more, filtra_status_name(status), message,
               cases[i].part);
    assert_false(ft_file_exists(folder));
  }
  refuse(", \"data\": \"nowhere/at/all\"", FILTRA_ERROR_PATH, "nowhere/at/all");
  assert_fails(run("[]", test_new_run(), NULL), FILTRA_ERROR_INPUT, "must be a JSON object");
  assert_fails(run("{\"a\": 1, \"a\": 2}", test_new_run(), NULL), FILTRA_ERROR_INPUT,
               "configuration:1:");
  assert_fails(run("", test_new_run(), NULL), FILTRA_ERROR_INPUT, "not valid JSON");
  assert_fails(run("{\"steps\": 1e999}", test_new_run(), NULL), FILTRA_ERROR_INPUT, "overflow");
}

TEST(test_broken_data) {
  static const char good[] = "Source\tTarget\n[MAX 2 9 ]\t9\n";
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"Source\tTarget\n[MAX 2 9 ]\t9\n[MAX 2 x ]\t9\n", ":3:"},
      {"Source\tTarget\n[MAX 2 9 ]\t9\n[MAX 2 9 ]\n", ":3:"},
      {"Source\tTarget\n[MAX 2 9 ]\t12\n", ":2:"},
      {"Source\tTarget\n", "basic_train.tsv"},
      {"", "basic_train.tsv has no samples"},
      {"nonsense\n", "basic_train.tsv"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *data = test_folder();
    test_write(test_path(data, "basic_train.tsv"), cases[i].text, strlen(cases[i].text));
    refuse(test_text(", \"data\": \"%s\"", data), FILTRA_ERROR_INPUT, cases[i].part);
  }
  const char *data = test_folder(); /* test samples only */
  test_write(test_path(data, "basic_test.tsv"), good, sizeof good - 1);
  refuse(test_text(", \"data\": \"%s\"", data), FILTRA_ERROR_INPUT, "no training samples");
}

/* A copy of the reference run, to be damaged. */
static const char *copied_run(void) {
  static const char *const NAMES[] = {"config.json", "metrics.jsonl", "model.safetensors",
                                      "checkpoint/state.safetensors"};
  const char *folder = test_new_run();
  assert_ok(ft_make_directories(test_path(folder, "checkpoint")));
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    size_t size;
    owned char *data = test_read(test_path(reference_run(), NAMES[i]), &size);
    test_write(test_path(folder, NAMES[i]), data, size);
  }
  return folder;
}

static void truncate_file(const char *path, double part) {
  size_t size;
  owned char *data = test_read(path, &size);
  test_write(path, data, (size_t)((double)size * part));
}

/* Resuming fails, names the file and touches nothing. */
static void refuse_resume(const char *folder, const char *name, const char *part) {
  uint64_t before = test_snapshot(folder);
  filtra_status status = run(NULL, folder, NULL);
  if (status != FILTRA_ERROR_INPUT || !strstr(filtra_error_message(), name) ||
      !strstr(filtra_error_message(), part))
    fail_msg("%s: \"%s\", wanted \"%s\"", name, status ? filtra_error_message() : "", part);
  assert_true(test_snapshot(folder) == before);
}

TEST(test_damaged_checkpoints) {
  static const char NAME[] = "checkpoint/state.safetensors";
  for (int i = 0; i <= 10; i++) {
    const char *folder = copied_run();
    truncate_file(test_path(folder, NAME), i / 10.5);
    refuse_resume(folder, NAME, "");
  }
  static const struct {
    const char *from, *to, *part;
  } patches[] = {
      {"\"filtra.step\":\"12\"", "\"filtra.step\":\"-2\"", "filtra.step"},
      {"\"filtra.step\":\"12\"", "\"filtra.stop\":\"12\"", "filtra.step"},
      {"filtra.run", "filtra.ran", "filtra.run"},
      {"\\\"epoch\\\":1,\\\"batch\\\":5", "\\\"epoch\\\":1,\\\"batch\\\":9", "an epoch has 7"},
      {"\\\"epoch\\\":1", "\\\"epoch\\\":x", "filtra.run"},
      {"model.head.1.bias", "model.head.1.bium", "model.head.1.bias is missing"},
      {"\"dtype\":\"F32\"", "\"dtype\":\"I32\"", "type and shape"},
      {"second_moment.norm.bias", "second_moment.norm.bios", "second_moment.norm.bias is missing"},
  };
  for (size_t i = 0; i < FT_COUNT(patches); i++) {
    const char *folder = copied_run();
    test_patch(test_path(folder, NAME), patches[i].from, patches[i].to);
    refuse_resume(folder, NAME, patches[i].part);
  }
  const char *folder = copied_run();
  size_t size;
  owned char *data = test_read(test_path(folder, NAME), &size);
  memset(data + size - 4, 0xff, 4);
  test_write(test_path(folder, NAME), data, size);
  refuse_resume(folder, NAME, "checksum");
  test_patch(test_path(folder, NAME), "filtra.step", "filtra.step");
  refuse_resume(folder, NAME, "NaN");
  folder = copied_run();
  test_patch(test_path(folder, "config.json"), "\"layers\": 1", "\"layers\": 2");
  refuse_resume(folder, NAME, "\"layers\" was 1 and is 2");
  folder = copied_run();
  truncate_file(test_path(folder, "config.json"), 0.5);
  refuse_resume(folder, "config.json", "not valid JSON");
  assert_fails(run(NULL, test_folder(), NULL), FILTRA_ERROR_INPUT, "is not a run folder");
  assert_fails(run(NULL, "nowhere", NULL), FILTRA_ERROR_INPUT, "nowhere is not a run folder");
}

/* Among the five largest logits, counted here one by one. */
TEST(test_top5_accuracy) {
  owned_run *finished = NULL;
  owned_model *model = NULL;
  owned_dataset *data = NULL;
  filtra_batch batch;
  filtra_evaluation e;
  double hits = 0;
  assert_ok(filtra_run_open(reference_run(), &finished));
  assert_ok(filtra_run_load_model(finished, test_device(), &model));
  assert_ok(filtra_run_open_data(finished, NULL, FILTRA_SPLIT_TRAIN, NULL, &data));
  int64_t classes = filtra_model_classes(model);
  float logits[16 * 10];
  assert_int_equal(classes, 10);
  owned_loader *loader =
      test_loader(data, &(filtra_loader_options){.split = FILTRA_SPLIT_VAL, .batch_size = 16});
  for (uint64_t i = 0; i < filtra_loader_batch_count(loader); i++) {
    assert_ok(filtra_loader_next(loader, &batch));
    assert_ok(filtra_model_predict_batch(model, &batch, logits));
    for (uint32_t r = 0; r < batch.count; r++) {
      int larger = 0;
      for (int64_t k = 0; k < classes; k++)
        larger += logits[r * classes + k] > logits[r * classes + batch.labels[r]];
      hits += larger < 5;
    }
  }
  assert_ok(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_VAL, 5, &e));
  assert_float_equal(e.top5_accuracy, hits / 16.0, 1e-6);
  assert_true(e.top5_accuracy >= e.accuracy);
  watch w = {.stop_after = -1};
  assert_ok(run(NULL, reference_run(), &w));
  assert_float_equal(w.last.validation_top5_accuracy, e.top5_accuracy, 1e-6);
  owned char *lines = test_read(test_path(reference_run(), "metrics.jsonl"), NULL);
  assert_non_null(strstr(lines, "\"validation_top5_accuracy\":"));
}

TEST(test_damaged_models) {
  static const struct {
    const char *from, *to, *part;
  } patches[] = {
      {"filtra.config", "filtra.konfig", "not a Filtra model"},
      {"\\\"vocabulary\\\":16", "\\\"vocabulary\\\":99", "embedding.weight does not have"},
      {"\\\"layers\\\":1", "\\\"layers\\\":9", "layers.1.norm1.weight is missing"},
      {"\\\"layers\\\":1", "\\\"lawyer\\\":1", "did you mean \"layers\"?"},
      {"\\\"heads\\\":2", "\\\"heads\\\":0", "\"heads\" is 0"},
      {"head.2.weight", "head.3.weight", "head.2.weight is missing"},
  };
  filtra_evaluation e;
  const char *folder = copied_run();
  assert_ok(filtra_run_evaluate(test_device(), folder, "test", NULL, NULL, NULL, &e, NULL));
  assert_int_equal(e.samples, 16);
  assert_float_equal(e.chance, 0.1, 1e-12);
  assert_true(e.majority >= 0.1 && e.majority < 1);
  assert_fails(filtra_run_evaluate(test_device(), folder, "tests", NULL, NULL, NULL, &e, NULL),
               FILTRA_ERROR_ARGUMENT, "train, val and test");
  assert_fails(filtra_run_evaluate(test_device(), folder, "val", "nowhere", NULL, NULL, &e, NULL),
               FILTRA_ERROR_PATH, "nowhere");
  truncate_file(test_path(folder, "model.safetensors"), 0.9);
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", NULL, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "model.safetensors");
  for (size_t i = 0; i < FT_COUNT(patches); i++) {
    folder = copied_run();
    test_patch(test_path(folder, "model.safetensors"), patches[i].from, patches[i].to);
    assert_fails(filtra_run_evaluate(test_device(), folder, "test", NULL, NULL, NULL, &e, NULL),
                 FILTRA_ERROR_INPUT, patches[i].part);
    assert_non_null(strstr(filtra_error_message(), "model.safetensors"));
  }
}

/* ---- every option ---- */

TEST(test_options_train_and_infer) {
  static const char *const cases[] = {
      ", \"mixer\": \"softmax\", \"pooling\": \"first\", \"norm\": \"post\"",
      ", \"mixer\": {\"name\": \"softmax\", \"attention_dropout\": 0.2}, \"positions\": \"none\"",
      ", \"pooling\": \"mean_all\", \"positions\": \"sinusoidal\", \"activation\": \"relu\"",
      ", \"mixer\": {\"name\": \"agf\", \"variant\": \"uv\"}, \"optimizer\": \"adam\","
      " \"weight_decay\": 0.1",
      ", \"mixer\": {\"name\": \"agf\", \"variant\": \"svd\"}, \"optimizer\": \"radam\","
      " \"schedule\": \"one_cycle\", \"warmup_steps\": 2",
      ", \"mixer\": {\"name\": \"agf\", \"theta\": \"learned0\", \"rho\": \"tanh\"},"
      " \"schedule\": \"linear\", \"warmup_steps\": 1, \"label_smoothing\": 0.1",
      ", \"mixer\": {\"name\": \"agf\", \"theta\": \"raw\", \"basis\": \"legendre\","
      " \"symmetric_domain\": true, \"ortho_weight\": 0}, \"schedule\": \"cosine\"",
      ", \"truncate\": true, \"max_length\": 9, \"mask_zero\": true, \"clip_norm\": 0.5",
      ", \"activation\": \"none\", \"heads\": 8, \"head_width\": 3, \"ffn_width\": 5,"
      " \"vocabulary\": 20, \"classes\": 12, \"max_length\": 100",
      ", \"batch_size\": 1000, \"layers\": 3, \"heads\": 1, \"width\": 7",
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_new_run();
    filtra_evaluation e = {0};
    watch w = {.stop_after = -1};
    const char *more = test_text("%s, \"steps\": 3, \"eval_every\": 3", cases[i]);
    filtra_status status = run(config_text(more), folder, &w);
    if (!status)
      status = filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &e, NULL);
    if (status) fail_msg("%s: %s", cases[i], filtra_error_message());
    assert_int_equal(w.last.step, 3);
    assert_true(isfinite(w.last.last.loss) && w.last.last.gradient_norm > 0);
    assert_int_equal(e.samples, 16);
    assert_true(e.loss == w.last.validation_loss); /* in training and from disk: the same bits */
  }
}

/* ---- failing allocations and device calls ---- */

/* After a failure: a sentence, no temporary, no device memory lost; and the run, if there is one,
 * resumes to the reference's bits. */
static void check_failed(const char *folder, uint64_t used) {
  assert_true(strlen(filtra_error_message()) > 10);
  assert_true(filtra_device_memory_used(test_device()) == used);
  test_no_leftovers(folder);
  if (!ft_file_exists(folder)) return;
  assert_ok(ft_file_exists(test_path(folder, "config.json")) ? run(NULL, folder, NULL)
                                                             : run(config_text(""), folder, NULL));
  test_same_run(reference_run(), folder);
}

/* A run whose n-th allocation, or call of the device, fails, further and further on, until all is
 * well: it ends as `expected`. */
static void check_failures(void (*fail_after)(long n), filtra_status expected) {
  reference_run();
  uint64_t used = filtra_device_memory_used(test_device());
  int failures = 0;
  for (double n = 1;; n = n * 1.5 + 1) {
    const char *folder = test_new_run();
    const char *config = config_text("");
    fail_after((long)n);
    filtra_status status = run(config, folder, NULL);
    fail_after(0);
    if (!status) break;
    if (status != expected)
      fail_msg("call %.0f: %s: %s", n, filtra_status_name(status), filtra_error_message());
    check_failed(folder, used);
    failures++;
  }
  assert_true(failures > (ft_caps_of(test_device())->for_cpu ? 10 : 5)); /* GPUs need fewer calls */
}

static void fail_device(long n) {
  ft_vk_fail_after(n, n ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS);
}

TEST(test_failing_allocations) {
  check_failures(ft_memory_fail_after, FILTRA_ERROR_HOST_MEMORY);
}

TEST(test_failing_device_calls) {
  check_failures(fail_device, FILTRA_ERROR_DEVICE_MEMORY);
}

/* The device stops answering at some call: the run ends, and another device takes it up. */
TEST(test_lost_device) {
  reference_run();
  uint64_t used = filtra_device_memory_used(test_device());
  for (long n = 20; n < 400; n = n * 2 + 7) {
    const char *folder = test_new_run();
    filtra_device *device = test_open_device(NULL);
    const char *config = config_text("");
    ft_vk_fail_after(n, VK_ERROR_DEVICE_LOST);
    assert_fails(
        filtra_run_train(device, &(filtra_run_options){.config = config, .folder = folder}),
        FILTRA_ERROR_DEVICE_LOST, "");
    ft_vk_fail_after(0, VK_SUCCESS);
    test_close_device(&device);
    check_failed(folder, used);
  }
}

TEST_MAIN(NULL, test_teardown)
