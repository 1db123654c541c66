#include "train/trainer.h"

#include "base/memory.h"
#include "gpu/tuning.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static filtra_optimizer_options optimizer_options(const filtra_train_options *o) {
  return (filtra_optimizer_options){.kind = o->optimizer,
                                    .schedule = o->schedule,
                                    .learning_rate = o->learning_rate,
                                    .weight_decay = o->weight_decay,
                                    .decay_all = o->decay_all,
                                    .beta1 = o->beta1,
                                    .beta2 = o->beta2,
                                    .epsilon = o->epsilon,
                                    .clip_norm = o->clip_norm,
                                    .steps = o->steps,
                                    .warmup_steps = o->warmup_steps,
                                    .groups = o->groups,
                                    .group_count = o->group_count};
}

static filtra_status check_smoothing(const filtra_model *model, float smoothing) {
  if (!(smoothing >= 0.0f && smoothing < 1.0f))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: label_smoothing is %g, accepted are 0 to below 1", (double)smoothing);
  if (smoothing == 0.0f || model->options.task != FT_TASK_REGRESSION) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "trainer: label_smoothing is %g; task \"regression\" has values and no labels",
                 (double)smoothing);
}

/* ---- graphs ---- */

static filtra_status record_graph(filtra_trainer *t, ft_batch_graph *b) {
  filtra_tensor *auxiliary;
  FT_TRY(filtra_graph_create(t->model->device,
                             &(filtra_graph_options){.arena = t->model->arena,
                                                     .slots = FT_IN_FLIGHT + 1,
                                                     .training = true},
                             &b->graph));
  ft_batch_graph_open(t->model, b, &auxiliary);
  FT_TRY(ft_batch_graph_judge(t->model, b, t->label_smoothing, auxiliary));
  FT_TRY(filtra_graph_backward(b->graph, 1, &b->loss, NULL));
  return filtra_optimizer_watch(t->optimizer, b->graph, b->loss);
}

/* All of a trainer's graphs are cut as those of its first step, or a checkpoint's. */
static filtra_status build_graph(filtra_trainer *t, int64_t size, int64_t length,
                                 ft_batch_graph *b) {
  *b = (ft_batch_graph){.size = size, .length = length};
  ft_tuning *before = ft_tuning_use(t->model->device, t->tuning);
  filtra_status status = record_graph(t, b);
  ft_tuning_use(t->model->device, before);
  return status;
}

static filtra_status graph_for(filtra_trainer *t, int64_t size, int64_t length,
                               ft_batch_graph **out) {
  int64_t longest = t->model->options.max_length;
  if (size < 1 || length < 1 || length > longest)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: a batch of %lld sequences of %lld tokens; accepted are at least 1 and "
                   "at most %lld tokens (max_length)",
                   (long long)size, (long long)length, (long long)longest);
  for (size_t i = 0; i < t->graph_count; i++) {
    *out = t->graphs[i];
    if ((*out)->size == size && (*out)->length == length) return FILTRA_OK;
  }
  FT_TRY(FT_GROW(t->graphs, t->graph_count, t->graph_capacity));
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = build_graph(t, size, length, *out);
  if (!status) status = filtra_graph_compile((*out)->graph);
  if (status) {
    ft_batch_graph_close(*out);
    free(*out);
    return status;
  }
  t->graphs[t->graph_count++] = *out;
  return FILTRA_OK;
}

filtra_status filtra_trainer_prepare(filtra_trainer *trainer, int64_t size, int64_t length) {
  FT_NEED(trainer);
  ft_batch_graph *graph;
  FT_TRY(graph_for(trainer, size, length, &graph));
  return ft_optimizer_prepare_update(trainer->optimizer);
}

filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length) {
  ft_batch_graph graph;
  filtra_status status = build_graph(trainer, size, length, &graph);
  ft_batch_graph_close(&graph);
  return status;
}

/* ---- life ---- */

filtra_status filtra_trainer_create(filtra_model *model, const filtra_train_options *options,
                                    filtra_trainer **out) {
  static const filtra_train_options defaults;
  FT_NEED(out);
  *out = NULL;
  FT_NEED(model);
  if (!options) options = &defaults;
  FT_TRY(FT_CHECK_RESERVED(filtra_train_options, options));
  FT_TRY(check_smoothing(model, options->label_smoothing));
  filtra_trainer *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  t->model = model;
  t->label_smoothing = options->label_smoothing;
  t->seed = options->seed;
  t->tuning = ft_tuning_hold(ft_tuning_of(model->device));
  const filtra_optimizer_options o = optimizer_options(options);
  filtra_status status = filtra_optimizer_create(model->params, &o, &t->optimizer);
  if (status) filtra_trainer_destroy(&t);
  *out = t;
  return status;
}

