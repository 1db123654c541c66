/* Initial weights, and the norms' epsilon: in models of every mixer, in files, in generators. */
#include "support/harness.h"
#include "support/toy.h"

#include "nn/converter.h"

#include <filtra/filtra.h>

/* ---- initial values ---- */

enum { WIDTH = 64, VOCABULARY = 60 };

static filtra_model_config config_of(const char *mixer) {
  return (filtra_model_config){.mixer = mixer,
                               .vocabulary = VOCABULARY,
                               .classes = 50,
                               .max_length = 32,
                               .layers = 1,
                               .width = WIDTH,
                               .seed = 4};
}

typedef struct values {
  const char *name;
  int ndim;
  size_t count;
  float *list;
  double mean, spread;
} values;

static values values_of(filtra_model *model, size_t i) {
  filtra_parameters *p = filtra_model_parameters(model);
  int64_t shape[FILTRA_MAX_DIMS];
  values v = {.name = filtra_parameters_name(p, i), .count = 1};
  v.ndim = filtra_parameters_shape(p, i, shape);
  for (int k = 0; k < v.ndim; k++)
    v.count *= (size_t)shape[k];
  v.list = malloc(v.count * sizeof *v.list);
  assert_non_null(v.list);
  assert_ok(filtra_parameters_get(p, v.name, v.list, v.count));
  for (size_t k = 0; k < v.count; k++)
    v.mean += (double)v.list[k] / (double)v.count;
  for (size_t k = 0; k < v.count; k++)
    v.spread += pow((double)v.list[k] - v.mean, 2) / (double)v.count;
  v.spread = sqrt(v.spread);
  return v;
}

/* SIRENs, the values of a spectral filter, random directions, a loss's weights. */
static bool has_own_start(const char *name) {
  static const char *const own[] = {".values.", ".vectors.", "mixer.value.weight", "directions",
                                    "lambda"};
  for (size_t i = 0; i < FT_COUNT(own); i++)
    if (strstr(name, own[i])) return true;
  return false;
}

/* Within five standard errors of what N(0, spread^2) has; a uniform start of the same deviation
 * would have nothing beyond 1.74 of them. */
static void assert_normal(const values *v, double spread) {
  double n = (double)v->count, largest = 0;
  for (size_t k = 0; k < v->count; k++)
    largest = fmax(largest, fabs((double)v->list[k]));
  if (fabs(v->mean) > 5 * spread / sqrt(n) || fabs(v->spread - spread) > 5 * spread / sqrt(2 * n) ||
      largest < 2.2 * spread)
    fail_msg("%s: mean %g, deviation %g, largest %g", v->name, v->mean, v->spread, largest);
}

TEST(linear_layers_start_normal) {
  const double spread = 0.05;
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    if (!strcmp(toy_mixers[k], TOY_CONVERTER)) continue;
    filtra_model_config config = config_of(toy_mixers[k]);
    int matrices = 0;
    config.init_std = (float)spread;
    owned_model *model = test_model(test_device(), &config);
    size_t count = filtra_parameters_count(filtra_model_parameters(model));
    for (size_t i = 0; i < count; i++) {
      values v = values_of(model, i);
      const char *kind = strrchr(v.name, '.');
      if (!has_own_start(v.name)) {
        if (v.ndim == 2 && v.count > 4) assert_normal(&v, spread); /* not of 2 heads that talk */
        if (v.ndim == 1 && kind && !strcmp(kind, ".bias"))
          assert_true(v.mean == 0 && v.spread == 0);
        matrices += v.ndim == 2;
      }
      free(v.list);
    }
    assert_true(matrices >= 6); /* tables, feed-forward layers, head; all but fnet mix by some */
  }
}

