/* Models for every task, on batches made here: their parts, learning, results, and what is refused
 * with a reason. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include "train/trainer.h"

#include <filtra/filtra.h>

enum { SIZE = 5, LENGTH = 12, FEATURES = 3, VOCABULARY = 7, CLASSES = 3, MAX_FEATURES = 64 * 3 };

/* Room for a batch of any task. */
typedef struct task_batch {
  filtra_batch batch;
  int32_t tokens[2 * SIZE * LENGTH], lengths[2 * SIZE], labels[SIZE * LENGTH];
  float features[SIZE * MAX_FEATURES], values[SIZE], weights[SIZE], targets[SIZE * CLASSES];
} task_batch;

static filtra_batch view(task_batch *b) {
  return (filtra_batch){.size = SIZE,
                        .length = LENGTH,
                        .count = SIZE - 1,
                        .lengths = b->lengths,
                        .weights = b->weights};
}

/* Sequences of different lengths whose label or value is their first token; the last row is a
 * filler. */
static void begin_batch(uint64_t seed, task_batch *b) {
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

static void make_tokens(uint64_t seed, task_batch *b) {
  begin_batch(seed, b);
  b->batch.tokens = b->tokens;
  b->batch.labels = b->labels;
}

/* Each sequence repeats one token; the label says whether both have the same. */
static void make_pairs(uint64_t seed, task_batch *b) {
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

/* Which of the first classes' ids a sequence has; two labels, one or none. */
static void make_labels(uint64_t seed, task_batch *b) {
  make_tokens(seed, b);
  b->batch.labels = NULL;
  b->batch.targets = b->targets;
  for (int i = 0; i < SIZE; i++)
    for (int k = 0; k < CLASSES; k++)
      b->targets[i * CLASSES + k] = b->tokens[i * LENGTH] % 4 > k;
}

/* As make_labels, but some are unknown, of one sample all. */
static void make_gaps(uint64_t seed, task_batch *b) {
  make_labels(seed, b);
  for (int i = 0; i < SIZE * CLASSES; i++)
    if (i % 5 == 0 || i / CLASSES == 1) b->targets[i] = -1;
}

static void make_values(uint64_t seed, task_batch *b) {
  make_tokens(seed, b);
  b->batch.labels = NULL;
  b->batch.values = b->values;
}

/* Each token is followed by the next id, round about. */
static void make_text(uint64_t seed, task_batch *b) {
  make_tokens(seed, b);
  for (int i = 0; i < SIZE * LENGTH; i++) {
    int row = i / LENGTH, n = i % LENGTH;
    if (n && b->tokens[i]) b->tokens[i] = b->tokens[i - 1] % (VOCABULARY - 1) + 1;
    b->labels[i] = n < b->lengths[row] ? b->tokens[i] % (VOCABULARY - 1) + 1 : -1;
  }
}

static void make_features(uint64_t seed, task_batch *b) {
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
static void make_images(uint64_t seed, task_batch *b) {
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
  void (*make)(uint64_t seed, task_batch *b);
  int64_t results; /* numbers of a prediction of the batch */
} kind;

#define COMMON .max_length = LENGTH, .width = 16, .layers = 1, .seed = 3
#define TEXT   .vocabulary = VOCABULARY, COMMON
#define SERIES .features = FEATURES, .classes = CLASSES, COMMON
#define IMAGES                                                                                     \
  .features = FEATURES, .classes = CLASSES, .width = 16, .layers = 1, .seed = 3,                   \
  .image_height = 6, .image_width = 9, .patch = 3

static const kind KINDS[] = {
    {"classes",
     {.classes = CLASSES, .pooling = FILTRA_POOLING_FIRST, TEXT},
     make_tokens,
     SIZE *CLASSES},
    {"class token",
     {.classes = CLASSES, .pooling = FILTRA_POOLING_CLASS_TOKEN, .head = FILTRA_HEAD_LINEAR, TEXT},
     make_tokens,
     SIZE *CLASSES},
    {"pairs", {.task = FILTRA_TASK_PAIR_CLASSIFICATION, .classes = 2, TEXT}, make_pairs, SIZE * 2},
    {"values",
     {.task = FILTRA_TASK_REGRESSION, .target_mean = 170.0f, .target_scale = 40.0f, TEXT},
     make_values,
     SIZE},
    {"labels",
     {.task = FILTRA_TASK_MULTI_LABEL, .classes = CLASSES, TEXT},
     make_labels,
     SIZE *CLASSES},
    {"labels, some unknown",
     {.task = FILTRA_TASK_MULTI_LABEL, .classes = CLASSES, TEXT},
     make_gaps,
     SIZE *CLASSES},
    {"text", {.task = FILTRA_TASK_LANGUAGE_MODEL, TEXT}, make_text, SIZE *LENGTH *VOCABULARY},
    {"text, tied",
     {.task = FILTRA_TASK_LANGUAGE_MODEL, .tie_embeddings = true, .embedding_init = 0.1f, TEXT},
     make_text,
     SIZE *LENGTH *VOCABULARY},
    {"series", {.scale_embeddings = true, SERIES}, make_features, SIZE *CLASSES},
    {"series, flat",
     {.pooling = FILTRA_POOLING_FLATTEN,
      .norm = FILTRA_NORM_POST,
      .head = FILTRA_HEAD_LINEAR,
      SERIES},
     make_features,
     SIZE *CLASSES},
    {"images", {IMAGES}, make_images, SIZE *CLASSES},
    {"images, class token",
     {.pooling = FILTRA_POOLING_CLASS_TOKEN, .head_activation = FILTRA_ACTIVATION_TANH, IMAGES},
     make_images,
     SIZE *CLASSES},
};

static filtra_model *make_model(const filtra_model_config *config, const char *mixer) {
  filtra_model_config given = *config;
  given.mixer = strcmp(mixer, "nystrom") ? mixer : TOY_NYSTROM;
  filtra_model *model = test_model(test_device(), &given);
  return model;
}

/* Every mixer learns classes, and text where it can; a fourth of them each other kind. */
static bool fits(size_t i, size_t mixer) {
  const bool text = KINDS[i].config.task == FILTRA_TASK_LANGUAGE_MODEL;
  if (text && ft_mixer_at(mixer)->not_causal) return false;
  return i == 0 || (text && !KINDS[i].config.tie_embeddings) || (i + mixer) % 4 == 0;
}

/* Losses before and after some steps on one batch after the other. */
static void train(filtra_model *model, const kind *k, double loss[2], double score[2]) {
  task_batch b;
  double weight;
  filtra_trainer_metrics m;
  owned_trainer *trainer =
      test_trainer(model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-2f}});
  k->make(1000, &b);
  assert_ok(filtra_model_evaluate_batch(model, &b.batch, &loss[0], &score[0], &weight));
  for (uint64_t i = 0; i < 60; i++) {
    k->make(i % 6, &b);
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  }
  assert_ok(filtra_trainer_finish(trainer, &m));
  assert_true(isfinite(m.loss) && m.gradient_norm > 0);
  assert_ok(ft_graph_check(trainer->graphs[0]->graph));
  k->make(0, &b);
  assert_ok(filtra_model_evaluate_batch(model, &b.batch, &loss[1], &score[1], &weight));
}

TEST(every_task_learns) {
  for (size_t i = 0; i < FT_COUNT(KINDS); i++)
    for (size_t m = 0; m < filtra_mixer_count(); m++) {
      if (!fits(i, m)) continue;
      owned_model *model = make_model(&KINDS[i].config, ft_mixer_at(m)->name);
      double loss[2], score[2];
      train(model, &KINDS[i], loss, score);
      /* FNet, which cannot learn to leave other tokens out, reads a single one slowest. */
      double share = strcmp(ft_mixer_at(m)->name, "fnet") == 0 ? 0.8 : 0.6;
      if (!(loss[1] < share * loss[0]))
        fail_msg("%s, %s: loss %g, then %g", KINDS[i].name, ft_mixer_at(m)->name, loss[0], loss[1]);
    }
}

/* Evaluation's numbers from the predictions, in the caller's own units. */
TEST(evaluation_is_of_the_predictions) {
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    const kind *k = &KINDS[i];
    owned_model *model = make_model(&k->config, "softmax");
    task_batch b;
    k->make(7, &b);
    owned float *results = calloc((size_t)k->results, sizeof *results);
    double loss, score, weight, sum = 0, hits = 0, count = 0;
    assert_ok(filtra_model_predict_batch(model, &b.batch, results));
    assert_ok(filtra_model_evaluate_batch(model, &b.batch, &loss, &score, &weight));
    int64_t outputs = filtra_model_outputs(model), rows = k->results / outputs;
    for (int64_t r = 0; r < rows; r++) {
      const float *x = results + r * outputs;
      if (b.weights[r / (rows / SIZE)] == 0.0f || (b.batch.labels && b.labels[r] < 0)) continue;
      if (b.batch.targets) {
        bool right = true;
        int known = 0;
        for (int c = 0; c < CLASSES; c++) {
          const bool has = b.targets[r * CLASSES + c] > 0;
          if (b.targets[r * CLASSES + c] < 0) continue;
          known++;
          sum += (fmax(x[c], 0) - (has ? x[c] : 0) + log1p(exp(-fabs((double)x[c])))) / CLASSES;
          right = right && (x[c] > 0) == has;
        }
        hits += right * (double)known / CLASSES;
        count += (double)known / CLASSES;
        continue;
      }
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
  }
}

/* A file alone is the model, whatever its kind. */
TEST(saved_models_predict_the_same) {
  const char *path = test_path(test_folder(), "model.safetensors");
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    owned_model *model = make_model(&KINDS[i].config, "softmax"), *again = NULL;
    task_batch b;
    KINDS[i].make(3, &b);
    size_t bytes = (size_t)KINDS[i].results * sizeof(float);
    owned float *one = malloc(bytes), *two = malloc(bytes);
    assert_ok(filtra_model_predict_batch(model, &b.batch, one));
    assert_ok(filtra_model_save(model, path));
    assert_ok(filtra_model_load(test_device(), path, &again));
    assert_int_equal(filtra_model_task(again), filtra_model_task(model));
    assert_ok(filtra_model_predict_batch(again, &b.batch, two));
    assert_memory_equal(one, two, bytes);
  }
}

