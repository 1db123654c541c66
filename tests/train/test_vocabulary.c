/* More words than 16-bit ids: a word with an id above 65,535 has its own row of the tables in
 * training, evaluation, prediction, and after the model is read from its file. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include <filtra/filtra.h>

enum {
  WORDS = 66600,
  IDS = WORDS + 3, /* and padding, <unk>, <eos> */
  WIDTH = 8,
  LENGTH = 16,
  HIGH = 65536 + 500, /* an id that 16 bits would make LOW */
  LOW = HIGH - 65536
};

/* ---- a step ---- */

static filtra_model *language_model(bool tied) {
  filtra_model *model =
      test_model(test_device(), &(filtra_model_config){.task = FILTRA_TASK_LANGUAGE_MODEL,
                                                       .vocabulary = IDS,
                                                       .max_length = LENGTH,
                                                       .layers = 1,
                                                       .heads = 1,
                                                       .width = WIDTH,
                                                       .tie_embeddings = tied,
                                                       .seed = 3});
  return model;
}

static float *rows_of(filtra_model *model, const char *name) {
  float *rows = test_alloc((size_t)IDS * WIDTH * sizeof *rows);
  assert_ok(filtra_parameters_get(filtra_model_parameters(model), name, rows, (size_t)IDS * WIDTH));
  return rows;
}

static bool same_row(const float *a, const float *b, int row) {
  return !memcmp(a + row * WIDTH, b + row * WIDTH, WIDTH * sizeof *a);
}

/* One sequence of the token HIGH whose successors are HIGH + 1. */
static filtra_batch high_batch(int32_t *tokens, int32_t *labels) {
  static const int32_t lengths[] = {LENGTH};
  static const float weights[] = {1};
  for (int i = 0; i < LENGTH; i++) {
    tokens[i] = HIGH;
    labels[i] = HIGH + 1;
  }
  return (filtra_batch){.size = 1,
                        .length = LENGTH,
                        .count = 1,
                        .tokens = tokens,
                        .lengths = lengths,
                        .labels = labels,
                        .weights = weights};
}

static void train_high(filtra_model *model, uint64_t steps) {
  int32_t tokens[LENGTH], labels[LENGTH];
  filtra_batch batch = high_batch(tokens, labels);
  owned_trainer *trainer = test_trainer(
      model, &(filtra_train_options){.optimizer = {.learning_rate = 0.05f, .steps = steps}});
  for (uint64_t i = 0; i < steps; i++)
    assert_ok(filtra_trainer_step(trainer, &batch, NULL));
  assert_ok(filtra_trainer_finish(trainer, NULL));
}

/* The gradient of the loss reaches the token's row of the table and that of no other. */
TEST(a_step_moves_the_row) {
  owned_model *model = language_model(false);
  owned float *before = rows_of(model, "embedding.weight");
  train_high(model, 1);
  owned float *after = rows_of(model, "embedding.weight");
  for (int id = 0; id < IDS; id++)
    if (same_row(before, after, id) != (id != HIGH)) fail_msg("row %d", id);
}

static int most_likely(filtra_model *model) {
  int32_t tokens[LENGTH], labels[LENGTH];
  filtra_batch batch = high_batch(tokens, labels);
  owned float *logits = malloc((size_t)LENGTH * IDS * sizeof *logits);
  int best = 0;
  assert_ok(filtra_model_predict_batch(model, &batch, logits));
  for (int id = 1; id < IDS; id++)
    if (logits[id] > logits[best]) best = id;
  return best;
}

