/* The Converter as a model: its defaults; padding changes no prediction; it learns an order of
 * tokens, alone and in pairs; and which combinations are refused. */
#include "model/model.h"
#include "support/harness.h"

#include <filtra/filtra.h>

enum { SIZE = 8, LENGTH = 16, VOCABULARY = 6, CLASSES = 2, LAYERS = 1 };

#define CONVERTER                                                                                  \
  .mixer = "kernelution", .block = FILTRA_BLOCK_CONVERTER,                                         \
  .positions = FILTRA_POSITIONS_RECURRENT, .vocabulary = VOCABULARY, .classes = CLASSES,           \
  .layers = LAYERS, .width = 12, .seed = 2

static filtra_model *make(const filtra_model_config *config) {
  filtra_model *model = test_model(test_device(), config);
  return model;
}

TEST(test_defaults) {
  owned_model *model = make(&(filtra_model_config){CONVERTER, .max_length = 64});
  const filtra_model_config *o = &model->options.config;
  assert_int_equal(o->ffn_width, 4 * o->width);
  assert_int_equal(o->head_width, o->width);
  assert_int_equal(o->activation, FILTRA_ACTIVATION_SOFTPLUS);
  assert_int_equal(o->head_activation, FILTRA_ACTIVATION_LEAKY_RELU);
  assert_float_equal(o->embedding_init, 0.125, 1e-7);
  filtra_model_destroy(&model);
  model = make(&(filtra_model_config){CONVERTER, .activation = FILTRA_ACTIVATION_SOFTPLUS5,
                                      .head_width = 3, .ffn_width = 5});
  assert_int_equal(model->options.config.activation, FILTRA_ACTIVATION_SOFTPLUS5);
  assert_int_equal(model->options.config.head_width, 3);
  assert_int_equal(model->options.config.ffn_width, 5);
}

/* Written and read again; in batches padded to different lengths. */
TEST(test_predictions) {
  char path[512];
  snprintf(path, sizeof path, "%s/converter.safetensors", test_folder());
  owned_model *model = make(&(filtra_model_config){CONVERTER, .max_length = LENGTH}), *again = NULL;
  assert_ok(filtra_model_save(model, path));
  assert_ok(filtra_model_load(test_device(), path, &again));
  int32_t tokens[LENGTH] = {3, 1, 5, 2, 2}, length = 5;
  filtra_batch batch = {.size = 1, .count = 1, .tokens = tokens, .lengths = &length};
  float expected[CLASSES] = {0};
  for (uint32_t n = 5; n <= LENGTH; n += n < 8 ? 1 : 8) {
    float got[CLASSES];
    batch.length = n;
    assert_ok(filtra_model_predict_batch(n % 2 ? model : again, &batch, got));
    for (int c = 0; c < CLASSES; c++) {
      if (n > 5) assert_float_equal(got[c], expected[c], 1e-6);
      expected[c] = got[c];
    }
  }
}

/* Whether token 1 comes before token 2: no bag of tokens tells. In a pair it is both sequences'. */
static void make_batch(uint64_t seed, int sequences, int32_t *tokens, int32_t *lengths,
                       int32_t *labels) {
  float noise[2 * SIZE * (LENGTH + 3)], *next = noise;
  test_random(seed, 0, 0.999, noise, FT_COUNT(noise));
  memset(tokens, 0, 2 * SIZE * LENGTH * sizeof *tokens);
  memset(labels, 0, SIZE * sizeof *labels);
  for (int i = 0; i < sequences * SIZE; i++) {
    int32_t n = lengths[i] = 4 + (int32_t)(*next++ * (LENGTH - 4)), *at = tokens + i * LENGTH;
    for (int t = 0; t < n; t++)
      at[t] = 3 + (int32_t)(*next++ * (VOCABULARY - 3));
    int first = (int)(*next++ * (float)(n - 1)), swap = *next++ < 0.5f;
    at[first] = swap ? 2 : 1;
    at[n - 1] = swap ? 1 : 2;
    labels[i % SIZE] ^= swap;
  }
}

