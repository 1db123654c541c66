/* Runs of every task on small files: what they log and evaluate, and that resumed ones end in the
 * same bits. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <jansson.h>

static const char *config_text(const char *data, const char *more) {
  return test_text(
      "{\"data\": \"%s\", \"width\": 8, \"layers\": 1, \"heads\": 2, \"batch_size\": 3, "
      "\"dropout\": 0.1, \"steps\": 6, \"eval_every\": 2, "
      "\"log_every\": 1, \"checkpoint_every\": 2%s}",
      data, more);
}

/* ---- data ---- */

static const char *text_file(const char *name, const char *text) {
  const char *path = test_path(test_folder(), name);
  test_write(path, text, strlen(text));
  return path;
}

static const char *series(void) {
  return text_file("x_TRAIN.ts", "@problemName x\n@classLabel true up down\n@data\n"
                                 "1,2,3:4,5,6:up\n3,2,1:3,2,1:down\n1,3,5:2,4,8:up\n"
                                 "9,7,6:9,8,7:down\n1,2,4,6:1,2,3,4:up\n5,4,3:2,1,0:down\n");
}

static const char *pairs(void) {
  return text_file("pairs.tsv", "1.0\ta\tb\tone\tother\n0.0\ta\tb\tthis\tthat\n1.0\ta\tb\tso\tso\n"
                                "0.0\ta\tb\ta\tlonger text\n1.0\ta\tb\there\tthere\n");
}

static const char *values(void) {
  return text_file("values.csv",
                   "smiles,value\nCC,10.5\nCO,11.5\nOC,-2.5\nCCO,13\nCCC,8\nO,0.25\n");
}

static const char *text(void) {
  return text_file("text.txt", "to be or not to be that is the question whether tis nobler in the "
                               "mind to suffer the slings and arrows of outrageous fortune\n");
}

/* Twelve images of 6 x 4 pixels in ten classes. */
static const char *images(void) {
  enum { COUNT = 12, HEIGHT = 6, WIDTH = 4, SIZE = COUNT * HEIGHT * WIDTH };
  static const unsigned char image_head[16] = {0, 0, 8, 3,      0, 0, 0, COUNT,
                                               0, 0, 0, HEIGHT, 0, 0, 0, WIDTH};
  static const unsigned char label_head[8] = {0, 0, 8, 1, 0, 0, 0, COUNT};
  unsigned char image[16 + SIZE], label[8 + COUNT];
  const char *folder = test_folder();
  memcpy(image, image_head, 16);
  memcpy(label, label_head, 8);
  for (int i = 0; i < SIZE; i++)
    image[16 + i] = (unsigned char)(i * 37 % 251);
  for (int i = 0; i < COUNT; i++)
    label[8 + i] = (unsigned char)(i % 10);
  test_write(test_path(folder, "train-images-idx3-ubyte"), image, sizeof image);
  test_write(test_path(folder, "train-labels-idx1-ubyte"), label, sizeof label);
  return folder;
}

/* ---- the runs ---- */

typedef struct kind {
  const char *name;
  const char *(*data)(void);
  const char *more; /* of the configuration */
  filtra_task task;
  const char *score; /* what lines of metrics have besides the loss, in each ... */
  const char *other; /* ... and in none */
} kind;

static const kind KINDS[] = {
    {"series", series,
     ", \"mixer\": \"agf\", \"pooling\": \"flatten\", \"head\": \"linear\", \"norm\": \"post\", "
     "\"scale_embeddings\": true, \"optimizer\": \"radam\"",
     FILTRA_TASK_CLASSIFICATION, "accuracy", "mae"},
    {"pairs", pairs, "", FILTRA_TASK_PAIR_CLASSIFICATION, "accuracy", "perplexity"},
    {"values", values, ", \"decay_all\": true, \"weight_decay\": 0.1", FILTRA_TASK_REGRESSION,
     "mae", "accuracy"},
    {"text", text, ", \"max_length\": 10, \"tie_embeddings\": true, \"drop_last\": true",
     FILTRA_TASK_LANGUAGE_MODEL, "perplexity", "mae"},
    {"images", images,
     ", \"pixels\": \"grey_features\", \"patch\": 2, \"pooling\": \"class_token\"",
     FILTRA_TASK_CLASSIFICATION, "accuracy", "mae"},
};