/* What was learned of ids above 65,535 is there once more when the model comes from its file. */
TEST(learned_and_read_again) {
  for (int tied = 0; tied < 2; tied++) {
    int32_t tokens[LENGTH], labels[LENGTH];
    filtra_batch batch = high_batch(tokens, labels);
    const char *path = test_path(test_folder(), "model.safetensors");
    owned_model *model = language_model(tied), *read = NULL;
    double loss, score, weight;
    train_high(model, 30);
    assert_int_equal(most_likely(model), HIGH + 1);
    assert_ok(filtra_model_evaluate_batch(model, &batch, &loss, &score, &weight));
    assert_true(score == 1.0);
    assert_ok(filtra_model_save(model, path));
    assert_ok(filtra_model_load(test_device(), path, &read));
    toy_same_bits(model, read);
    assert_int_equal(most_likely(read), HIGH + 1);
  }
}

/* ---- a run ---- */

/* Words in the order of their ids, each once, so that the last ones are those beyond 65,535. */
static const char *write_words(void) {
  const char *path = test_path(test_folder(), "text.txt");
  char *text = malloc(WORDS * 8), *to = text;
  assert_non_null(text);
  for (int i = 0; i < WORDS; i++)
    to += sprintf(to, "w%05d ", i);
  test_write(path, text, (size_t)(to - text));
  free(text);
  return path;
}

static const char *config_text(const char *data, const char *more) {
  return test_text(
      "{\"data\": \"%s\", \"tokenizer\": \"words\", \"width\": 8, \"layers\": 1, "
      "\"heads\": 1, \"batch_size\": 2, \"max_length\": 16, \"steps\": 4, \"eval_every\": 2, "
      "\"validation_share\": 0.001%s}",
      data, more);
}

static int64_t trained_vocabulary(const char *folder) {
  owned_run *trained = NULL;
  owned_model *model = NULL;
  filtra_model_config config;
  assert_ok(filtra_run_open(folder, &trained));
  assert_ok(filtra_run_load_model(trained, test_device(), &model));
  assert_ok(filtra_model_get_config(model, &config));
  int64_t ids = filtra_tokenizer_size(filtra_run_get_info(trained)->tokenizer);
  assert_int_equal(config.vocabulary, ids);
  return ids;
}

/* Its folder has all the words, and a run that was stopped goes on with them to the same bits. */
TEST(a_run_keeps_all_words) {
  const char *data = write_words(), *whole = test_new_run(), *stopped = test_new_run();
  const char *config = config_text(data, ", \"max_vocabulary\": 70000");
  filtra_evaluation known, less;
  assert_ok(test_train(config, whole, 100));
  assert_int_equal(trained_vocabulary(whole), IDS);
  assert_int_equal(test_train(config, stopped, 2), FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, stopped, 100));
  test_same_run(whole, stopped);
  const char *other = test_path(test_folder(), "other.txt");
  test_write(other, "w66599 w66598", 13);
  assert_ok(filtra_run_evaluate(test_device(), whole, "test", other, NULL, NULL, &known, NULL));
  test_write(other, "w66599 novel!", 13);
  assert_ok(filtra_run_evaluate(test_device(), whole, "test", other, NULL, NULL, &less, NULL));
  assert_true(known.loss != less.loss); /* which it would not, were both words <unk> */
}

TEST(fewer_words_by_default) {
  const char *data = write_words(), *folder = test_new_run();
  assert_ok(test_train(config_text(data, ""), folder, 100));
  assert_int_equal(trained_vocabulary(folder), 65536);
}

TEST(refused_by_name) {
  const char *data = write_words();
  assert_fails(test_train(config_text(data, ", \"max_vocabulary\": 2"), test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT,
               "\"max_vocabulary\" is 2, accepted are 0, for 65536, and from 3 on");
  assert_fails(test_train(config_text(data, ", \"max_vocabulary\": 1048577"), test_new_run(), 100),
               FILTRA_ERROR_INPUT, "\"max_vocabulary\"");
  assert_fails(
      test_train(
          test_text("{\"data\": \"%s\", \"tokenizer\": \"bytes\", \"max_vocabulary\": 9}", data),
          test_new_run(), 100),
      FILTRA_ERROR_ARGUMENT,
      "max_vocabulary is for the tokenizer words; these data are read by bytes");
}

TEST_MAIN(NULL, test_teardown)