/* The same series in a batch that is padded further, and in one alone. */
TEST(padding_changes_nothing) {
  enum { LONG = 40 };
  for (filtra_pooling pooling = FILTRA_POOLING_MEAN; pooling <= FILTRA_POOLING_FLATTEN; pooling++) {
    const filtra_model_config config = {.pooling = pooling,
                                        .features = FEATURES,
                                        .classes = CLASSES,
                                        .max_length = LONG,
                                        .seed = 2};
    owned_model *model = make_model(&config, "agf");
    task_batch b;
    make_features(5, &b);
    float near[SIZE * CLASSES], far[2 * CLASSES], features[2 * LONG * FEATURES] = {0};
    assert_ok(filtra_model_predict_batch(model, &b.batch, near));
    memcpy(features, b.features + LENGTH * FEATURES, LENGTH * FEATURES * sizeof *features);
    test_random(9, -1, 1, features + LONG * FEATURES, LONG * FEATURES);
    const filtra_batch wide = {.size = 2,
                               .length = LONG,
                               .count = 2,
                               .features = features,
                               .lengths = (int32_t[]){b.lengths[1], LONG}};
    assert_ok(filtra_model_predict_batch(model, &wide, far));
    for (int c = 0; c < CLASSES; c++)
      assert_float_equal(far[c], near[CLASSES + c], 2e-5);
  }
}

