/* Training and prediction in bf16 and fp16: every mixer learns as in fp32 and gives the same bits
 * each time; runs are restored; an overflow skips only its step; for a model file with 16-bit
 * weights only, a device holds no others. */
#include "support/run.h"
#include "support/toy.h"

#include "graph/parameters.h"
#include "model/model.h"

enum { STEPS = 8 };
static const filtra_precision NARROW[] = {FILTRA_PRECISION_BF16, FILTRA_PRECISION_FP16};

static const char *path_of(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", test_folder(), name);
  return path;
}

/* The first losses differ from those of fp32 by rounding alone; but they do, or nothing was
 * rounded. Half of what it learns, twice; the other half from a file. cosFormer divides by sums of
 * what ReLUs leave, and these switch at a rounding: even fp16, eight times as fine, moves its
 * losses by 0.015 in eight steps, those of most others by 0.003 at most. Paramixer's product of
 * factors makes steep losses: there it is 0.035. */
static float sensitivity(const char *mixer) {
  if (!strcmp(mixer, "cosformer")) return 2;
  return strcmp(mixer, "paramixer") ? 1 : 3;
}

static void check_mixer(const char *mixer, filtra_precision precision) {
  const char *path = path_of("state.safetensors");
  const float allowed = sensitivity(mixer) * (precision == FILTRA_PRECISION_BF16 ? 0.06f : 0.02f);
  float exact[STEPS], losses[STEPS];
  filtra_model *wide = toy_model(mixer, FILTRA_PRECISION_FP32), *a = toy_model(mixer, precision),
               *b = toy_model(mixer, precision);
  filtra_trainer *t = toy_trainer(wide);
  toy_train(t, 0, STEPS, exact);
  filtra_trainer_destroy(&t);
  t = toy_trainer(a);
  toy_train(t, 0, STEPS / 2, losses);
  assert_ok(filtra_trainer_save(t, path));
  toy_train(t, STEPS / 2, STEPS, losses);
  filtra_trainer_destroy(&t);
  t = toy_trainer(b);
  assert_ok(filtra_trainer_restore(t, path));
  toy_train(t, STEPS / 2, STEPS, NULL);
  filtra_trainer_destroy(&t);
  toy_same_bits(a, b);
  bool differs = false;
  for (int i = 0; i < STEPS; i++) {
    if (!(fabsf(losses[i] - exact[i]) <= allowed))
      fail_msg("%s in %s, step %d: loss %.6f, in fp32 %.6f", mixer,
               filtra_precision_name(precision), i + 1, losses[i], exact[i]);
    differs = differs || losses[i] != exact[i];
  }
  if (!differs) fail_msg("%s in %s gives fp32's losses", mixer, filtra_precision_name(precision));
  filtra_model_destroy(&wide);
  filtra_model_destroy(&a);
  filtra_model_destroy(&b);
}

TEST(test_mixers) {
  for (size_t k = 0; k < TOY_MIXERS; k++)
    check_mixer(toy_mixers[k], NARROW[k % 2]);
  check_mixer("softmax", FILTRA_PRECISION_FP16);
  check_mixer("agf", FILTRA_PRECISION_BF16);
}

/* A scale that is too large at first is halved until gradients fit; each overflow skips its step
 * and nothing else, and the run ends in the same place twice. */
TEST(test_overflow) {
  filtra_model *model[2];
  uint64_t skipped[2];
  for (int i = 0; i < 2; i++) {
    filtra_trainer_metrics m;
    toy_batch b;
    model[i] = toy_model("agf", FILTRA_PRECISION_FP16);
    owned_trainer *trainer = test_trainer(
        model[i],
        &(filtra_train_options){.optimizer = {.learning_rate = 3e-3f, .loss_scale = 0x1p30f}});
    size_t count;
    float *before = toy_weights(model[i], &count);
    for (uint64_t step = 0; step < 30; step++) {
      toy_make_batch(step % 3, &b);
      assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
      assert_ok(filtra_trainer_finish(trainer, &m));
      assert_true(isfinite(m.loss) && m.step == step + 1);
      float *after = toy_weights(model[i], &count);
      const bool same = !memcmp(before, after, count * sizeof *before);
      assert_true(same == (m.skipped_step == m.step));
      assert_true(m.loss_scale == 0x1p30f / (float)(1u << (m.skipped - (same ? 1 : 0))));
      free(before);
      before = after;
    }
    free(before);
    skipped[i] = m.skipped;
  }
  assert_true(skipped[0] > 5 && skipped[0] < 30 && skipped[0] == skipped[1]);
  toy_same_bits(model[0], model[1]);
  filtra_model_destroy(&model[0]);
  filtra_model_destroy(&model[1]);
}