void ft_trainer_forget_graphs(filtra_trainer *t) {
  for (size_t i = 0; i < t->graph_count; i++) {
    ft_batch_graph_close(t->graphs[i]);
    free(t->graphs[i]);
  }
  t->graph_count = 0;
}

void filtra_trainer_destroy(filtra_trainer **trainer) {
  if (!trainer || !*trainer) return;
  filtra_trainer *t = *trainer;
  ft_trainer_forget_graphs(t);
  free(t->graphs);
  ft_tuning_release(&t->tuning);
  filtra_optimizer_destroy(&t->optimizer);
  free(t);
  *trainer = NULL;
}

uint64_t filtra_trainer_steps(const filtra_trainer *trainer) {
  return trainer ? filtra_optimizer_steps(trainer->optimizer) : 0;
}

filtra_status filtra_trainer_set_learning_rate(filtra_trainer *trainer, float learning_rate) {
  FT_NEED(trainer);
  return filtra_optimizer_set_learning_rate(trainer->optimizer, learning_rate);
}

/* ---- steps ---- */

/* The update was held back on the device, and all behind it. Running the step again shows where it
 * went wrong; then it is as if these steps had not been asked for. */
static filtra_status fail_nonfinite(filtra_trainer *t, uint32_t halt) {
  const ft_pending_step p = t->pending[0];
  uint64_t step = t->optimizer->pending[0].step;
  const char *name = NULL;
  FT_TRY(ft_graph_find_nonfinite(p.graph->graph, p.ticket, &name));
  FT_TRY(ft_optimizer_recover(t->optimizer));
  return ft_fail(FILTRA_ERROR_NONFINITE,
                 "step %llu: %s holds a NaN or an infinity; the weights are those before this "
                 "step. Try a lower learning_rate or a clip_norm",
                 (unsigned long long)step, name ? name : ft_halt_name(halt));
}

/* Waits for the oldest step and takes its metrics. */
static filtra_status finish_oldest(filtra_trainer *t) {
  ft_pending_step p = t->pending[0];
  uint32_t halt;
  float score;
  FT_TRY(filtra_graph_wait(p.graph->graph, p.ticket));
  FT_TRY(filtra_graph_get(p.graph->graph, p.graph->score, &score));
  FT_TRY(ft_optimizer_finish_oldest(t->optimizer, &halt));
  if (halt) return fail_nonfinite(t, halt);
  const filtra_optimizer_result *r = &t->optimizer->last;
  bool regression = t->model->options.task == FT_TASK_REGRESSION;
  memmove(t->pending, t->pending + 1, t->optimizer->pending_count * sizeof p);
  t->last = (filtra_step_metrics){.step = r->step,
                                  .loss = r->loss,
                                  .accuracy = regression ? 0.0f : score,
                                  .absolute_error = regression ? score : 0.0f,
                                  .gradient_norm = r->gradient_norm,
                                  .learning_rate = r->learning_rate};
  return t->finished ? t->finished(t->user, &t->last) : FILTRA_OK;
}

static filtra_status submit_step(filtra_trainer *t, ft_batch_graph *b, const filtra_batch *batch) {
  filtra_optimizer *o = t->optimizer;
  ft_pending_step p = {.graph = b};
  filtra_graph_set_step(b->graph, t->seed, o->steps);
  FT_TRY(ft_batch_graph_set(b, batch, true));
  FT_TRY(filtra_graph_submit(b->graph, &p.ticket));
  FT_TRY(filtra_optimizer_step(o));
  t->pending[o->pending_count - 1] = p;
  return FILTRA_OK;
}

filtra_status filtra_trainer_step(filtra_trainer *trainer, const filtra_batch *batch,
                                  filtra_step_metrics *metrics) {
  FT_NEED(trainer, batch);
  filtra_trainer *t = trainer;
  ft_batch_graph *graph = NULL;
  FT_TRY(ft_model_check_batch(t->model, batch, true));
  FT_TRY(graph_for(t, batch->size, batch->length, &graph));
  FT_TRY(ft_optimizer_prepare_update(t->optimizer));
  if (t->optimizer->pending_count == FT_IN_FLIGHT) FT_TRY(finish_oldest(t));
  FT_TRY(submit_step(t, graph, batch));
  if (metrics) *metrics = t->last;
  return FILTRA_OK;
}

filtra_status filtra_trainer_finish(filtra_trainer *trainer, filtra_step_metrics *metrics) {
  FT_NEED(trainer);
  while (trainer->optimizer->pending_count)
    FT_TRY(finish_oldest(trainer));
  if (metrics) *metrics = trainer->last;
  return FILTRA_OK;
}