static double number_of(const json_t *object, const char *prefix, const char *key) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", prefix, key);
  const json_t *value = json_object_get(object, name);
  if (!json_is_number(value)) fail_msg("a line of the metrics has no number \"%s\"", name);
  return json_number_value(value);
}

/* Six lines of steps, three of evaluations; returns the best validation loss. */
static double check_metrics(const kind *k, const char *folder) {
  char *text_of = test_read(test_path(folder, "metrics.jsonl"), NULL), *rest = text_of, *line;
  int steps = 0, evaluations = 0;
  double best = INFINITY;
  while ((line = strsep(&rest, "\n")) && *line) {
    json_auto_t *object = json_loads(line, 0, NULL);
    bool evaluation = json_object_get(object, "validation_loss");
    const char *prefix = evaluation ? "validation_" : "";
    double loss = number_of(object, prefix, "loss"), score = number_of(object, prefix, k->score);
    if (!strcmp(k->score, "perplexity")) assert_float_equal(score, exp(loss), 1e-3 * score);
    assert_null(json_object_get(object, k->other));
    if (evaluation && loss < best) best = loss;
    steps += !evaluation;
    evaluations += evaluation;
  }
  free(text_of);
  assert_int_equal(steps, 6);
  assert_int_equal(evaluations, 3);
  return best;
}

static void check_evaluation(const kind *k, const char *folder, double best) {
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), folder, "val", NULL, NULL, NULL, &e, NULL));
  assert_int_equal(e.task, k->task);
  assert_true(e.samples >= 1 && e.predictions >= e.samples && isfinite(e.loss));
  bool classes = k->task == FILTRA_TASK_CLASSIFICATION, value = k->task == FILTRA_TASK_REGRESSION;
  classes = classes || k->task == FILTRA_TASK_PAIR_CLASSIFICATION;
  if (!classes) assert_float_equal(e.loss, best, 1e-5 * best); /* metrics have nine digits */
  assert_true((e.perplexity > 0) == (k->task == FILTRA_TASK_LANGUAGE_MODEL));
  assert_true((e.absolute_error > 0) == value && (e.chance > 0) == !value);
  if (value) assert_true(e.root_mean_square_error >= e.absolute_error * 0.999);
}

TEST(every_task_runs) {
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    const char *data = KINDS[i].data(), *whole = test_new_run(), *stopped = test_new_run();
    const char *config = config_text(data, KINDS[i].more);
    assert_ok(test_train(config, whole, 100));
    check_evaluation(&KINDS[i], whole, check_metrics(&KINDS[i], whole));
    assert_fails(test_train(config, stopped, 3), FILTRA_ERROR_CANCELLED, "stopped after step");
    assert_ok(test_train(NULL, stopped, 100));
    test_same_run(whole, stopped);
  }
}

/* Values as they are: the model's scale comes from the training samples. */
TEST(values_keep_their_units) {
  const char *folder = test_new_run();
  assert_ok(test_train(config_text(values(), ", \"learning_rate\": 1e-12"), folder, 100));
  owned char *written = test_read(test_path(folder, "config.json"), NULL);
  json_auto_t *config = json_loads(written, 0, NULL);
  assert_string_equal(json_string_value(json_object_get(config, "task")), "regression");
  double mean = json_number_value(json_object_get(config, "target_mean")),
         scale = json_number_value(json_object_get(config, "target_scale"));
  assert_true(mean > 2 && mean < 10 && scale > 3 && scale < 8);
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), folder, "train", NULL, NULL, NULL, &e, NULL));
  assert_float_equal(e.root_mean_square_error, sqrt(e.loss) * scale, 1e-4 * scale);
  assert_float_equal(e.r_squared, 1 - e.loss, 1e-4); /* the scale is the values' deviation */
}