static double train(const filtra_model_config *config, int sequences, int steps) {
  owned_model *model = make(config);
  owned_trainer *trainer = test_trainer(
      model, &(filtra_train_options){
                 .optimizer = {.learning_rate = 1e-2f, .decay_all = true, .weight_decay = 1e-3f}});
  int32_t tokens[2 * SIZE * LENGTH], lengths[2 * SIZE], labels[SIZE];
  float weights[SIZE] = {1, 1, 1, 1, 1, 1, 1, 1};
  filtra_batch batch = {.size = SIZE,
                        .length = LENGTH,
                        .count = SIZE,
                        .sequences = (uint32_t)sequences,
                        .tokens = tokens,
                        .lengths = lengths,
                        .labels = labels,
                        .weights = weights};
  for (int i = 0; i < steps; i++) {
    make_batch((uint64_t)i, sequences, tokens, lengths, labels);
    assert_ok(filtra_trainer_step(trainer, &batch, NULL));
  }
  assert_ok(filtra_trainer_finish(trainer, NULL));
  double hits = 0, loss, score, weight;
  for (uint64_t i = 0; i < 10; i++) {
    make_batch(100000 + i, sequences, tokens, lengths, labels);
    assert_ok(filtra_model_evaluate_batch(model, &batch, &loss, &score, &weight));
    hits += score / 10;
  }
  return hits;
}

TEST(test_learns) {
  double single = train(&(filtra_model_config){CONVERTER, .max_length = LENGTH}, 1, 300);
  if (!(single > 0.8)) fail_msg("accuracy %g", single);
  double mixed = train(&(filtra_model_config){.mixer = "kernelution",
                                              .vocabulary = VOCABULARY,
                                              .classes = CLASSES,
                                              .max_length = LENGTH,
                                              .layers = LAYERS,
                                              .width = 12},
                       1, 300);
  if (!(mixed > 0.75)) fail_msg("in a Transformer: accuracy %g", mixed);
  double pair = train(&(filtra_model_config){CONVERTER, .task = FILTRA_TASK_PAIR_CLASSIFICATION,
                                             .max_length = LENGTH},
                      2, 10);
  assert_true(pair >= 0 && pair <= 1);
}

TEST(test_refused) {
  static const struct {
    filtra_model_config config;
    const char *message;
  } cases[] = {
      {{.block = FILTRA_BLOCK_CONVERTER, .vocabulary = 5, .classes = 2},
       "needs a mixer with complex features, synvolution or kernelution, not \"softmax\""},
      {{CONVERTER, .norm = FILTRA_NORM_POST}, "ScaleNorms of its own"},
      {{.mixer = "synvolution", .task = FILTRA_TASK_LANGUAGE_MODEL, .vocabulary = 5},
       "rotations carry every token to both ends"},
      {{.positions = FILTRA_POSITIONS_RECURRENT,
        .task = FILTRA_TASK_LANGUAGE_MODEL,
        .vocabulary = 5},
       "state is not kept"},
      {{.positions = FILTRA_POSITIONS_RECURRENT,
        .width = 1024,
        .heads = 8,
        .vocabulary = 5,
        .classes = 2},
       "at most 512"},
      {{.mixer = "{\"name\": \"kernelution\", \"K\": 17}", .vocabulary = 5, .classes = 2}, "\"K\""},
      {{.mixer = "{\"name\": \"kernelution\", \"kernel\": \"fourier\"}",
        .vocabulary = 5,
        .classes = 2},
       "dirichlet, fejer"},
      {{.mixer = "{\"name\": \"synvolution\", \"permutation\": -1}", .vocabulary = 5, .classes = 2},
       "\"permutation\""},
      {{.mixer = "{\"name\": \"synvolution\", \"heads\": 3}", .vocabulary = 5, .classes = 2},
       "\"heads\" is 3, which does not divide \"width\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_model *model;
    assert_fails(filtra_model_create(test_device(), &cases[i].config, &model), FILTRA_ERROR_INPUT,
                 cases[i].message);
  }
}

TEST_MAIN(NULL, test_teardown)