/* What a caller's arrays hold behind a sequence is nobody's business, whatever padding a mixer
 * sees. */
TEST(behind_a_sequence_counts_nothing) {
  static const char *const MIXERS[] = {"softmax", "{\"name\": \"synvolution\", \"permutation\": 3}",
                                       "{\"name\": \"kernelution\", \"layout\": \"flat\"}"};
  for (size_t k = 0; k < FT_COUNT(MIXERS); k++) {
    const filtra_model_config config = {.classes = CLASSES, TEXT};
    owned_model *model = make_model(&config, MIXERS[k]);
    task_batch b;
    float clean[SIZE * CLASSES], left[SIZE * CLASSES];
    make_tokens(5, &b);
    b.lengths[1] = 4;
    for (int n = 4; n < LENGTH; n++)
      b.tokens[LENGTH + n] = 0;
    assert_ok(filtra_model_predict_batch(model, &b.batch, clean));
    for (int n = 4; n < LENGTH; n++)
      b.tokens[LENGTH + n] = n % 2 ? 3 : 1000000;
    assert_ok(filtra_model_predict_batch(model, &b.batch, left));
    assert_memory_equal(clean, left, sizeof clean);
  }
}

/* ---- what is refused ---- */

/* No file that could not be read again, no result that is no number. */
TEST(unusable_weights) {
  char path[256];
  snprintf(path, sizeof path, "%s", test_path(test_folder(), "model.safetensors"));
  const filtra_model_config config = {.classes = CLASSES, TEXT};
  owned_model *model = make_model(&config, "softmax"), *again = NULL;
  task_batch b;
  float results[SIZE * CLASSES], bias[CLASSES] = {0, NAN};
  make_tokens(5, &b);
  assert_ok(filtra_model_save(model, path));
  assert_ok(filtra_parameters_set(filtra_model_parameters(model), "head.2.bias", bias, CLASSES));
  assert_fails(filtra_model_predict_batch(model, &b.batch, results), FILTRA_ERROR_NONFINITE,
               "predict:");
  assert_fails(filtra_model_save(model, path), FILTRA_ERROR_NONFINITE, "head.2.bias");
  assert_ok(filtra_model_load(test_device(), path, &again)); /* the file of before */
}

