/* Models for every task, on batches made here: what they are built of, that they learn, what they
 * give, and what is refused with a reason. */
#include "support/harness.h"

#include "train/trainer.h"

#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 5, LENGTH = 12, FEATURES = 3, VOCABULARY = 7, CLASSES = 3, MAX_FEATURES = 64 * 3 };

/* Room for a batch of any task. */
typedef struct toy_batch {
  filtra_batch batch;
  int32_t tokens[2 * SIZE * LENGTH], lengths[2 * SIZE], labels[SIZE * LENGTH];
  float features[SIZE * MAX_FEATURES], values[SIZE], weights[SIZE];
} toy_batch;

static filtra_batch view(toy_batch *b) {
  return (filtra_batch){.size = SIZE,
                        .length = LENGTH,
                        .count = SIZE - 1,
                        .lengths = b->lengths,
                        .weights = b->weights};
}

/* Sequences of different lengths whose label or value is their first token; the last row is a
 * filler. */
static void begin_batch(uint64_t seed, toy_batch *b) {
  float noise[2 * SIZE * LENGTH];
  memset(b, 0, sizeof *b);
  test_random(seed, 0, 1, noise, FT_COUNT(noise));
  for (int i = 0; i < 2 * SIZE; i++) {
    b->lengths[i] = i ? 1 + (int32_t)(noise[i] * (LENGTH - 1)) : LENGTH;
    for (int n = 0; n < b->lengths[i]; n++)
      b->tokens[i * LENGTH + n] = 1 + (int32_t)(noise[i * LENGTH + n] * (VOCABULARY - 1));
  }
  for (int i = 0; i < SIZE; i++) {
    b->labels[i] = b->tokens[i * LENGTH] % CLASSES;
    b->values[i] = 100.0f + 20.0f * (float)b->tokens[i * LENGTH];
    b->weights[i] = i < SIZE - 1;
  }
  b->batch = view(b);
}

static void make_tokens(uint64_t seed, toy_batch *b) {
  begin_batch(seed, b);
  b->batch.tokens = b->tokens;
  b->batch.labels = b->labels;
}

/* Each sequence repeats one token; the label says whether both have the same. */
static void make_pairs(uint64_t seed, toy_batch *b) {
  make_tokens(seed, b);
  b->batch.sequences = 2;
  for (int i = 0; i < SIZE; i++)
    if ((seed + (uint64_t)i) % 2) b->tokens[(SIZE + i) * LENGTH] = b->tokens[i * LENGTH];
  for (int i = 0; i < 2 * SIZE; i++)
    for (int n = 1; n < b->lengths[i]; n++)
      b->tokens[i * LENGTH + n] = b->tokens[i * LENGTH];
  for (int i = 0; i < SIZE; i++)
    b->labels[i] = b->tokens[i * LENGTH] == b->tokens[(SIZE + i) * LENGTH];
}

static void make_values(uint64_t seed, toy_batch *b) {
  make_tokens(seed, b);
  b->batch.labels = NULL;
  b->batch.values = b->values;
}

/* Each token is followed by the next id, round about. */
static void make_text(uint64_t seed, toy_batch *b) {
  make_tokens(seed, b);
  for (int i = 0; i < SIZE * LENGTH; i++) {
    int row = i / LENGTH, n = i % LENGTH;
    if (n && b->tokens[i]) b->tokens[i] = b->tokens[i - 1] % (VOCABULARY - 1) + 1;
    b->labels[i] = n < b->lengths[row] ? b->tokens[i] % (VOCABULARY - 1) + 1 : -1;
  }
}

static void make_features(uint64_t seed, toy_batch *b) {
  begin_batch(seed, b);
  float noise[SIZE * LENGTH * FEATURES];
  test_random(seed + 1, -1, 1, noise, FT_COUNT(noise));
  for (int i = 0; i < SIZE * LENGTH; i++)
    for (int f = 0; f < FEATURES && i % LENGTH < b->lengths[i / LENGTH]; f++)
      b->features[i * FEATURES + f] =
          noise[i * FEATURES + f] + (f == b->labels[i / LENGTH] ? 2.0f : 0.0f);
  b->batch.features = b->features;
  b->batch.labels = b->labels;
}

/* Images of 6 x 9 pixels of three colours, one of which is bright. */
static void make_images(uint64_t seed, toy_batch *b) {
  enum { PIXELS = 6 * 9 };
  begin_batch(seed, b);
  test_random(seed + 1, 0, 1, b->features, SIZE * PIXELS * FEATURES);
  for (int i = 0; i < SIZE; i++) {
    b->lengths[i] = PIXELS;
    for (int n = 0; n < PIXELS; n++)
      b->features[(i * PIXELS + n) * FEATURES + b->labels[i]] += 1.0f;
  }
  b->batch.length = PIXELS;
  b->batch.features = b->features;
  b->batch.labels = b->labels;
}

typedef struct kind {
  const char *name;
  filtra_model_config config;
  void (*make)(uint64_t seed, toy_batch *b);
  int64_t results; /* numbers of a prediction of the batch */
} kind;

#define COMMON .max_length = LENGTH, .width = 16, .layers = 1, .seed = 3
#define TEXT   .vocabulary = VOCABULARY, COMMON
#define SERIES .features = FEATURES, .classes = CLASSES, COMMON
#define IMAGES                                                                                     \
  .features = FEATURES, .classes = CLASSES, .width = 16, .layers = 1, .seed = 3,                   \
  .image_height = 6, .image_width = 9, .patch = 3

