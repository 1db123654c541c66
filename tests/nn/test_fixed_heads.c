/* GFSA with coefficients fixed in some heads: the same function as with parameters of those values,
 * without learning them. */
#include "support/toy.h"

#include "graph/parameters.h"
#include "nn/mixer.h"

enum { HEADS = 4 };

/* Heads 0 and 2 are Laplacian. */
#define LAPLACIAN                                                                                  \
  "{\"name\": \"gfsa\", \"w0\": [1, 0, 1, 0], \"w1\": [-1, 0.5, -1, 0.5], \"fixed_heads\": \"0, "  \
  "2\"}"

static const char *const NAMES[] = {"w0", "w1", "wK"};

static filtra_model_config config_of(const char *mixer) {
  return (filtra_model_config){.mixer = mixer,
                               .vocabulary = TOY_VOCABULARY,
                               .classes = TOY_CLASSES,
                               .max_length = TOY_LENGTH,
                               .heads = HEADS,
                               .width = 16,
                               .seed = 5};
}

static filtra_model *model_with(const char *mixer) {
  const filtra_model_config config = config_of(mixer);
  return test_model(test_device(), &config);
}

static void set(filtra_model *model, const char *name, const float *values) {
  char whole[64];
  for (int layer = 0;; layer++) {
    snprintf(whole, sizeof whole, "layers.%d.mixer.%s", layer, name);
    if (!ft_parameters_find(filtra_model_parameters(model), whole)) break;
    assert_ok(filtra_parameters_set(filtra_model_parameters(model), whole, values, HEADS));
  }
}

static void get(filtra_model *model, const char *name, float values[HEADS]) {
  char whole[64];
  snprintf(whole, sizeof whole, "layers.0.mixer.%s", name);
  assert_ok(filtra_parameters_get(filtra_model_parameters(model), whole, values, HEADS));
}

static void predict(filtra_model *model, float logits[TOY_SIZE * TOY_CLASSES]) {
  toy_batch b;
  toy_make_batch(3, &b);
  assert_ok(filtra_model_predict_batch(model, &b.batch, logits));
}

TEST(fixed_numbers_count_and_parameters_do_not) {
  static const float OTHER[3][HEADS] = {{7, 0.1f, 8, 0.2f}, {9, 0.3f, 7, 0.4f}, {5, 0.5f, 6, 0.6f}},
                     TRUE[3][HEADS] = {
                         {1, 0.1f, 1, 0.2f}, {-1, 0.3f, -1, 0.4f}, {0, 0.5f, 0, 0.6f}};
  float x[TOY_SIZE * TOY_CLASSES], y[TOY_SIZE * TOY_CLASSES];
  owned_model *fixed = model_with(LAPLACIAN), *learned = model_with("gfsa");
  for (int i = 0; i < 3; i++) {
    set(fixed, NAMES[i], OTHER[i]);
    set(learned, NAMES[i], TRUE[i]);
  }
  predict(fixed, x);
  predict(learned, y);
  assert_memory_equal(x, y, sizeof x);
}

/* Weights of attention that are constants give what equal parameters give. */
TEST(numbers_of_heads_without_parameters) {
  static const float W0[HEADS] = {0.5f, 0.5f, -0.25f, -0.25f};
  float x[TOY_SIZE * TOY_CLASSES], y[TOY_SIZE * TOY_CLASSES];
  owned_model *fixed =
                  model_with("{\"name\": \"gfsa\", \"w0\": [0.5, -0.25], \"learn_w0\": false}"),
              *learned = model_with("gfsa");
  assert_null(ft_parameters_find(filtra_model_parameters(fixed), "layers.0.mixer.w0"));
  assert_non_null(ft_parameters_find(filtra_model_parameters(fixed), "layers.0.mixer.w1"));
  set(learned, "w0", W0);
  predict(fixed, x);
  predict(learned, y);
  assert_memory_equal(x, y, sizeof x);
}

TEST(training_leaves_them) {
  owned_model *model = model_with(LAPLACIAN);
  owned_trainer *trainer = toy_trainer(model);
  float before[HEADS], after[HEADS];
  toy_train(trainer, 0, 4, NULL);
  for (int i = 0; i < 3; i++) {
    const float initial = i == 1 ? 0.5f : 0;
    get(model, NAMES[i], after);
    for (int h = 0; h < HEADS; h++) {
      before[h] = initial;
      assert_true((after[h] == before[h]) == (h % 2 == 0));
    }
  }
}

static void read_mixer(const char *text, ft_mixer *mixer) {
  json_auto_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
  assert_non_null(json);
  assert_ok(ft_mixer_read(json, "test", mixer));
}

/* `filtra analyze` shows what counts. */
TEST(effective_coefficients) {
  ft_mixer mixer;
  read_mixer(LAPLACIAN, &mixer);
  float values[3][HEADS] = {{7, 0.1f, 8, 0.2f}, {9, 0.3f, 7, 0.4f}, {5, 0.5f, 6, 0.6f}};
  const float *all[] = {values[0], values[1], values[2]};
  for (int i = 0; i < 3; i++)
    mixer.kind->coefficients[i].effective(mixer.options, values[i], HEADS);
  assert_true(values[0][0] == 1 && values[1][2] == -1 && values[2][0] == 0);
  assert_true(values[0][1] == 0.1f && values[2][3] == 0.6f);
  assert_true(mixer.kind->filter->at(mixer.options, all, HEADS, 2, 0.25) == 0.75);
  read_mixer("{\"name\": \"gfsa\", \"w0\": [1, 2], \"learn_w0\": false}", &mixer);
  all[0] = NULL;
  assert_true(mixer.kind->filter->at(mixer.options, all, HEADS, 3, 0) == 2);
}

TEST(heads_that_are_none) {
  static const struct {
    const char *mixer, *part;
  } CASES[] = {
      {"{\"name\": \"gfsa\", \"fixed_heads\": \"0-4\"}",
       "\"fixed_heads\" is \"0-4\"; accepted are numbers and ranges from 0 to 3"},
      {"{\"name\": \"gfsa\", \"fixed_heads\": \"all\"}", "\"fixed_heads\" is \"all\""},
      {"{\"name\": \"gfsa\", \"w1\": [1, 2, 3]}", "\"w1\" has 3 numbers for 4 heads"},
      {"{\"name\": \"gfsa\", \"wK\": [0, 1]}",
       "\"wK\" is 0 for head 0 and 1 for head 2; heads that learn it begin with the same number"},
  };
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    filtra_model *model = NULL;
    const filtra_model_config config = config_of(CASES[i].mixer);
    assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
                 CASES[i].part);
  }
}

TEST_MAIN(NULL, test_teardown)