TEST(models_without_a_meaning) {
  static const struct {
    filtra_model_config config;
    const char *part;
  } CASES[] = {
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, .mixer = "agf", TEXT},
       "mixer \"agf\" cannot be used for task \"language_model\", where no token may see those "
       "behind it: its V is normalised over all tokens"},
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, .pooling = FILTRA_POOLING_CLASS_TOKEN, TEXT},
       "cannot have \"pooling\" class_token: it predicts at every token"},
      {{.task = FILTRA_TASK_PAIR_CLASSIFICATION,
        .pooling = FILTRA_POOLING_FLATTEN,
        .classes = 2,
        TEXT},
       "compared by one vector"},
      {{.task = FILTRA_TASK_PAIR_CLASSIFICATION, SERIES}, "is for token ids"},
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, SERIES}, "is for token ids"},
      {{.task = (filtra_task)(FILTRA_TASK_MULTI_LABEL + 1), TEXT},
       "\"task\" must be one of auto, classification"},
      {{.vocabulary = VOCABULARY, SERIES}, "not both"},
      {{.classes = 1, TEXT}, "\"classes\" is required"},
      {{.classes = CLASSES}, "\"vocabulary\" is required"},
      {{.mask_zero = true, SERIES}, "\"mask_zero\""},
      {{.tie_embeddings = true, .classes = 2, TEXT}, "\"tie_embeddings\""},
      {{.patch = 2, .classes = 2, TEXT}, "one a pixel"},
      {{.patch = 2, .image_height = 4, .image_width = 5, SERIES}, "\"patch\" 2 must divide"},
      {{.patch = 2, .image_height = 4, .image_width = 4, SERIES}, "an image has 16 pixels"},
      {{.patch = 2, SERIES}, "must divide \"image_height\" 0"},
      {{.dropout = NAN, SERIES}, "\"dropout\" is nan, accepted are 0 to 0.999"},
      {{.target_scale = -1.0f, .task = FILTRA_TASK_REGRESSION, TEXT}, "\"target_scale\" is -1"},
      {{.target_mean = 1.0f, SERIES}, "are for task \"regression\", not \"classification\""},
      {{.mixer = "{\"name\": 3}", SERIES}, "\"mixer\""},
      {{.drop_path = 0.1f, .width = 8, .layers = 1, .vocabulary = VOCABULARY, .classes = 2},
       "\"drop_path\" rises from 0 in the first layer"},
      /* Keys and options without effect. */
      {{.mixer = "{\"name\": \"agf\", \"variant\": \"uv\", \"K\": 3}", SERIES},
       "\"K\" has no effect with a \"variant\" other than filter"},
      {{.mixer = "{\"name\": \"agf\", \"variant\": \"svd\", \"a\": 3}", SERIES},
       "\"a\" has no effect with a \"variant\""},
      {{.mixer = "{\"name\": \"agf\", \"basis\": \"legendre\", \"b\": 3}", SERIES},
       "\"b\" has no effect with a \"basis\" other than jacobi"},
      {{.mixer = "{\"name\": \"kernelution\", \"lanczos_m\": 5}", SERIES},
       "\"lanczos_m\" has no effect with a \"kernel\" other than lanczos"},
      {{.mixer = "{\"name\": \"kernelution\", \"triangular\": true}", SERIES},
       "\"triangular\" has no effect with an \"order\" of 1"},
      {{.mixer = "{\"name\": \"synvolution\", \"sort_temperature\": 1}", SERIES},
       "\"sort_temperature\" has no effect without \"sort_tokens\""},
      {{.mixer = "{\"name\": \"kernelution\", \"kernel\": \"fejer\", \"wang_a\": 3}", SERIES},
       "\"wang_a\" has no effect"},
      {{.head = FILTRA_HEAD_LINEAR, .head_width = 9, SERIES},
       "\"head_width\" has no effect with \"head\" linear"},
      {{.head = FILTRA_HEAD_LINEAR, .head_activation = FILTRA_ACTIVATION_TANH, SERIES},
       "\"head_activation\" has no effect"},
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, .pooling = FILTRA_POOLING_FIRST, TEXT},
       "\"pooling\" has no effect in task \"language_model\""},
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, .head = FILTRA_HEAD_LINEAR, TEXT},
       "\"head\" has no effect"},
      {{.task = FILTRA_TASK_LANGUAGE_MODEL, .head_width = 9, TEXT},
       "\"head_width\" has no effect in task"},
  };
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    filtra_model *model;
    assert_fails(filtra_model_create(test_device(), &CASES[i].config, &model), FILTRA_ERROR_INPUT,
                 CASES[i].part);
    assert_null(model);
  }
  const filtra_model_config unreadable = {.mixer = "\xff", SERIES};
  filtra_model *model;
  assert_fails(filtra_model_create(test_device(), &unreadable, &model), FILTRA_ERROR_ARGUMENT,
               "\"mixer\" is not UTF-8 text");
}