static const kind KINDS[] = {
    {"classes", {.classes = CLASSES, TEXT}, make_tokens, SIZE *CLASSES},
    {"class token",
     {.classes = CLASSES, .pooling = FILTRA_POOLING_CLASS_TOKEN, .linear_head = true, TEXT},
     make_tokens,
     SIZE *CLASSES},
    {"pairs", {.task = FILTRA_TASK_PAIR_CLASSIFICATION, .classes = 2, TEXT}, make_pairs, SIZE * 2},
    {"values",
     {.task = FILTRA_TASK_REGRESSION, .target_mean = 170.0f, .target_scale = 40.0f, TEXT},
     make_values,
     SIZE},
    {"text", {.task = FILTRA_TASK_LANGUAGE_MODEL, TEXT}, make_text, SIZE *LENGTH *VOCABULARY},
    {"text, tied",
     {.task = FILTRA_TASK_LANGUAGE_MODEL, .tie_embeddings = true, .embedding_init = 0.1f, TEXT},
     make_text,
     SIZE *LENGTH *VOCABULARY},
    {"series", {.scale_embeddings = true, SERIES}, make_features, SIZE *CLASSES},
    {"series, flat",
     {.pooling = FILTRA_POOLING_FLATTEN, .post_norm = true, .linear_head = true, SERIES},
     make_features,
     SIZE *CLASSES},
    {"images", {IMAGES}, make_images, SIZE *CLASSES},
    {"images, class token",
     {.pooling = FILTRA_POOLING_CLASS_TOKEN, .head_activation = FILTRA_ACTIVATION_TANH, IMAGES},
     make_images,
     SIZE *CLASSES},
};

static filtra_model *make_model(const filtra_model_config *config, const char *mixer) {
  filtra_model *model;
  filtra_model_config given = *config;
  given.mixer = mixer;
  assert_ok(filtra_model_create(test_device(), &given, &model));
  return model;
}

static bool fits(const kind *k, const char *mixer) {
  return strcmp(mixer, "agf") != 0 || k->config.task != FILTRA_TASK_LANGUAGE_MODEL;
}

/* Losses before and after some steps on one batch after the other. */
static void train(filtra_model *model, const kind *k, double loss[2], double score[2]) {
  toy_batch b;
  double weight;
  filtra_trainer *trainer;
  filtra_step_metrics m;
  assert_ok(
      filtra_trainer_create(model, &(filtra_train_options){.learning_rate = 1e-2f}, &trainer));
  k->make(1000, &b);
  assert_ok(filtra_model_evaluate(model, &b.batch, &loss[0], &score[0], &weight));
  for (uint64_t i = 0; i < 60; i++) {
    k->make(i % 6, &b);
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  }
  assert_ok(filtra_trainer_finish(trainer, &m));
  assert_true(isfinite(m.loss) && m.gradient_norm > 0);
  assert_ok(ft_graph_check(trainer->graphs[0]->batch.graph));
  k->make(0, &b);
  assert_ok(filtra_model_evaluate(model, &b.batch, &loss[1], &score[1], &weight));
  filtra_trainer_destroy(&trainer);
}

static void every_task_learns(void **state) {
  (void)state;
  static const char *const MIXERS[] = {"softmax", "agf"};
  for (size_t i = 0; i < FT_COUNT(KINDS); i++)
    for (size_t m = 0; m < FT_COUNT(MIXERS); m++) {
      if (!fits(&KINDS[i], MIXERS[m])) continue;
      filtra_model *model = make_model(&KINDS[i].config, MIXERS[m]);
      double loss[2], score[2];
      train(model, &KINDS[i], loss, score);
      if (!(loss[1] < 0.6 * loss[0]))
        fail_msg("%s, %s: loss %g, then %g", KINDS[i].name, MIXERS[m], loss[0], loss[1]);
      filtra_model_destroy(&model);
    }
}

/* Evaluation's numbers from the predictions, in the caller's own units. */
static void evaluation_is_of_the_predictions(void **state) {
  (void)state;
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    const kind *k = &KINDS[i];
    filtra_model *model = make_model(&k->config, "softmax");
    toy_batch b;
    k->make(7, &b);
    float *results = calloc((size_t)k->results, sizeof *results);
    double loss, score, weight, sum = 0, hits = 0, count = 0;
    assert_ok(filtra_model_predict(model, &b.batch, results));
    assert_ok(filtra_model_evaluate(model, &b.batch, &loss, &score, &weight));
    int64_t outputs = filtra_model_outputs(model), rows = k->results / outputs;
    for (int64_t r = 0; r < rows; r++) {
      const float *x = results + r * outputs;
      if (b.weights[r / (rows / SIZE)] == 0.0f || (b.batch.labels && b.labels[r] < 0)) continue;
      count++;
      if (!b.batch.labels) {
        double error = fabs(x[0] - b.values[r]);
        sum += error * error / (k->config.target_scale * k->config.target_scale);
        hits += error;
        continue;
      }
      double total = 0;
      int best = 0;
      for (int c = 0; c < outputs; c++) {
        total += exp(x[c]);
        if (x[c] > x[best]) best = c;
      }
      sum += log(total) - x[b.labels[r]];
      hits += best == b.labels[r];
    }
    assert_float_equal(weight, count, 0);
    assert_float_equal(loss, sum / count, 1e-5 * (1 + sum / count));
    assert_float_equal(score, hits / count, 1e-5 * (1 + hits / count));
    free(results);
    filtra_model_destroy(&model);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_task_learns),
      cmocka_unit_test(evaluation_is_of_the_predictions),
  };
  return cmocka_run_group_tests_name("model/tasks", tests, NULL, test_teardown);
}
