/* The step engine: the same seed gives the same bits, a restored run too, for each mixer; frozen
 * parameters stay, bit for bit, and the others learn as before; a ten-step loss curve; a NaN is
 * named and changes nothing; steps allocate nothing on the device. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include "graph/parameters.h"
#include "train/trainer.h"

#include <filtra/filtra.h>

enum { STEPS = 10 };

TEST(seed_decides_every_bit) {
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    filtra_model *model[2];
    for (int i = 0; i < 2; i++) {
      model[i] = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
      owned_trainer *trainer = toy_trainer(model[i]);
      toy_train(trainer, 0, STEPS, NULL);
    }
    toy_same_bits(model[0], model[1]);
    filtra_model_destroy(&model[0]);
    filtra_model_destroy(&model[1]);
  }
}

TEST(restored_run_continues_bit_for_bit) {
  char path[512];
  snprintf(path, sizeof path, "%s/state.safetensors", test_folder());
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    filtra_model *whole = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32),
                 *first = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32),
                 *second = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
    filtra_trainer *t = toy_trainer(whole);
    toy_train(t, 0, STEPS, NULL);
    filtra_trainer_destroy(&t);
    t = toy_trainer(first);
    toy_train(t, 0, 7, NULL);
    assert_ok(filtra_trainer_save(t, path));
    filtra_trainer_destroy(&t);
    t = toy_trainer(second);
    toy_train(t, 0, 2, NULL); /* a past that restoring must wipe out */
    assert_ok(filtra_trainer_restore(t, path));
    assert_int_equal(filtra_trainer_step_count(t), 7);
    toy_train(t, 7, STEPS, NULL);
    filtra_trainer_destroy(&t);
    toy_same_bits(whole, second);
    filtra_model_destroy(&whole);
    filtra_model_destroy(&first);
    filtra_model_destroy(&second);
  }
}

/* One step that changes with a gradient as it does, whatever its size; no schedule, no clipping.
 * Which parameters stay goes into `is_frozen` unless that is NULL. */
static void step_smoothly(filtra_model *model, const char *frozen, bool *is_frozen) {
  const filtra_train_options options = {
      .optimizer = {.learning_rate = 1.0f, .epsilon = 1.0f}, .freeze = frozen, .seed = 11};
  const filtra_parameters *p = filtra_model_parameters(model);
  owned_trainer *trainer = NULL;
  bool any = false;
  assert_ok(filtra_trainer_create(model, &options, &trainer));
  for (size_t i = 0; i < p->count && is_frozen; i++) {
    is_frozen[i] = p->list[i].frozen || p->list[i].options.buffer;
    any = any || p->list[i].frozen;
  }
  if (is_frozen) assert_true(any && trainer->trained < trainer->trainable);
  toy_train(trainer, 0, 1, NULL);
}

/* The gradients that are left are those that there were, with every mixer and every part frozen. */
TEST(frozen_stay_and_others_learn_as_before) {
  static const char *const FROZEN[] = {
      "embeddings", "all but the head", "first layer",        "*.bias",      "*.weight, !head",
      "layers.1",   "all but biases",   "layers.*.mixer.qkv", "norms, head", "last 1 layers"};
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    size_t count;
    owned_model *all_trained = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
    owned float *before = toy_weights(all_trained, &count);
    step_smoothly(all_trained, NULL, NULL);
    owned float *whole = toy_weights(all_trained, &count);
    for (size_t f = 0; f < sizeof FROZEN / sizeof *FROZEN; f++) {
      bool is_frozen[256] = {0};
      if ((k + f) % 2 && k > 2) continue;              /* enough of each */
      if (strstr(FROZEN[f], "qkv") && k > 2) continue; /* the others have none, or not all */
      owned_model *model = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
      step_smoothly(model, FROZEN[f], is_frozen);
      toy_compare_frozen(model, before, whole, is_frozen,
                         test_text("%s, %s", toy_mixers[k], FROZEN[f]));
      /* what is frozen is the trainer's */
      assert_false(filtra_model_parameters(model)->list[0].frozen);
    }
  }
}

