/* Models of images against golden files of tests/golden/vision.py: logits, loss and gradients equal
 * timm's; a model with all features at once learns, also with recomputation, in parts or in 16
 * bits; incompatible settings give errors that name them. */

#include "support/golden_model.h"
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include <filtra/filtra.h>

static const char *const FILES[] = {"cait", "cait_gfsa", "swin", "swin_gfsa"};

TEST(logits_and_loss_are_timm_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_logits("vision", FILES[i]);
}

TEST(gradients_are_timm_s) {
  for (size_t i = 0; i < FT_COUNT(FILES); i++)
    test_golden_gradients("vision", FILES[i]);
}

/* ---- training ---- */

enum { SIZE = 6, HEIGHT = 8, WIDTH = 12, STEPS = 3, CLASSES = 3 };

/* Moved windows, stages, class attention, LayerScale and heads that talk. */
static filtra_model_config all_of_it(void) {
  return (filtra_model_config){.mixer =
                                   "{\"name\": \"gfsa\", \"wK\": 0.3, \"talking_heads\": true}",
                               .features = 2,
                               .classes = CLASSES,
                               .image_height = HEIGHT,
                               .image_width = WIDTH,
                               .patch = 2,
                               .window = 3,
                               .stages = "2, 1",
                               .layers = 3,
                               .heads = 2,
                               .width = 8,
                               .class_layers = 1,
                               .layer_scale = 0.5f,
                               .dropout = 0.1f,
                               .drop_path = 0.2f,
                               .pooling = FILTRA_POOLING_CLASS_TOKEN,
                               .positions = FILTRA_POSITIONS_RELATIVE,
                               .head = FILTRA_HEAD_LINEAR,
                               .seed = 5};
}

static void step(filtra_trainer *trainer, int number, float *loss) {
  float features[SIZE * HEIGHT * WIDTH * 2], weights[SIZE];
  int32_t lengths[SIZE], labels[SIZE];
  filtra_trainer_metrics m;
  test_random((uint64_t)number, -1, 1, features, FT_COUNT(features));
  for (int i = 0; i < SIZE; i++) {
    lengths[i] = HEIGHT * WIDTH;
    labels[i] = (i + number) % CLASSES;
    weights[i] = 1;
  }
  const filtra_batch batch = {.size = SIZE,
                              .length = HEIGHT * WIDTH,
                              .count = SIZE,
                              .features = features,
                              .lengths = lengths,
                              .labels = labels,
                              .weights = weights};
  assert_ok(filtra_trainer_step(trainer, &batch, NULL));
  assert_ok(filtra_trainer_finish(trainer, &m));
  *loss = m.loss;
}

static filtra_train_options learning(filtra_recompute recompute, uint64_t parts) {
  return (filtra_train_options){.optimizer = {.learning_rate = 3e-3f, .steps = 40},
                                .recompute = recompute,
                                .accumulate = parts,
                                .seed = 11};
}

static filtra_model *train(filtra_precision precision, filtra_recompute recompute, uint64_t parts,
                           float losses[STEPS]) {
  filtra_model_config config = all_of_it();
  config.precision = precision;
  filtra_model *model = test_model(test_device(), &config);
  const filtra_train_options options = learning(recompute, parts);
  owned_trainer *trainer = test_trainer(model, &options);
  for (int i = 0; i < STEPS; i++)
    step(trainer, i, &losses[i]);
  return model;
}

TEST(it_learns_as_other_models_do) {
  float first[STEPS], again[STEPS], apart[STEPS];
  owned_model *model = train(FILTRA_PRECISION_FP32, FILTRA_RECOMPUTE_NONE, 1, first);
  for (int k = 0; k < 2; k++) {
    owned_model *other = train(FILTRA_PRECISION_FP32,
                               k ? FILTRA_RECOMPUTE_BLOCKS : FILTRA_RECOMPUTE_CHEAP, 1, again);
    toy_same_bits(model, other);
    assert_memory_equal(first, again, sizeof first);
  }
  owned_model *parts = train(FILTRA_PRECISION_FP32, FILTRA_RECOMPUTE_NONE, 3, apart);
  for (int i = 0; i < STEPS; i++)
    assert_float_equal((double)first[i], (double)apart[i], 2e-5);
  assert_non_null(parts);
}

