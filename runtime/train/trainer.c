#include "train/trainer.h"

#include "base/memory.h"
#include "gpu/tuning.h"
#include "graph/parameters.h"
#include "ops/optimizer.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static void default_float(float *value, float fallback) {
  if (*value == 0.0f) *value = fallback;
}

static filtra_status check_range(const char *name, double value, double low, double high) {
  if (value >= low && value <= high) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: %s is %g, accepted are %g to %g", name, value,
                 low, high);
}

static filtra_status complete(const filtra_train_options *given, filtra_train_options *o) {
  static const filtra_train_options defaults;
  *o = given ? *given : defaults;
  FT_TRY(FT_CHECK_RESERVED(filtra_train_options, o));
  default_float(&o->learning_rate, 1e-3f);
  default_float(&o->beta1, 0.9f);
  default_float(&o->beta2, 0.999f);
  default_float(&o->epsilon, 1e-8f);
  FT_TRY(check_range("optimizer", o->optimizer, 0, FILTRA_OPTIMIZER_RADAM));
  FT_TRY(check_range("schedule", o->schedule, 0, FILTRA_SCHEDULE_ONE_CYCLE));
  FT_TRY(check_range("learning_rate", o->learning_rate, 0, 1e3));
  FT_TRY(check_range("weight_decay", o->weight_decay, 0, 1e3));
  FT_TRY(check_range("beta1", o->beta1, 0, 0.99999994));
  FT_TRY(check_range("beta2", o->beta2, 0, 0.99999994));
  FT_TRY(check_range("epsilon", o->epsilon, 0, 1));
  FT_TRY(check_range("clip_norm", o->clip_norm, 0, 1e30));
  FT_TRY(check_range("label_smoothing", o->label_smoothing, 0, 0.99999994));
  if (o->schedule != FILTRA_SCHEDULE_CONSTANT && (!o->steps || o->warmup_steps > o->steps))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: a schedule that is not constant needs steps, and at least as many as "
                   "warmup_steps");
  return FILTRA_OK;
}

static filtra_status check_smoothing(const filtra_model *model, const filtra_train_options *o) {
  if (o->label_smoothing == 0.0f || model->options.task != FT_TASK_REGRESSION) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "trainer: label_smoothing is %g; task \"regression\" has values and no labels",
                 (double)o->label_smoothing);
}

/* ---- graphs ---- */

/* A view over a whole flat buffer. */
static filtra_tensor *flat(filtra_graph *g, const char *name, const ft_buffer *buffer,
                           uint64_t bytes) {
  int64_t words = (int64_t)(bytes / sizeof(float));
  return ft_tensor_external(g, name, FILTRA_F32, 1, &words, buffer, 0);
}

/* Loss of the batch, its gradients, and the update, after the logits are there. */
static filtra_status build_step(filtra_trainer *t, ft_train_graph *tg, filtra_tensor *auxiliary) {
  filtra_model *model = t->model;
  filtra_parameters *p = model->params;
  ft_batch_graph *b = &tg->batch;
  filtra_graph *g = b->graph;
  FT_TRY(ft_batch_graph_judge(model, b, t->options.label_smoothing, auxiliary));
  FT_TRY(filtra_graph_backward(g, 1, &b->loss, NULL));
  ft_adam_tensors adam = {flat(g, "parameters", &p->values, p->bytes),
                          flat(g, "gradients", &p->gradients, p->bytes),
                          flat(g, "first moments", &t->first, p->bytes),
                          flat(g, "second moments", &t->second, p->bytes)};
  filtra_tensor *state = flat(g, "halt state", &t->state, t->state.size);
  tg->optimizer = ft_optimizer_input(g);
  tg->metrics = filtra_graph_output(
      g, ft_emit_gradient_norm(g, adam.gradients, b->loss, tg->optimizer, state));
  uint64_t decayed = t->options.decay_all ? p->bytes : p->decay_bytes;
  ft_emit_adam(g, &adam, (int64_t)(decayed / sizeof(float)), tg->optimizer, tg->metrics);
  return ft_graph_status(g);
}