static const kind *find_kind(const char *name) {
  const kind *k = KINDS;
  while (strcmp(k->name, name) != 0)
    k++;
  return k;
}

static void refuse_batch(const char *name, task_batch *b, const char *part) {
  owned_model *model = make_model(&find_kind(name)->config, "softmax");
  double loss, score, weight;
  filtra_status status = filtra_model_evaluate_batch(model, &b->batch, &loss, &score, &weight);
  assert_true(status == FILTRA_ERROR_INPUT || status == FILTRA_ERROR_ARGUMENT);
  if (!strstr(filtra_error_message(), part))
    fail_msg("\"%s\", wanted \"%s\"", filtra_error_message(), part);
}

/* Inputs, and then weights, that are finite and whose products are not: no call gives a result,
 * and none says that it knows which is to blame. */
TEST(results_that_are_not_finite) {
  static const char either[] = "either the model's weights are not usable or an input is too large";
  double loss, score, weight;
  float results[SIZE * CLASSES];
  task_batch b;
  const kind *k = find_kind("series");
  owned_model *model = make_model(&k->config, "softmax");
  k->make(0, &b);
  const float was = b.features[0];
  b.features[0] = 3e38f;
  b.features[1] = -3e38f;
  assert_fails(filtra_model_predict_batch(model, &b.batch, results), FILTRA_ERROR_NONFINITE,
               either);
  assert_fails(filtra_model_evaluate_batch(model, &b.batch, &loss, &score, &weight),
               FILTRA_ERROR_NONFINITE, either);
  b.features[0] = b.features[1] = was;
  assert_ok(filtra_model_predict_batch(model, &b.batch, results));
  assert_ok(filtra_model_evaluate_batch(model, &b.batch, &loss, &score, &weight));
  toy_break(model);
  assert_fails(filtra_model_evaluate_batch(model, &b.batch, &loss, &score, &weight),
               FILTRA_ERROR_NONFINITE, "evaluate: ");
}