/* Without it weights and biases are uniform, as ever. */
TEST(linear_layers_start_uniform) {
  filtra_model_config config = config_of("softmax");
  owned_model *model = test_model(test_device(), &config);
  size_t count = filtra_parameters_count(filtra_model_parameters(model)), found = 0;
  for (size_t i = 0; i < count; i++) {
    values v = values_of(model, i);
    if (!strcmp(v.name, "layers.0.mixer.qkv.weight") || !strcmp(v.name, "layers.0.ffn.1.bias")) {
      const double bound = 1.0 / sqrt(WIDTH);
      for (size_t k = 0; k < v.count; k++)
        assert_true(fabs((double)v.list[k]) <= bound);
      assert_float_equal(v.spread, bound / sqrt(3.0), 0.1 * bound);
      found++;
    }
    if (!strcmp(v.name, "embedding.weight")) assert_normal(&v, 0.02);
    free(v.list);
  }
  assert_int_equal(found, 2);
}

/* A class token is like the other weights; the layer that reads patches is a convolution in DeiT,
 * which starts uniform there. */
TEST(images_start_as_in_deit) {
  filtra_model_config config = {.features = 3,
                                .classes = 10,
                                .image_height = 16,
                                .image_width = 16,
                                .patch = 4,
                                .layers = 1,
                                .width = WIDTH,
                                .pooling = FILTRA_POOLING_CLASS_TOKEN,
                                .head = FILTRA_HEAD_LINEAR,
                                .init_std = 0.05f};
  owned_model *model = test_model(test_device(), &config);
  size_t count = filtra_parameters_count(filtra_model_parameters(model)), found = 0;
  for (size_t i = 0; i < count; i++) {
    values v = values_of(model, i);
    if (!strcmp(v.name, "embedding.weight"))
      assert_float_equal(v.spread, 1.0 / sqrt(48.0 * 3.0), 0.01), found++;
    if (!strcmp(v.name, "class_token.weight") || !strcmp(v.name, "positions.weight") ||
        !strcmp(v.name, "head.weight"))
      assert_normal(&v, 0.05), found++;
    free(v.list);
  }
  assert_int_equal(found, 4);
}

TEST(refused) {
  filtra_model *model;
  filtra_model_config config = config_of("kernelution");
  config.block = FILTRA_BLOCK_CONVERTER;
  config.init_std = 0.02f;
  assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
               "\"init_std\" has no effect with \"block\" converter");
  config = config_of("softmax");
  config.init_std = 11;
  assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
               "\"init_std\"");
  config.init_std = 0;
  config.norm_epsilon = 1.5f;
  assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
               "\"norm_epsilon\"");
}

/* ---- epsilon ---- */

static void set_parameter(filtra_model *model, const char *name, const float *list, size_t count) {
  assert_ok(filtra_parameters_set(filtra_model_parameters(model), name, list, count));
}

/* Blocks that hand on what they get, and a head that shows it: a language model whose logits of a
 * token are the last norm of its row in the table. */
enum { SMALL = 8 };

static filtra_model *bare_model(float epsilon) {
  static const float zeros[2 * SMALL * SMALL];
  float eye[SMALL * SMALL] = {0}, table[SMALL * SMALL];
  filtra_model *model =
      test_model(test_device(), &(filtra_model_config){.task = FILTRA_TASK_LANGUAGE_MODEL,
                                                       .vocabulary = SMALL,
                                                       .max_length = 16,
                                                       .layers = 1,
                                                       .heads = 1,
                                                       .width = SMALL,
                                                       .positions = FILTRA_POSITIONS_NONE,
                                                       .norm_epsilon = epsilon});
  for (int i = 0; i < SMALL; i++)
    eye[i * SMALL + i] = 1.0f;
  test_random(8, -1e-3, 1e-3, table, SMALL * SMALL); /* a variance of 3e-7 */
  set_parameter(model, "embedding.weight", table, SMALL * SMALL);
  set_parameter(model, "layers.0.mixer.out.weight", zeros, SMALL * SMALL);
  set_parameter(model, "layers.0.mixer.out.bias", zeros, SMALL);
  set_parameter(model, "layers.0.ffn.2.weight", zeros, 2 * SMALL * SMALL);
  set_parameter(model, "layers.0.ffn.2.bias", zeros, SMALL);
  set_parameter(model, "head.weight", eye, SMALL * SMALL);
  set_parameter(model, "head.bias", zeros, SMALL);
  return model;
}