static filtra_status record_graph(filtra_trainer *t, int64_t size, int64_t length,
                                  ft_train_graph *tg) {
  filtra_tensor *auxiliary;
  tg->batch = (ft_batch_graph){.size = size, .length = length};
  FT_TRY(filtra_graph_create(t->model->device,
                             &(filtra_graph_options){.arena = t->model->arena,
                                                     .slots = FT_IN_FLIGHT + 1,
                                                     .training = true},
                             &tg->batch.graph));
  ft_batch_graph_open(t->model, &tg->batch, &auxiliary);
  return build_step(t, tg, auxiliary);
}

/* All of a trainer's graphs are cut as those of its first step, or a checkpoint's. */
static filtra_status build_graph(filtra_trainer *t, int64_t size, int64_t length,
                                 ft_train_graph *tg) {
  ft_tuning *before = ft_tuning_use(t->model->device, t->tuning);
  filtra_status status = record_graph(t, size, length, tg);
  ft_tuning_use(t->model->device, before);
  return status;
}

static filtra_status graph_for(filtra_trainer *t, int64_t size, int64_t length,
                               ft_train_graph **out) {
  int64_t longest = t->model->options.max_length;
  if (size < 1 || length < 1 || length > longest)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: a batch of %lld sequences of %lld tokens; accepted are at least 1 and "
                   "at most %lld tokens (max_length)",
                   (long long)size, (long long)length, (long long)longest);
  for (size_t i = 0; i < t->graph_count; i++) {
    *out = t->graphs[i];
    if ((*out)->batch.size == size && (*out)->batch.length == length) return FILTRA_OK;
  }
  FT_TRY(FT_GROW(t->graphs, t->graph_count, t->graph_capacity));
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = build_graph(t, size, length, *out);
  if (!status) status = filtra_graph_compile((*out)->batch.graph);
  if (status) {
    ft_batch_graph_close(&(*out)->batch);
    free(*out);
    return status;
  }
  t->graphs[t->graph_count++] = *out;
  return FILTRA_OK;
}

filtra_status filtra_trainer_prepare(filtra_trainer *trainer, int64_t size, int64_t length) {
  FT_NEED(trainer);
  ft_train_graph *graph;
  return graph_for(trainer, size, length, &graph);
}

filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length) {
  ft_train_graph graph = {0};
  filtra_status status = build_graph(trainer, size, length, &graph);
  ft_batch_graph_close(&graph.batch);
  return status;
}

/* ---- life ---- */

static filtra_status zeroed_buffer(filtra_device *dev, uint64_t bytes, ft_buffer *out) {
  FT_TRY(ft_buffer_create(dev, bytes, FT_MEMORY_DEVICE, out));
  return ft_fill(dev, out, 0, bytes, 0);
}

filtra_status filtra_trainer_create(filtra_model *model, const filtra_train_options *options,
                                    filtra_trainer **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(model);
  filtra_trainer *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  t->model = model;
  t->tuning = ft_tuning_hold(ft_tuning_of(model->device));
  filtra_status status = complete(options, &t->options);
  if (!status) status = check_smoothing(model, &t->options);
  uint64_t bytes = model->params->bytes;
  if (!status) status = ft_parameters_make_trainable(model->params);
  if (!status) status = zeroed_buffer(model->device, bytes, &t->first);
  if (!status) status = zeroed_buffer(model->device, bytes, &t->second);
  if (!status)
    status = zeroed_buffer(model->device, FT_OPTIMIZER_STATE_WORDS * sizeof(uint32_t), &t->state);
  if (status) filtra_trainer_destroy(&t);
  *out = t;
  return status;
}