static void predict(filtra_model *model, float logits[TOY_SIZE * TOY_CLASSES]) {
  toy_batch b;
  toy_make_batch(77, &b);
  assert_ok(filtra_model_predict_batch(model, &b.batch, logits));
}

/* Precision is how a model computes, and its weights stay what they are. */
TEST(test_set_precision) {
  float wide[TOY_SIZE * TOY_CLASSES], narrow[TOY_SIZE * TOY_CLASSES], again[TOY_SIZE * TOY_CLASSES];
  filtra_model_config config;
  for (size_t k = 0; k < 2; k++) {
    owned_model *model = toy_model("agf", FILTRA_PRECISION_FP32);
    predict(model, wide);
    assert_ok(filtra_model_set_precision(model, NARROW[k]));
    assert_ok(filtra_model_get_config(model, &config));
    assert_true(config.precision == NARROW[k]);
    predict(model, narrow);
    for (size_t i = 0; i < FT_COUNT(wide); i++)
      assert_true(fabsf(wide[i] - narrow[i]) < 0.02f);
    assert_true(memcmp(wide, narrow, sizeof wide) != 0);
    assert_ok(filtra_model_set_precision(model, FILTRA_PRECISION_FP32));
    predict(model, again);
    assert_memory_equal(wide, again, sizeof wide);
    assert_fails(filtra_model_set_precision(model, (filtra_precision)3), FILTRA_ERROR_ARGUMENT,
                 "there is no precision 3");
    filtra_graph *g; /* reads the weights where they are */
    assert_ok(filtra_graph_create(test_device(), NULL, &g));
    const ft_parameter *p = &model->params->list[0];
    assert_non_null(filtra_graph_parameter(g, model->params, p->name, p->ndim, p->shape, NULL));
    assert_fails(filtra_model_set_precision(model, NARROW[k]), FILTRA_ERROR_ARGUMENT,
                 "while generators or graphs use the model");
    filtra_graph_destroy(&g);
    assert_ok(filtra_model_set_precision(model, NARROW[k]));
    assert_ok(filtra_model_set_precision(model, FILTRA_PRECISION_FP32));
    owned_trainer *trainer = toy_trainer(model);
    assert_fails(filtra_model_set_precision(model, NARROW[k]), FILTRA_ERROR_ARGUMENT,
                 "that a trainer has cannot change");
  }
}

static uint64_t bytes_of(const filtra_model *model) {
  return model->params->values.size + model->params->copies.size;
}

/* A file of 16-bit weights: half the bytes, on the device as well, and the numbers of the same
 * weights in F32. */
