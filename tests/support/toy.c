#include "support/toy.h"

const char *const toy_mixers[TOY_MIXERS] = {
    "softmax",     "gfsa",        "plaplacian", "agf",        "synvolution",
    "kernelution", TOY_CONVERTER, "linear",     "cosformer",  "fnet",
    "performer",   "linformer",   TOY_NYSTROM,  "flowformer", "synthesizer",
    "luna",        "primal",      TOY_CAIT,     "paramixer"};

void toy_make_batch(uint64_t seed, toy_batch *b) {
  float noise[TOY_SIZE * TOY_LENGTH + TOY_SIZE];
  test_random(seed, 0, 1, noise, TOY_SIZE * TOY_LENGTH + TOY_SIZE);
  memset(b, 0, sizeof *b);
  for (int i = 0; i < TOY_SIZE; i++) {
    b->lengths[i] = 3 + (int32_t)(noise[TOY_SIZE * TOY_LENGTH + i] * (TOY_LENGTH - 3));
    for (int n = 0; n < b->lengths[i]; n++)
      b->tokens[i * TOY_LENGTH + n] =
          1 + (int32_t)(noise[i * TOY_LENGTH + n] * (TOY_VOCABULARY - 1));
    b->labels[i] = b->tokens[i * TOY_LENGTH] % TOY_CLASSES;
    b->weights[i] = i == TOY_SIZE - 1 && seed % 3 == 0 ? 0.0f : 1.0f;
  }
  b->batch = (filtra_batch){.size = TOY_SIZE,
                            .length = TOY_LENGTH,
                            .count = TOY_SIZE,
                            .tokens = b->tokens,
                            .lengths = b->lengths,
                            .labels = b->labels,
                            .weights = b->weights};
}

filtra_model *toy_model(const char *mixer, filtra_precision precision) {
  filtra_model *model;
  bool converter = !strcmp(mixer, TOY_CONVERTER), cait = !strcmp(mixer, TOY_CAIT);
  filtra_positions positions = converter ? FILTRA_POSITIONS_RECURRENT : FILTRA_POSITIONS_LEARNED;
  assert_ok(filtra_model_create(
      test_device(),
      &(filtra_model_config){.mixer = converter ? "kernelution" : mixer,
                             .block = converter ? FILTRA_BLOCK_CONVERTER : FILTRA_BLOCK_TRANSFORMER,
                             .positions = positions,
                             .pooling = cait ? FILTRA_POOLING_CLASS_TOKEN : FILTRA_POOLING_MEAN,
                             .class_layers = cait ? 1 : 0,
                             .layer_scale = cait ? 0.5f : 0.0f,
                             .vocabulary = TOY_VOCABULARY,
                             .classes = TOY_CLASSES,
                             .max_length = TOY_LENGTH,
                             .width = 20,
                             .dropout = 0.1f,
                             .precision = precision,
                             .seed = 5},
      &model));
  return model;
}

filtra_trainer *toy_trainer(filtra_model *model) {
  filtra_trainer *trainer;
  assert_ok(filtra_trainer_create(
      model,
      &(filtra_train_options){.optimizer = {.learning_rate = 3e-3f,
                                            .weight_decay = 0.01f,
                                            .clip_norm = 1.0f,
                                            .schedule = FILTRA_SCHEDULE_COSINE,
                                            .steps = 40},
                              .seed = 11},
      &trainer));
  return trainer;
}

void toy_train(filtra_trainer *trainer, int from, int to, float *losses) {
  toy_batch b;
  filtra_trainer_metrics m;
  for (int i = from; i < to; i++) {
    toy_make_batch((uint64_t)i, &b);
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
    if (!losses) continue;
    assert_ok(filtra_trainer_finish(trainer, &m));
    assert_int_equal(m.step, i + 1);
    losses[i] = m.loss;
  }
  assert_ok(filtra_trainer_finish(trainer, NULL));
}

float *toy_weights(filtra_model *model, size_t *count) {
  filtra_parameters *p = filtra_model_parameters(model);
  float *all = malloc(filtra_parameters_scalars(p) * sizeof *all);
  *count = 0;
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const int64_t n = test_scalars(p, i);
    assert_ok(filtra_parameters_get(p, filtra_parameters_name(p, i), all + *count, (size_t)n));
    *count += (size_t)n;
  }
  return all;
}

void toy_break(filtra_model *model) {
  filtra_parameters *p = filtra_model_parameters(model);
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const size_t count = (size_t)test_scalars(p, i);
    owned float *values = test_alloc(count * sizeof *values);
    for (size_t k = 0; k < count; k++)
      values[k] = 1e38f; /* finite, as values in a file must be; sums of their products are not */
    assert_ok(filtra_parameters_set(p, filtra_parameters_name(p, i), values, count));
  }
}

void toy_same_bits(filtra_model *a, filtra_model *b) {
  size_t na, nb;
  float *wa = toy_weights(a, &na), *wb = toy_weights(b, &nb);
  assert_int_equal(na, nb);
  assert_memory_equal(wa, wb, na * sizeof *wa);
  free(wa);
  free(wb);
}

void toy_compare_frozen(filtra_model *frozen, const float *before, const float *whole,
                        const bool *is_frozen, const char *what) {
  const filtra_parameters *p = filtra_model_parameters(frozen);
  size_t count, at = 0;
  owned float *is = toy_weights(frozen, &count);
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const char *name = filtra_parameters_name(p, i);
    const size_t n = (size_t)test_scalars(p, i);
    if (is_frozen[i] && memcmp(is + at, before + at, n * sizeof *is))
      fail_msg("%s: %s changed", what, name);
    for (size_t k = at; k < at + n && !is_frozen[i]; k++)
      if (!(fabsf(is[k] - whole[k]) <= 1e-5f * (1.0f + fabsf(whole[k]))))
        fail_msg("%s: %s[%zu] is %g, without freezing %g", what, name, k - at, is[k], whole[k]);
    at += n;
  }
  assert_int_equal(at, count);
}