/* Drivers, subgroup sizes and kernel variants differ in the last bit of ten steps' losses. */
TEST(ten_step_loss_curve) {
  static const float CURVES[TOY_MIXERS][STEPS] = {
      {1.392279f, 1.431828f, 1.427565f, 1.488592f, 1.444709f, 1.390543f, 1.368523f, 1.340949f,
       1.348380f, 1.270485f},
      {1.392279f, 1.430731f, 1.426944f, 1.490648f, 1.446085f, 1.391324f, 1.367588f, 1.339835f,
       1.357591f, 1.271523f},
      {1.412363f, 1.455995f, 1.463534f, 1.410612f, 1.423120f, 1.346374f, 1.427431f, 1.332546f,
       1.322059f, 1.267880f},
      {1.352524f, 1.503095f, 1.548179f, 1.541625f, 1.607338f, 1.430531f, 1.478732f, 1.389720f,
       1.361040f, 1.327097f},
      {1.330114f, 1.514787f, 1.428750f, 1.425034f, 1.395749f, 1.304672f, 1.429685f, 1.347040f,
       1.236222f, 1.269957f},
      {1.338401f, 1.543276f, 1.407593f, 1.440600f, 1.414284f, 1.332682f, 1.448328f, 1.346043f,
       1.290775f, 1.267267f},
      {1.440863f, 1.408941f, 1.398431f, 1.446107f, 1.389716f, 1.396517f, 1.395764f, 1.378883f,
       1.260160f, 1.355206f},
      {1.383484f, 1.448721f, 1.490007f, 1.509082f, 1.490960f, 1.380508f, 1.438125f, 1.358150f,
       1.338240f, 1.317601f},
      {1.345343f, 1.447465f, 1.494163f, 1.516279f, 1.545094f, 1.433135f, 1.387898f, 1.314375f,
       1.292353f, 1.259894f},
      {1.361044f, 1.441738f, 1.442730f, 1.389376f, 1.420140f, 1.351974f, 1.381276f, 1.357858f,
       1.331566f, 1.292323f},
      {1.399018f, 1.485596f, 1.440324f, 1.381710f, 1.362829f, 1.357302f, 1.446935f, 1.300522f,
       1.391948f, 1.221399f},
      {1.364922f, 1.583481f, 1.482335f, 1.403464f, 1.419790f, 1.303053f, 1.472896f, 1.374818f,
       1.308498f, 1.279054f},
      {1.392292f, 1.432404f, 1.426839f, 1.489632f, 1.444186f, 1.391970f, 1.366096f, 1.340070f,
       1.351164f, 1.271762f},
      {1.379169f, 1.461331f, 1.468707f, 1.435274f, 1.437924f, 1.342677f, 1.462427f, 1.309119f,
       1.319430f, 1.215206f},
      {1.444456f, 1.482351f, 1.451885f, 1.454875f, 1.385952f, 1.380663f, 1.397718f, 1.338472f,
       1.390702f, 1.206842f},
      {1.319059f, 1.718174f, 1.558935f, 1.339067f, 1.350814f, 1.289598f, 1.585816f, 1.295611f,
       1.331459f, 1.182386f},
      {1.403810f, 1.587954f, 1.447611f, 1.361183f, 1.331101f, 1.297214f, 1.422072f, 1.365982f,
       1.348264f, 1.139024f},
      {1.388666f, 1.431779f, 1.404026f, 1.485448f, 1.328732f, 1.255333f, 1.623062f, 1.326658f,
       1.293130f, 1.183674f},
      {1.320528f, 1.492792f, 1.480062f, 1.342183f, 1.394033f, 1.348130f, 1.487901f, 1.359748f,
       1.435264f, 1.318390f}};
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    float losses[STEPS];
    owned_model *model = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
    owned_trainer *trainer = toy_trainer(model);
    toy_train(trainer, 0, STEPS, losses);
    for (int i = 0; i < STEPS; i++)
      if (!(fabsf(losses[i] - CURVES[k][i]) <= 1e-4f))
        fail_msg("%s, step %d: loss %.6f, pinned %.6f", toy_mixers[k], i + 1, losses[i],
                 CURVES[k][i]);
  }
}

