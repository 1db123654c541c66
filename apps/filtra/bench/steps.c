/* Times whole train steps and inference with each mixer in each precision, by the host's clock, as
 * users see them. */
#include "bench.h"
#include "common/options.h"

#include "train/trainer.h"

#include <stdio.h>

/* Two layers in the shape of Long Range Arena's published recipes, batch 4. */
enum { BATCH = 4, LENGTH = 1024, VOCABULARY = 32, CLASSES = 10 };
enum { TRAIN_STEP, INFERENCE };

static const filtra_model_config STEP_MODEL = {.vocabulary = VOCABULARY,
                                               .classes = CLASSES,
                                               .max_length = LENGTH,
                                               .layers = 2,
                                               .heads = 2,
                                               .width = 64,
                                               .ffn_width = 128,
                                               .seed = 1};

typedef struct step {
  filtra_model *model;
  filtra_trainer *trainer; /* NULL: inference */
  filtra_batch batch;
} step;

static filtra_status take_step(void *context) {
  step *s = context;
  FT_TRY(filtra_trainer_step(s->trainer, &s->batch, NULL));
  return filtra_trainer_finish(s->trainer, NULL);
}

static void add_speed(const bench *b, const filtra_graph *graph, uint64_t before,
                      const bench_timing *t, json_t *entry) {
  bench_add_work(b, entry, ft_graph_work(graph), t);
  uint64_t memory = filtra_device_memory_used(b->device) - before;
  json_object_set_new(entry, "memory_bytes", json_integer((json_int_t)memory));
  json_object_set_new(entry, "tokens_per_second", json_real(BATCH * LENGTH / t->median));
  json_object_set_new(entry, "samples_per_second", json_real(BATCH / t->median));
}

static filtra_status time_step(const bench *b, step *s, uint64_t before, json_t *entry) {
  bench_timing t;
  FT_TRY(filtra_trainer_create(
      s->model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f}}, &s->trainer));
  FT_TRY(filtra_trainer_prepare(s->trainer, BATCH, LENGTH));
  FT_TRY(bench_time(take_step, s, b->arguments->quick, &t));
  add_speed(b, s->trainer->graphs[0]->graph, before, &t, entry);
  return FILTRA_OK;
}

static filtra_status predict(void *context) {
  step *s = context;
  float logits[BATCH * CLASSES];
  return filtra_model_predict_batch(s->model, &s->batch, logits);
}

static filtra_status time_inference(const bench *b, step *s, uint64_t before, json_t *entry) {
  bench_timing t;
  FT_TRY(bench_time(predict, s, b->arguments->quick, &t));
  add_speed(b, s->model->graphs[0].graph, before, &t, entry);
  return FILTRA_OK;
}

static filtra_status run_step(bench *b, const bench_task *task) {
  static int32_t tokens[BATCH * LENGTH], lengths[BATCH], labels[BATCH];
  static float weights[BATCH];
  for (int i = 0; i < BATCH * LENGTH; i++)
    tokens[i] = 1 + (int32_t)((uint32_t)i * 2654435761u >> 16) % (VOCABULARY - 1);
  for (int i = 0; i < BATCH; i++) {
    lengths[i] = LENGTH;
    labels[i] = i % CLASSES;
    weights[i] = 1.0f;
  }
  step s = {.batch = {.size = BATCH,
                      .length = LENGTH,
                      .count = BATCH,
                      .tokens = tokens,
                      .lengths = lengths,
                      .labels = labels,
                      .weights = weights}};
  filtra_model_config config = STEP_MODEL;
  config.mixer = task->what;
  config.precision = task->precision;
  uint64_t before = filtra_device_memory_used(b->device);
  FT_TRY(filtra_model_create(b->device, &config, &s.model));
  filtra_status status = task->number == INFERENCE ? time_inference(b, &s, before, task->entry)
                                                   : time_step(b, &s, before, task->entry);
  filtra_trainer_destroy(&s.trainer);
  filtra_model_destroy(&s.model);
  return status;
}

static void plan_step(bench_plan *plan, const char *mixer, filtra_precision precision, int what) {
  const filtra_model_config *m = &STEP_MODEL;
  const bool inference = what == INFERENCE;
  json_t *entry =
      json_pack("{ss ss ss ss ss si si sI sI sI sI}", "op", inference ? "inference" : "train_step",
                "case", mixer, "precision", filtra_precision_name(precision), "pass",
                inference ? "forward" : "forward+backward", "mixer", mixer, "batch", BATCH,
                "length", LENGTH, "width", (json_int_t)m->width, "heads", (json_int_t)m->heads,
                "ffn_width", (json_int_t)m->ffn_width, "layers", (json_int_t)m->layers);
  bench_plan_add(plan, &(bench_task){.entry = entry,
                                     .part = BENCH_RESULT,
                                     .run = run_step,
                                     .what = mixer,
                                     .number = what,
                                     .weight = inference ? 0.5 : 1.5,
                                     .precision = precision});
}

static void plan_all(const bench_arguments *a, bench_plan *plan, int what) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const char *mixer = ft_mixer_at(i)->name;
    for (int p = 0; p < BENCH_PRECISIONS && command_listed(a->mixers, mixer); p++)
      if (bench_precise(a, p)) plan_step(plan, mixer, p, what);
  }
}

void bench_plan_steps(const bench_arguments *a, bench_plan *plan) {
  plan_all(a, plan, TRAIN_STEP);
  plan_all(a, plan, INFERENCE);
}