void ft_trainer_forget_graphs(filtra_trainer *t) {
  for (size_t i = 0; i < t->graph_count; i++) {
    ft_batch_graph_close(&t->graphs[i]->batch);
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
  ft_buffer_destroy(t->model->device, &t->first);
  ft_buffer_destroy(t->model->device, &t->second);
  ft_buffer_destroy(t->model->device, &t->state);
  free(t);
  *trainer = NULL;
}

uint64_t filtra_trainer_steps(const filtra_trainer *trainer) {
  return trainer ? trainer->steps : 0;
}

/* ---- steps ---- */

/* The update was held back on the device; running the step again shows where it went wrong. */
static filtra_status fail_nonfinite(const ft_pending_step *p, const ft_step_metrics *m) {
  const char *name = NULL;
  uint64_t step = m->halt_step_low | (uint64_t)m->halt_step_high << 32;
  FT_TRY(ft_graph_find_nonfinite(p->graph->batch.graph, p->ticket, &name));
  return ft_fail(FILTRA_ERROR_NONFINITE,
                 "step %llu: %s holds a NaN or an infinity; the weights are those before this "
                 "step. Try a lower learning_rate or a clip_norm",
                 (unsigned long long)step,
                 name                      ? name
                 : m->halt == FT_HALT_LOSS ? "the loss"
                                           : "the gradient norm");
}

/* Waits for the oldest step and takes its metrics. */
static filtra_status finish_oldest(filtra_trainer *t) {
  ft_pending_step p = t->pending[0];
  filtra_graph *g = p.graph->batch.graph;
  ft_step_metrics m;
  float score;
  FT_TRY(filtra_graph_wait(g, p.ticket));
  FT_TRY(filtra_graph_get(g, p.graph->metrics, &m));
  FT_TRY(filtra_graph_get(g, p.graph->batch.score, &score));
  if (m.halt) return fail_nonfinite(&p, &m);
  bool regression = t->model->options.task == FT_TASK_REGRESSION;
  memmove(t->pending, t->pending + 1, --t->pending_count * sizeof p);
  t->last = (filtra_step_metrics){.step = p.step,
                                  .loss = m.loss,
                                  .accuracy = regression ? 0.0f : score,
                                  .absolute_error = regression ? score : 0.0f,
                                  .gradient_norm = m.gradient_norm,
                                  .learning_rate = p.learning_rate};
  return t->finished ? t->finished(t->user, &t->last) : FILTRA_OK;
}

static filtra_status submit_step(filtra_trainer *t, ft_train_graph *tg, const filtra_batch *batch) {
  const filtra_train_options *o = &t->options;
  ft_schedule_point point = ft_schedule_at(o, t->steps);
  ft_optimizer_settings settings = {.kind = (ft_optimizer_kind)o->optimizer,
                                    .learning_rate = point.learning_rate,
                                    .beta1 = point.beta1,
                                    .beta2 = o->beta2,
                                    .epsilon = o->epsilon,
                                    .weight_decay = o->weight_decay,
                                    .clip_norm = o->clip_norm};
  ft_optimizer_inputs inputs;
  ft_optimizer_prepare(&settings, t->steps + 1, &inputs);
  filtra_graph *g = tg->batch.graph;
  filtra_graph_set_step(g, o->seed, t->steps);
  FT_TRY(ft_batch_graph_set(&tg->batch, batch, true));
  FT_TRY(filtra_graph_set(g, tg->optimizer, &inputs));
  ft_pending_step p = {
      .graph = tg, .step = t->steps + 1, .learning_rate = (float)point.learning_rate};
  FT_TRY(filtra_graph_submit(g, &p.ticket));
  t->pending[t->pending_count++] = p;
  t->steps++;
  return FILTRA_OK;
}

filtra_status filtra_trainer_step(filtra_trainer *trainer, const filtra_batch *batch,
                                  filtra_step_metrics *metrics) {
  FT_NEED(trainer);
  FT_NEED(batch);
  filtra_trainer *t = trainer;
  ft_train_graph *graph = NULL;
  FT_TRY(ft_model_check_batch(t->model, batch, true));
  FT_TRY(graph_for(t, batch->size, batch->length, &graph));
  if (t->pending_count == FT_IN_FLIGHT) FT_TRY(finish_oldest(t));
  FT_TRY(submit_step(t, graph, batch));
  if (metrics) *metrics = t->last;
  return FILTRA_OK;
}

filtra_status filtra_trainer_finish(filtra_trainer *trainer, filtra_step_metrics *metrics) {
  FT_NEED(trainer);
  while (trainer->pending_count)
    FT_TRY(finish_oldest(trainer));
  if (metrics) *metrics = trainer->last;
  return FILTRA_OK;
}