TEST(nan_is_named_and_changes_nothing) {
  filtra_model *model = toy_model("softmax", FILTRA_PRECISION_FP32),
               *before = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_parameters *p = filtra_model_parameters(model);
  float bias[TOY_CLASSES] = {0};
  bias[2] = NAN;
  assert_ok(filtra_parameters_set(p, "head.2.bias", bias, TOY_CLASSES));
  assert_ok(
      filtra_parameters_set(filtra_model_parameters(before), "head.2.bias", bias, TOY_CLASSES));
  filtra_trainer *trainer = toy_trainer(model);
  toy_batch b;
  toy_make_batch(1, &b);
  filtra_status status = FILTRA_OK;
  for (int i = 0; i < 4 && !status; i++)
    status = filtra_trainer_step(trainer, &b.batch, NULL);
  if (!status) status = filtra_trainer_finish(trainer, NULL);
  assert_int_equal(status, FILTRA_ERROR_NONFINITE);
  assert_non_null(strstr(filtra_error_message(), "step 1:"));
  assert_non_null(strstr(filtra_error_message(), "linear"));
  filtra_trainer_destroy(&trainer);
  toy_same_bits(model, before);
  filtra_model_destroy(&model);
  filtra_model_destroy(&before);
}

static void set_bias(filtra_model *model, float value) {
  float bias[TOY_CLASSES] = {0};
  bias[2] = value;
  assert_ok(
      filtra_parameters_set(filtra_model_parameters(model), "head.2.bias", bias, TOY_CLASSES));
}

/* What led to the NaN is taken away, and training goes on from where it was: weights, moments, step
 * count, dropout and schedule are those of a run that never met it. Files can be written
 * between. */
TEST(bad_step_is_recoverable) {
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    filtra_model *model = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32),
                 *plain = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
    filtra_trainer *trainer = toy_trainer(model), *other = toy_trainer(plain);
    const char *path = test_path(test_folder(), "state.safetensors");
    filtra_trainer_metrics m;
    toy_batch b;
    toy_train(trainer, 0, 3, NULL);
    toy_train(other, 0, 3, NULL);
    set_bias(plain, 0.25f);
    set_bias(model, INFINITY);
    toy_make_batch(3, &b);
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
    assert_fails(filtra_trainer_step(trainer, &b.batch, NULL), FILTRA_ERROR_NONFINITE, "step 4:");
    assert_int_equal(filtra_trainer_step_count(trainer), 3);
    assert_fails(filtra_trainer_save(trainer, path), FILTRA_ERROR_NONFINITE, "model.head.2.bias");
    set_bias(model, 0.25f);
    assert_ok(filtra_trainer_finish(trainer, &m));
    assert_int_equal(m.step, 3);
    assert_ok(filtra_trainer_save(trainer, path));
    toy_train(trainer, 3, 6, NULL);
    toy_train(other, 3, 6, NULL);
    toy_same_bits(model, plain);
    assert_ok(filtra_trainer_restore(trainer, path));
    toy_train(trainer, 3, 6, NULL);
    toy_same_bits(model, plain);
    filtra_trainer_destroy(&trainer);
    filtra_trainer_destroy(&other);
    filtra_model_destroy(&model);
    filtra_model_destroy(&plain);
  }
}

/* The checker over forward, backward and update of a whole model. */
TEST(whole_step_has_no_hazard) {
  for (size_t k = 0; k < TOY_MIXERS; k++) {
    owned_model *model = toy_model(toy_mixers[k], FILTRA_PRECISION_FP32);
    owned_trainer *trainer = toy_trainer(model);
    assert_ok(filtra_trainer_prepare(trainer, TOY_SIZE, TOY_LENGTH));
    assert_ok(ft_graph_check(trainer->graphs[0]->graph));
    assert_ok(ft_graph_check(trainer->optimizer->by_gradients.graph));
  }
}

TEST(huge_batches_are_refused) {
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  owned_trainer *trainer = NULL;
  assert_ok(filtra_trainer_create(model, &(filtra_train_options){.accumulate = 2}, &trainer));
  assert_fails(filtra_trainer_prepare(trainer, INT64_MAX, TOY_LENGTH), FILTRA_ERROR_ARGUMENT,
               "at most 2^32 tokens");
}