/* A vocabulary without a tokenizer has room for the ids of all splits, and no more. */
TEST(ids_without_a_tokenizer) {
  int32_t tokens[] = {1, 4, 2, 6}, labels[] = {0, 1};
  uint32_t lengths[] = {1, 3};
  const filtra_dataset_arrays arrays = {.splits = {[FILTRA_SPLIT_TRAIN] = {.count = 2,
                                                                           .tokens = tokens,
                                                                           .lengths = lengths,
                                                                           .labels = labels},
                                                   [FILTRA_SPLIT_TEST] = {.count = 1,
                                                                          .tokens = tokens + 3,
                                                                          .lengths = lengths,
                                                                          .labels = labels}},
                                        .classes = 2};
  owned_dataset *data = test_dataset(&arrays);
  filtra_model_config config = {.data = data, .width = 8, .layers = 1, .heads = 1};
  owned_model *model = NULL;
  assert_ok(filtra_model_create(test_device(), &config, &model));
  filtra_model_get_config(model, &config);
  assert_int_equal(config.vocabulary, 7);
  config.data = data;
  config.vocabulary = 6;
  filtra_model *none = NULL;
  assert_fails(filtra_model_create(test_device(), &config, &none), FILTRA_ERROR_INPUT,
               "\"vocabulary\" 7");
}

TEST(bad_batches) {
  task_batch b;
  make_tokens(1, &b);
  refuse_batch("pairs", &b, "holds 1 a sample where task \"pair_classification\" takes 2");
  refuse_batch("values", &b, "needs values and weights");
  refuse_batch("series", &b, "needs features");
  make_pairs(1, &b);
  refuse_batch("classes", &b, "holds 2 a sample");
  b.tokens[(SIZE + 2) * LENGTH] = VOCABULARY;
  refuse_batch("pairs", &b, "sample 2 has token 7 at position 0");
  make_pairs(1, &b);
  b.lengths[SIZE + 1] = LENGTH + 1;
  refuse_batch("pairs", &b, "sample 1 has 13 tokens");
  make_values(1, &b);
  b.values[2] = NAN;
  refuse_batch("values", &b, "sample 2 has the value nan");
  make_text(1, &b);
  b.labels[0] = -2;
  refuse_batch("text", &b, "label -2, accepted are -1 to 6");
  b.labels[0] = VOCABULARY;
  refuse_batch("text", &b, "label 7");
  make_images(1, &b);
  b.lengths[3]--;
  refuse_batch("images", &b, "sample 3 has 53 pixels, the model's images have 54");
  make_features(1, &b);
  b.lengths[2] = 3;
  b.features[(2 * LENGTH + 1) * FEATURES + 1] = INFINITY;
  refuse_batch("series", &b, "sample 2 has inf as feature 1 of token 1 (of 3 tokens)");
  b.features[(2 * LENGTH + 1) * FEATURES + 1] = 0;
  b.features[(2 * LENGTH + 5) * FEATURES] = NAN;
  refuse_batch("series", &b, "sample 2 has nan as feature 0 of token 5 (of 3 tokens)");
  make_tokens(1, &b);
  b.batch.count = SIZE + 1;
  refuse_batch("classes", &b, "count is 6, accepted are 0 to size, 5");
  make_tokens(1, &b);
  const int32_t others[SIZE] = {0};
  b.batch.other_labels = others;
  refuse_batch("classes", &b, "other_labels and label_fractions go together");
  make_features(1, &b);
  b.weights[1] = NAN;
  refuse_batch("series", &b, "sample 1 has the weight nan");
  b.weights[1] = -1;
  refuse_batch("series", &b, "sample 1 has the weight -1");
  make_features(1, &b);
  b.batch.features = NULL;
  refuse_batch("series", &b, "needs features");
}

TEST_MAIN(NULL, test_teardown)