static void assert_norm_of(int32_t token, double epsilon, const float *got) {
  float table[SMALL * SMALL];
  double mean = 0, variance = 0;
  test_random(8, -1e-3, 1e-3, table, SMALL * SMALL);
  const float *x = table + token * SMALL;
  for (int i = 0; i < SMALL; i++)
    mean += (double)x[i] / SMALL;
  for (int i = 0; i < SMALL; i++)
    variance += pow((double)x[i] - mean, 2) / SMALL;
  for (int i = 0; i < SMALL; i++) {
    double expected = ((double)x[i] - mean) / sqrt(variance + epsilon);
    assert_float_equal((double)got[i], expected, 2e-6 * (1 + fabs(expected)));
  }
}

static void predict(filtra_model *model, const int32_t *tokens, float logits[2 * SMALL]) {
  static const int32_t lengths[] = {2};
  assert_ok(filtra_model_predict_batch(
      model,
      &(filtra_batch){.size = 1, .length = 2, .count = 1, .tokens = tokens, .lengths = lengths},
      logits));
}

/* In float64 by hand, where it decides by itself how large a result is; a model that is read from
 * its file has it still, and so has a generator. */
TEST(epsilon_is_the_models) {
  static const float given[] = {0, 1e-6f, 1e-9f, 0.5f};
  static const int32_t tokens[] = {3, 5};
  for (size_t i = 0; i < FT_COUNT(given); i++) {
    const double epsilon = given[i] > 0 ? (double)given[i] : (double)1e-5f;
    owned_model *model = bare_model(given[i]), *read = NULL;
    filtra_model_config config;
    filtra_generator *generator;
    float logits[2 * SMALL], again[2 * SMALL], next[SMALL];
    void *bytes;
    size_t size;
    predict(model, tokens, logits);
    assert_norm_of(tokens[0], epsilon, logits);
    assert_norm_of(tokens[1], epsilon, logits + SMALL);
    assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
    assert_ok(filtra_model_load_from_memory(test_device(), bytes, size, &read));
    assert_ok(filtra_model_get_config(read, &config));
    assert_true((double)config.norm_epsilon == epsilon);
    predict(read, tokens, again);
    assert_memory_equal(logits, again, sizeof logits);
    assert_ok(filtra_generator_create(read, NULL, &generator));
    assert_ok(filtra_generator_feed(generator, tokens, 1, NULL));
    assert_ok(filtra_generator_feed(generator, tokens + 1, 1, next));
    assert_norm_of(tokens[1], epsilon, next);
    filtra_generator_destroy(&generator);
    filtra_free(bytes);
  }
}

/* g x / (|x| + epsilon) */
TEST(scale_norm_has_it_too) {
  static const float given[] = {0, 0.25f};
  const float x[SMALL] = {3e-5f, -4e-5f};
  for (size_t i = 0; i < FT_COUNT(given); i++) {
    float y[SMALL];
    owned_parameters *params = test_parameters(test_device());
    filtra_graph *g = test_graph(test_device(), NULL);
    ft_scope scope = {.graph = g, .params = params, .norm_epsilon = given[i]};
    filtra_tensor *in = test_input(g, "x", 1, 1, SMALL);
    filtra_tensor *out = filtra_graph_output(g, ft_scale_norm_layer(&scope, "norm", in, false));
    assert_ok(filtra_parameters_commit(params, 1, FILTRA_FIXED));
    test_evaluate(&g, TEST_SET({in, x}), TEST_GET({out, y}));
    const double length = 5e-5, epsilon = given[i] > 0 ? (double)given[i] : 1e-5;
    assert_float_equal((double)y[0], 3e-5 / (length + epsilon), 1e-6);
    assert_float_equal((double)y[1], -4e-5 / (length + epsilon), 1e-6);
  }
}

TEST_MAIN(NULL, test_teardown)