TEST(steps_allocate_nothing) {
  owned_model *model = toy_model("agf", FILTRA_PRECISION_FP32);
  owned_trainer *trainer = toy_trainer(model);
  assert_ok(filtra_trainer_prepare(trainer, TOY_SIZE, TOY_LENGTH));
  uint64_t used = filtra_device_memory_used(test_device());
  toy_batch b;
  toy_make_batch(3, &b);
  /* On a device with a watchdog the first step of a shape is measured. */
  assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  ft_memory_fail_after(1); /* the next host allocation would fail */
  for (int i = 0; i < 5; i++) {
    filtra_status status = filtra_trainer_step(trainer, &b.batch, NULL);
    if (status) ft_memory_fail_after(0);
    assert_ok(status);
  }
  filtra_status status = filtra_trainer_finish(trainer, NULL);
  ft_memory_fail_after(0);
  assert_ok(status);
  assert_true(filtra_device_memory_used(test_device()) == used);
}

TEST(bad_batches_are_refused) {
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  owned_trainer *trainer = toy_trainer(model);
  toy_batch b;
  toy_make_batch(3, &b);
  b.tokens[1] = TOY_VOCABULARY;
  assert_fails(filtra_trainer_step(trainer, &b.batch, NULL), FILTRA_ERROR_INPUT, "token 9");
  toy_make_batch(3, &b);
  b.labels[2] = TOY_CLASSES;
  assert_fails(filtra_trainer_step(trainer, &b.batch, NULL), FILTRA_ERROR_INPUT, "label 4");
  toy_make_batch(3, &b);
  b.lengths[0] = TOY_LENGTH + 1;
  assert_fails(filtra_trainer_step(trainer, &b.batch, NULL), FILTRA_ERROR_INPUT, "max_length");
  assert_int_equal(filtra_trainer_step_count(trainer), 0);
  assert_fails(filtra_trainer_restore(trainer, "nowhere/state"), FILTRA_ERROR_PATH,
               "nowhere/state");
  assert_fails(filtra_trainer_prepare(trainer, 0, 1), FILTRA_ERROR_ARGUMENT, "a batch of 0");
  assert_fails(filtra_trainer_prepare(trainer, 1, TOY_LENGTH + 1), FILTRA_ERROR_ARGUMENT,
               "tokens (max_length)");
}

TEST(bad_options_are_refused) {
  static const struct {
    filtra_train_options options;
    const char *part;
  } CASES[] = {
      {{.label_smoothing = 1.0f}, "\"label_smoothing\" is 1, accepted are 0 to 0.999"},
      {{.optimizer = {.loss_scale = 2.0f}},
       "loss_scale and loss_scale_window are for precision fp16"},
      {{.accumulate = 1u << 30}, "\"accumulate\" is 1073741824, accepted are 1 to"},
      {{.loss_chunks = 1u << 30}, "\"loss_chunks\" is 1073741824, accepted are 0 to"},
      {{.recompute = (filtra_recompute)9},
       "\"recompute\" must be one of none, cheap, feed_forward, blocks"},
      {{.share = -3.0f}, "share is -3, accepted are 0 to 1000000"},
      {{.deadline = -1.0f}, "deadline is -1, accepted are 0 to 1e9 seconds"},
      {{.reserved = {1}}, "reserved"},
  };
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_trainer *trainer;
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    assert_fails(filtra_trainer_create(model, &CASES[i].options, &trainer), FILTRA_ERROR_ARGUMENT,
                 CASES[i].part);
    assert_null(trainer);
  }
  filtra_model_destroy(&model);
  const filtra_model_config values = {
      .task = FILTRA_TASK_REGRESSION, .vocabulary = 9, .width = 8, .layers = 1};
  assert_ok(filtra_model_create(test_device(), &values, &model));
  assert_fails(
      filtra_trainer_create(model, &(filtra_train_options){.mixed_labels = true}, &trainer),
      FILTRA_ERROR_ARGUMENT, "mixed_labels is for classification, not \"regression\"");
  assert_fails(
      filtra_trainer_create(model, &(filtra_train_options){.label_smoothing = 0.1f}, &trainer),
      FILTRA_ERROR_ARGUMENT, "has values and no labels");
}

TEST_MAIN(NULL, test_teardown)