TEST(test_narrow_file) {
  static const filtra_dtype dtypes[] = {FILTRA_BF16, FILTRA_F16};
  float wide[TOY_SIZE * TOY_CLASSES], narrow[TOY_SIZE * TOY_CLASSES];
  char from[512], to[512];
  for (size_t k = 0; k < 2; k++) {
    snprintf(from, sizeof from, "%s/model.safetensors", test_folder());
    snprintf(to, sizeof to, "%s/narrow.safetensors", test_folder());
    filtra_model *model = toy_model(k ? "plaplacian" : "agf", FILTRA_PRECISION_FP32), *loaded;
    assert_ok(filtra_model_save(model, from));
    assert_ok(filtra_model_convert(from, to, dtypes[k]));
    uint64_t whole = bytes_of(model);
    filtra_model_destroy(&model);

    assert_ok(filtra_model_load(test_device(), to, &model));
    assert_true(bytes_of(model) < 0.62 * (double)whole);
    predict(model, narrow);
    filtra_trainer *trainer;
    assert_fails(filtra_trainer_create(model, NULL, &trainer), FILTRA_ERROR_UNSUPPORTED,
                 "cannot be trained");

    /* Saved again, it is the same file's content. */
    assert_ok(filtra_model_save(model, from));
    assert_ok(filtra_model_load(test_device(), from, &loaded));
    toy_same_bits(model, loaded);
    assert_true(loaded->params->narrow);
    filtra_model_destroy(&loaded);

    /* With masters, the same in this precision, bit for bit; then it can be trained. */
    assert_ok(filtra_model_set_precision(model, NARROW[k]));
    assert_false(model->params->narrow);
    predict(model, wide);
    assert_memory_equal(wide, narrow, sizeof wide);
    trainer = toy_trainer(model);
    toy_train(trainer, 0, 2, NULL);
    filtra_trainer_destroy(&trainer);
    filtra_model_destroy(&model);
  }
}

TEST(test_conversions) {
  char from[512], back[512];
  snprintf(from, sizeof from, "%s/model.safetensors", test_folder());
  snprintf(back, sizeof back, "%s/back.safetensors", test_folder());
  filtra_model *model = toy_model("softmax", FILTRA_PRECISION_FP32), *again;
  float large = 1e5f;
  assert_ok(filtra_model_save(model, from));
  assert_ok(filtra_model_convert(from, back, FILTRA_F32)); /* all the same */
  assert_ok(filtra_model_load(test_device(), back, &again));
  toy_same_bits(model, again);
  filtra_model_destroy(&again);
  assert_fails(filtra_model_convert(from, back, FILTRA_I32), FILTRA_ERROR_ARGUMENT,
               "accepted are F32, F16 and BF16");
  assert_fails(filtra_model_convert("nowhere", back, FILTRA_F16), FILTRA_ERROR_PATH, "nowhere");
  const char *whole_numbers = test_path(test_folder(), "whole.safetensors");
  assert_ok(filtra_model_save(model, whole_numbers));
  test_patch(whole_numbers, "\"dtype\":\"F32\"", "\"dtype\":\"I32\"");
  assert_fails(filtra_model_convert(whole_numbers, back, FILTRA_F16), FILTRA_ERROR_INPUT,
               "is I32; accepted are F32, F64, F16 and BF16");

  /* What F16 cannot hold is refused by name, and the older file stays. */
  filtra_parameters *p = filtra_model_parameters(model);
  float bias[2 * 20];
  assert_ok(filtra_parameters_get(p, "layers.0.ffn.1.bias", bias, FT_COUNT(bias)));
  bias[7] = large;
  assert_ok(filtra_parameters_set(p, "layers.0.ffn.1.bias", bias, FT_COUNT(bias)));
  assert_ok(filtra_model_save(model, from));
  assert_fails(filtra_model_convert(from, back, FILTRA_F16), FILTRA_ERROR_NONFINITE,
               "layers.0.ffn.1.bias");
  assert_ok(filtra_model_load(test_device(), back, &again));
  filtra_model_destroy(&again);
  assert_ok(filtra_model_convert(from, back, FILTRA_BF16));
  filtra_model_destroy(&model);
}

/* No kernel that reads 16 bits is planned where the device cannot. */
TEST(test_refused) {
  owned_device *device = test_open_device("storage16=0");
  filtra_model *model;
  for (size_t k = 0; k < 2; k++) {
    assert_fails(filtra_model_create(
                     device,
                     &(filtra_model_config){.vocabulary = 9, .classes = 3, .precision = NARROW[k]},
                     &model),
                 FILTRA_ERROR_UNSUPPORTED, "needs 16-bit storage");
    assert_null(model);
  }
}

TEST_MAIN(NULL, test_teardown)
