/* Trains the same short training on every device and records its first hundred losses. On one
 * device they are bit-identical each time; between devices they show how well results agree. Any
 * change here makes files incomparable with older ones, as "config" in the file shows. Called by
 * bench.c. */
#include "bench.h"
#include "common/options.h"

#include "base/json.h"
#include "base/rng.h"
#include "model/model.h"

enum {
  STEPS = 100,
  BATCH = 8,
  LENGTH = 64,
  SHORTEST = 33,
  CLASSES = 10,
  VOCABULARY = 16,
  SEED = 1
};

static const filtra_model_config MODEL = {.vocabulary = VOCABULARY,
                                          .classes = CLASSES,
                                          .max_length = LENGTH,
                                          .layers = 2,
                                          .heads = 2,
                                          .width = 32,
                                          .ffn_width = 64,
                                          .dropout = 0.1f,
                                          .seed = SEED};
static const filtra_train_options TRAINING = {
    .optimizer = {.learning_rate = 1e-3f, .weight_decay = 0.01f, .clip_norm = 1.0f}, .seed = SEED};

typedef struct samples {
  int32_t tokens[BATCH * LENGTH], lengths[BATCH], labels[BATCH];
  float weights[BATCH];
} samples;

/* Draws batch `step`: a quarter of the tokens come from the class's own, the others are noise. */
static void draw(samples *s, uint64_t step) {
  ft_rng rng = ft_rng_make(SEED, step);
  for (int i = 0; i < BATCH; i++) {
    s->weights[i] = 1.0f;
    s->labels[i] = (int32_t)ft_rng_below(&rng, CLASSES);
    s->lengths[i] = SHORTEST + (int32_t)ft_rng_below(&rng, LENGTH - SHORTEST + 1);
    for (int n = 0; n < LENGTH; n++) {
      int32_t noise = 1 + (int32_t)ft_rng_below(&rng, VOCABULARY - 1);
      bool own = ft_rng_below(&rng, 4) == 0;
      s->tokens[i * LENGTH + n] = n >= s->lengths[i] ? 0 : own ? 1 + s->labels[i] : noise;
    }
  }
}

static filtra_status train(filtra_trainer *trainer, json_t *values) {
  samples s;
  const filtra_batch batch = {.size = BATCH,
                              .length = LENGTH,
                              .count = BATCH,
                              .tokens = s.tokens,
                              .lengths = s.lengths,
                              .labels = s.labels,
                              .weights = s.weights};
  for (uint64_t step = 1; step <= STEPS; step++) {
    filtra_trainer_metrics metrics;
    if (command_interrupted()) return ft_fail(FILTRA_ERROR_CANCELLED, "interrupted");
    draw(&s, step);
    FT_TRY(filtra_trainer_step(trainer, &batch, NULL));
    FT_TRY(filtra_trainer_finish(trainer, &metrics));
    json_array_append_new(values, json_real(ft_shortest(metrics.loss)));
  }
  return FILTRA_OK;
}

/* Describes everything that the losses depend on, except the seed. */
static json_t *describe(const filtra_model *model) {
  json_t *config = ft_model_options_write(&model->options);
  json_object_update_new(config,
                         json_pack("{si sf sf sf}", "batch_size", BATCH, "learning_rate",
                                   ft_shortest(TRAINING.optimizer.learning_rate), "weight_decay",
                                   ft_shortest(TRAINING.optimizer.weight_decay), "clip_norm",
                                   ft_shortest(TRAINING.optimizer.clip_norm)));
  return config;
}

static filtra_status run_training(bench *b, const bench_task *task) {
  filtra_model_config config = MODEL;
  config.mixer = task->what;
  filtra_model *model;
  filtra_trainer *trainer = NULL;
  json_t *values = json_array();
  FT_TRY(filtra_model_create(b->device, &config, &model));
  json_object_set_new(task->entry, "config", describe(model));
  json_object_set_new(task->entry, "values", values);
  filtra_status status = filtra_trainer_create(model, &TRAINING, &trainer);
  if (!status) status = train(trainer, values);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  return status;
}

void bench_plan_losses(const bench_arguments *a, bench_plan *plan) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const char *mixer = ft_mixer_at(i)->name;
    if (!command_listed(a->mixers, mixer)) continue;
    bench_plan_add(plan, &(bench_task){.entry = json_pack("{ss si si}", "mixer", mixer, "seed",
                                                          SEED, "steps", STEPS),
                                       .part = BENCH_LOSSES,
                                       .run = run_training,
                                       .what = mixer,
                                       .weight = 1.5});
  }
}