TEST(it_goes_on_where_it_was) {
  float losses[STEPS], loss;
  const char *path = test_path(test_folder(), "state.safetensors");
  const filtra_model_config config = all_of_it();
  const filtra_train_options options = learning(FILTRA_RECOMPUTE_NONE, 1);
  owned_model *whole = train(FILTRA_PRECISION_FP32, FILTRA_RECOMPUTE_NONE, 1, losses);
  owned_model *model = test_model(test_device(), &config),
              *other = test_model(test_device(), &config);
  owned_trainer *trainer = test_trainer(model, &options), *next = test_trainer(other, &options);
  for (int i = 0; i < 2; i++)
    step(trainer, i, &loss);
  assert_ok(filtra_trainer_save(trainer, path));
  assert_ok(filtra_trainer_restore(next, path));
  for (int i = 2; i < STEPS; i++)
    step(next, i, &loss);
  toy_same_bits(whole, other);
}

TEST(it_learns_in_16_bits) {
  static const filtra_precision NARROW[] = {FILTRA_PRECISION_BF16, FILTRA_PRECISION_FP16};
  float exact[STEPS], rounded[STEPS];
  owned_model *wide = train(FILTRA_PRECISION_FP32, FILTRA_RECOMPUTE_NONE, 1, exact);
  assert_non_null(wide);
  if (!test_stores(test_device(), FILTRA_F16)) skip();
  for (size_t k = 0; k < FT_COUNT(NARROW); k++) {
    owned_model *model = train(NARROW[k], FILTRA_RECOMPUTE_NONE, 1, rounded);
    assert_non_null(model);
    for (int i = 0; i < STEPS; i++)
      assert_true(rounded[i] != exact[i] && fabsf(rounded[i] - exact[i]) <= (k ? 0.02f : 0.06f));
  }
}

/* An only layer is dropped, too, which is the first one, whose rate would be 0. */
TEST(stochastic_depth_may_be_even) {
  float losses[3];
  for (int k = 0; k < 3; k++) {
    filtra_model_config config = all_of_it();
    config.stages[0] = '\0';
    config.layers = 1;
    config.class_layers = 0;
    config.pooling = FILTRA_POOLING_MEAN;
    config.dropout = 0.0f;
    config.drop_path = k ? 0.9f : 0.0f;
    config.even_drop_path = k > 0;
    owned_model *model = test_model(test_device(), &config);
    const filtra_train_options options = learning(FILTRA_RECOMPUTE_NONE, 1);
    owned_trainer *trainer = test_trainer(model, &options);
    step(trainer, 0, &losses[k]);
  }
  assert_true(losses[0] != losses[1] && losses[1] == losses[2]);
}

/* ---- what does not fit ---- */

TEST(what_does_not_fit_is_named) {
  static const struct {
    filtra_model_config config;
    const char *part;
  } cases[] = {
      {{.even_drop_path = true}, "\"even_drop_path\" has no effect without \"drop_path\""},
      {{.window = 2}, "\"window\" needs images cut into patches"},
      {{.stages = "1, 1"}, "\"stages\" needs images"},
      {{.positions = FILTRA_POSITIONS_RELATIVE}, "\"positions\" relative needs images"},
      {{.patch = 2, .stages = "1, 2"}, "\"stages\" are 3 layers and \"layers\" is 2"},
      {{.patch = 2, .stages = "2,"}, "\"stages\" is \"2,\"; accepted are 1 to 8 numbers"},
      {{.patch = 2, .stages = "0, 2"}, "\"stages\" is \"0, 2\""},
      {{.patch = 2, .stages = "1-2"}, "\"stages\" is \"1-2\""},
      {{.patch = 2, .stages = "1,1,1,1,1,1,1,1,1", .layers = 9}, "accepted are 1 to 8"},
      {{.patch = 2, .stages = "1,1,1,1,1,1,1,1", .layers = 8, .width = 256}, "to more than 16384"},
      {{.patch = 2, .window = 2, .pooling = FILTRA_POOLING_CLASS_TOKEN}, "with \"class_layers\""},
      {{.patch = 2, .window = 2, .mixer = "agf"}, "no bias of attention, which \"window\" needs"},
      {{.patch = 2, .positions = FILTRA_POSITIONS_RELATIVE, .mixer = "fnet"},
       "which \"positions\" relative is; accepted are softmax, gfsa"},
      {{.patch = 2, .window = 2, .block = FILTRA_BLOCK_CONVERTER, .mixer = "kernelution"},
       "is for \"block\" transformer"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_model *model;
    filtra_model_config config = cases[i].config;
    config.features = 2;
    config.classes = 2;
    config.image_height = config.image_width = 8;
    assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
                 cases[i].part);
  }
  filtra_model *model;
  filtra_model_config config = all_of_it();
  memset(config.stages, '2', sizeof config.stages);
  assert_fails(filtra_model_create(test_device(), &config, &model), FILTRA_ERROR_INPUT,
               "\"stages\" has no end");
}

TEST_MAIN(NULL, test_teardown)