TEST(data_decide_the_task) {
  static const struct {
    const char *(*data)(void);
    const char *more, *part;
  } CASES[] = {
      {values, ", \"task\": \"classification\"", "but the data are for regression"},
      {pairs, ", \"task\": \"classification\"", "but the data are for pair_classification"},
      {text, ", \"task\": \"regression\"", "but the data are for language_model"},
      {text, ", \"mixer\": \"agf\"", "cannot be used for task \"language_model\""},
      {series, ", \"features\": 3", "\"features\" 2"},
      {series, ", \"vocabulary\": 9", "no \"vocabulary\""},
      {series, ", \"classes\": 3, \"patch\": 2", "the data holds none"},
      {images, ", \"pixels\": \"grey_features\", \"patch\": 4", "\"patch\" 4 must divide"},
      {images, ", \"patch\": 2", "token ids, one a pixel"},
      {images, ", \"pixels\": \"rgb\", \"image_width\": 7",
       "\"image_width\" x \"image_height\" is 7 x"},
      {values, ", \"target_mean\": 3", "\"target_mean\" needs \"target_scale\""},
      {values, ", \"features\": 3", "no \"features\""},
  };
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    assert_fails(test_train(config_text(CASES[i].data(), CASES[i].more), test_new_run(), 100),
                 FILTRA_ERROR_INPUT, CASES[i].part);
  assert_fails(test_train(config_text(values(), ", \"label_smoothing\": 0.1"), test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT, "has values and no labels");
  assert_fails(test_train(config_text(series(), ", \"pixels\": \"rgb\""), test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT, "pixels is for images");
}

/* What a run's model does not fit is refused before anything reads it. */
TEST(other_data_must_fit) {
  const char *folder = test_new_run();
  filtra_evaluation e;
  assert_ok(test_train(config_text(series(), ", \"truncate\": true"), folder, 100));
  const char *wide = text_file("y.ts", "@problemName y\n@classLabel true up down\n@data\n"
                                       "1,2:3,4:5,6:up\n3,2:3,2:1,1:down\n");
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", wide, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "has 3 features, the training data have 2");
  const char *other = text_file("z.ts", "@problemName z\n@classLabel true left up\n@data\n"
                                        "1,2:3,4:up\n3,2:3,2:left\n");
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", other, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "class \"left\" is none of the training data's");
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", values(), NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "");
  const char *longer = text_file("w.ts", "@problemName w\n@classLabel true up\n@data\n"
                                         "1,2,3,4,5,6:3,4,5,6,7,8:up\n");
  assert_ok(filtra_run_evaluate(test_device(), folder, "test", longer, NULL, NULL, &e, NULL));
  assert_int_equal(e.samples, 1);
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", NULL, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "x_TRAIN.ts: has no test split");
  assert_int_equal(remove(test_path(folder, "data.json")), 0);
  assert_fails(filtra_run_evaluate(test_device(), folder, "test", longer, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "data.json is missing");
}

static const char *many_values(const char *path, int rows) {
  char lines[4096] = "smiles,value\n";
  for (int i = 0; i < rows; i++)
    snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "C%c,%d.5\n", "CO"[i % 2], i);
  test_write(path, lines, strlen(lines));
  return path;
}

/* A run that stopped late in an epoch goes on with the next one where its data has shrunk. */
/* Four of one class and two of the other. */
static const char *uneven(void) {
  return text_file("uneven.csv", "text,label\na,x\nab,x\nb,x\naab,x\nba,y\nbb,y\n");
}

/* The mean of -log p of the classes, weighted. */
static double weighted_loss(const filtra_batch *b, const float *logits, const float *weights) {
  double sum = 0.0, all = 0.0;
  for (uint32_t i = 0; i < b->count; i++) {
    const double x = (double)logits[2 * i], y = (double)logits[2 * i + 1];
    const double own = b->labels[i] ? y : x;
    sum += (double)weights[b->labels[i]] * (log(exp(x) + exp(y)) - own);
    all += (double)weights[b->labels[i]];
  }
  return sum / all;
}

TEST(classes_are_weighted_in_training) {
  const float weights[2] = {1, 7};
  owned_dataset *data = NULL;
  assert_ok(filtra_dataset_open(uneven(),
                                &(filtra_dataset_options){.file_split = FILTRA_SPLIT_TEST}, &data));
  owned_loader *loader =
      test_loader(data, &(filtra_loader_options){
                            .split = FILTRA_SPLIT_TEST, .batch_size = 6, .class_weights = weights});
  filtra_model *model = test_model(
      test_device(),
      &(filtra_model_config){.data = data, .width = 8, .layers = 1, .heads = 1, .max_length = 16});
  filtra_trainer *trainer;
  filtra_trainer_metrics metrics;
  filtra_batch batch;
  float logits[12];
  assert_ok(filtra_loader_next(loader, &batch));
  assert_ok(filtra_model_predict_batch(model, &batch, logits));
  assert_ok(filtra_trainer_create(
      model, &(filtra_train_options){.optimizer = {.learning_rate = 0.01f}}, &trainer));
  assert_ok(filtra_trainer_step(trainer, &batch, NULL));
  assert_ok(filtra_trainer_finish(trainer, &metrics));
  assert_float_equal((double)metrics.loss, weighted_loss(&batch, logits, weights), 1e-6);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
}

static void same_losses(const char *a, const char *b, bool same) {
  owned char *x = test_read(test_path(a, "metrics.jsonl"), NULL);
  owned char *y = test_read(test_path(b, "metrics.jsonl"), NULL);
  const char *p = strstr(x, "\"loss\":"), *q = strstr(y, "\"loss\":");
  assert_true((fabs(strtod(p + 7, NULL) - strtod(q + 7, NULL)) < 1e-6) == same);
}

/* Balanced weights of 5 training samples are 5 / (2 * 3) and 5 / (2 * 2), or 5 / 8 and 5 / 2. */
TEST(class_weights_are_a_key) {
  const char *all = ", \"schedule\": \"constant\", \"class_weights\": \"%s\"";
  static const char *const texts[] = {"", "2:2", "balanced", "1:9"};
  const char *folders[4];
  for (size_t i = 0; i < FT_COUNT(texts); i++)
    assert_ok(test_train(config_text(uneven(), test_text(all, texts[i])),
                         folders[i] = test_new_run(), UINT64_MAX));
  same_losses(folders[0], folders[1], true);
  same_losses(folders[0], folders[2], false);
  same_losses(folders[2], folders[3], false);
  assert_fails(test_train(config_text(uneven(), test_text(all, "1:2:3")), test_new_run(), 9),
               FILTRA_ERROR_INPUT, "\"class_weights\" has 3 numbers, the data have 2 classes");
  assert_fails(test_train(config_text(uneven(), test_text(all, "1:-2")), test_new_run(), 9),
               FILTRA_ERROR_INPUT, "\"class_weights\" is \"1:-2\", accepted are \"balanced\"");
  assert_fails(test_train(config_text(values(), test_text(all, "balanced")), test_new_run(), 9),
               FILTRA_ERROR_INPUT, "the data have none");
}

TEST(an_epoch_of_less_data_is_over) {
  const char *path = test_path(test_folder(), "shrinking.csv"), *folder = test_new_run();
  const char *config = config_text(many_values(path, 24), "");
  assert_fails(test_train(config, folder, 4), FILTRA_ERROR_CANCELLED, "stopped after step");
  many_values(path, 8);
  assert_fails(test_train(NULL, folder, 100), FILTRA_ERROR_INPUT, "--allow-changes");
  assert_ok(filtra_run_train(test_device(),
                             &(filtra_run_options){.folder = folder, .allow_changes = true}));
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), folder, "train", NULL, NULL, NULL, &e, NULL));
  assert_true(e.samples < 8);
}

TEST_MAIN(NULL, test_teardown)
