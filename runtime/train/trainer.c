/* Trainers: graphs by batch shape, steps in flight, parts of a batch, and steps of several ranks.
 * The optimizer (optimizer.c) applies the updates. Called by programs through <filtra/train.h> and
 * by train/run.c. */
#include "train/trainer.h"

#include "base/memory.h"
#include "base/rng.h"
#include "ops/tuning.h"
#include "train/groups.h"
#include "train/shares.h"

#include <stdlib.h>
#include <string.h>

/* This rank's range of samples in a batch. */
static void own_samples(const filtra_trainer *t, int64_t size, int64_t *first, int64_t *end) {
  ft_shares_samples(t, t->ranks.transport ? t->ranks.transport->rank : 0, size, first, end);
}

/* Samples of a part; the last part of a batch may have fewer. */
static int64_t part_size(const filtra_trainer *t, int64_t size) {
  int64_t first, end;
  own_samples(t, size, &first, &end);
  const int64_t own = end - first;
  return own / t->accumulate + (own % t->accumulate != 0);
}

/* The graph for batches of this shape, or for their parts. */
static filtra_status graph_for(filtra_trainer *t, int64_t size, int64_t length,
                               ft_batch_graph **out) {
  int64_t longest = t->model->options.config.max_length;
  if (size < 1 || length < 1 || length > longest)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: a batch of %lld sequences of %lld tokens; accepted are at least 1 and "
                   "at most %lld tokens (max_length)",
                   (long long)size, (long long)length, (long long)longest);
  if (size > UINT32_MAX / length)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: a batch of %lld sequences of %lld tokens; accepted are at most 2^32 "
                   "tokens",
                   (long long)size, (long long)length);
  int64_t whole = size;
  if (t->measures) FT_TRY(ft_shares_measure(t, size, length));
  size = part_size(t, size);
  if (size < 1)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: of a batch of %lld samples rank %d has none; take a larger batch, "
                   "fewer ranks or other shares",
                   (long long)whole, t->ranks.transport->rank);
  for (size_t i = 0; i < t->graph_count; i++) {
    *out = t->graphs[i];
    if ((*out)->size == size && (*out)->length == length) return FILTRA_OK;
  }
  FT_TRY(FT_GROW(t->graphs, t->graph_count, t->graph_capacity));
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_trainer_build_part(t, size, length, *out);
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
  return ft_optimizer_prepare_update(trainer->optimizer, trainer->accumulate > 1);
}

filtra_status ft_trainer_build(filtra_trainer *trainer, int64_t size, int64_t length) {
  ft_batch_graph graph;
  filtra_status status = ft_trainer_build_part(trainer, part_size(trainer, size), length, &graph);
  ft_batch_graph_close(&graph);
  return status;
}

/* ---- life ---- */

/* Exchanges the ranks' shares of a batch. */
static filtra_status join_ranks(filtra_trainer *t) {
  const filtra_transport *transport = t->options.transport;
  if (!transport || transport->size < 2) return FILTRA_OK;
  t->ranks = (ft_ranks){transport, (double)t->options.deadline};
  return ft_shares_join(t, t->options.share);
}

filtra_status filtra_trainer_create(filtra_model *model, const filtra_train_options *options,
                                    filtra_trainer **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(model);
  filtra_train_options complete = {0};
  if (options) complete = *options;
  FT_TRY(ft_train_options_complete(&complete, &model->options.config));
  ft_groups groups;
  filtra_trainer *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  t->model = model;
  model->users++;
  t->options = complete;
  t->accumulate = (int64_t)complete.accumulate;
  model->loss_chunks = (int64_t)complete.loss_chunks;
  t->tuning = ft_tuning_hold(ft_tuning_of(model->device));
  filtra_status status = ft_groups_make(&complete, model->params, &groups);
  if (!status) status = join_ranks(t);
  const ft_ranks *ranks = t->ranks.transport ? &t->ranks : NULL;
  if (groups.count) complete.optimizer.groups = groups.list;
  if (groups.count) complete.optimizer.group_count = groups.count;
  if (!status)
    status = ft_optimizer_create(model->params, &complete.optimizer, ranks, &t->optimizer);
  t->trainable = ft_groups_freeze(NULL, 0, model->params);
  if (!status)
    t->trained = ft_groups_freeze(t->optimizer->groups, t->optimizer->group_count, model->params);
  ft_groups_free(&groups);
  /* Groups and names belong to the caller: keep no pointers to them. */
  t->options.optimizer = (filtra_optimizer_options){0};
  t->options.freeze = t->options.learning_rates = t->options.weight_decays = NULL;
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
  free(t->shares);
  ft_tuning_release(&t->tuning);
  if (t->optimizer) ft_groups_freeze(NULL, 0, t->model->params);
  filtra_optimizer_destroy(&t->optimizer);
  t->model->users--;
  free(t);
  *trainer = NULL;
}

uint64_t filtra_trainer_step_count(const filtra_trainer *trainer) {
  return trainer ? filtra_optimizer_step_count(trainer->optimizer) : 0;
}

filtra_status filtra_trainer_set_learning_rate(filtra_trainer *trainer, float learning_rate) {
  FT_NEED(trainer);
  return filtra_optimizer_set_learning_rate(trainer->optimizer, learning_rate);
}

/* ---- steps ---- */

/* Reports a step that the device held back, with all later ones: executes it again to find the
 * first tensor that is not finite, then discards these steps. */
static filtra_status fail_nonfinite(filtra_trainer *t, uint32_t halt) {
  const ft_pending_step p = t->pending[0];
  uint64_t step = t->optimizer->pending[0].step;
  const char *name = NULL;
  if (!p.graph->part) FT_TRY(ft_graph_find_nonfinite(p.graph->graph, p.ticket, &name));
  FT_TRY(ft_optimizer_recover(t->optimizer));
  return ft_fail(FILTRA_ERROR_NONFINITE,
                 "step %llu: %s holds a NaN or an infinity; the weights are those before this "
                 "step. Try a lower learning_rate or a clip_norm",
                 (unsigned long long)step, name ? name : ft_halt_name(halt));
}

static void take_result(filtra_trainer *t, float score) {
  const filtra_optimizer_metrics *r = &t->optimizer->last;
  bool regression = t->model->options.config.task == FILTRA_TASK_REGRESSION;
  t->last = (filtra_trainer_metrics){.step = r->step,
                                     .loss = r->loss,
                                     .accuracy = regression ? 0.0f : score,
                                     .absolute_error = regression ? score : 0.0f,
                                     .gradient_norm = r->gradient_norm,
                                     .learning_rate = r->learning_rate,
                                     .loss_scale = r->loss_scale,
                                     .skipped = r->skipped,
                                     .skipped_step = r->skipped_step};
}

/* Waits for the oldest step and takes its metrics. */
static filtra_status finish_oldest(filtra_trainer *t) {
  ft_pending_step p = t->pending[0];
  uint32_t halt;
  float score = 0.0f;
  if (!p.graph->part) {
    FT_TRY(filtra_graph_wait(p.graph->graph, p.ticket));
    FT_TRY(filtra_graph_get(p.graph->graph, p.graph->score, &score));
  }
  FT_TRY(ft_optimizer_finish_oldest(t->optimizer, &halt));
  if (halt) return fail_nonfinite(t, halt);
  if (p.graph->part) score = t->optimizer->last_score;
  memmove(t->pending, t->pending + 1, t->optimizer->pending_count * sizeof p);
  take_result(t, score);
  return t->finished ? t->finished(t->user, &t->last) : FILTRA_OK;
}

/* Submits one execution for each part; their gradients, losses and scores are summed. All use the
 * step's dropout masks, each the part of its own samples. */
static filtra_status submit_parts(filtra_trainer *t, ft_batch_graph *b, const filtra_batch *batch) {
  double weight = ft_batch_weight(t->model, batch);
  filtra_optimizer_discard(t->optimizer); /* left over from a failed step */
  int64_t first, end;
  own_samples(t, batch->size, &first, &end);
  for (; first < end; first += b->size) {
    int64_t left = end - first;
    FT_TRY(ft_batch_graph_set_part(b, batch, first, left < b->size ? left : b->size, weight));
    filtra_graph_set_step(b->graph, t->options.seed, t->optimizer->steps);
    FT_TRY(filtra_graph_submit(b->graph, NULL));
    if (t->accumulate > 1) FT_TRY(filtra_optimizer_accumulate(t->optimizer, 1.0f));
  }
  return FILTRA_OK;
}

/* A hash of the batch. */
static uint64_t batch_number(const filtra_batch *batch) {
  uint64_t hash = ft_hash_bytes(batch->size, batch->lengths, batch->size * sizeof(int32_t));
  return batch->indices ? ft_hash_bytes(hash, batch->indices, batch->size * sizeof *batch->indices)
                        : hash;
}

/* Takes a step of all ranks. The last copies to the device may still be in flight on return. */
static filtra_status take_shared_step(filtra_trainer *t, ft_batch_graph *b,
                                      const filtra_batch *batch) {
  const ft_shared_step step = {.graph = t->accumulate > 1 ? NULL : b->graph,
                               .sums = t->accumulate > 1 ? &t->optimizer->sums
                                                         : &t->optimizer->params->gradients,
                               .batch = batch_number(batch),
                               .stop = t->wants_stop};
  double exchange, hidden;
  FT_TRY(submit_parts(t, b, batch));
  FT_TRY(ft_shards_step(t->optimizer, &step, &t->stopped));
  take_result(t, t->optimizer->last_score);
  ft_shards_times(t->optimizer->shards, &exchange, &hidden);
  t->last.exchange_seconds = (float)exchange;
  t->last.hidden_seconds = (float)hidden;
  return t->finished ? t->finished(t->user, &t->last) : FILTRA_OK;
}

static filtra_status submit_step(filtra_trainer *t, ft_batch_graph *b, const filtra_batch *batch) {
  filtra_optimizer *o = t->optimizer;
  ft_pending_step p = {.graph = b};
  if (b->part) {
    FT_TRY(submit_parts(t, b, batch));
  } else {
    FT_TRY(ft_batch_graph_set(b, batch, true));
    filtra_graph_set_step(b->graph, t->options.seed, o->steps);
    FT_TRY(filtra_graph_submit(b->graph, &p.ticket));
  }
  FT_TRY(filtra_optimizer_step(o));
  t->pending[o->pending_count - 1] = p;
  return FILTRA_OK;
}

filtra_status filtra_trainer_step(filtra_trainer *trainer, const filtra_batch *batch,
                                  filtra_trainer_metrics *metrics) {
  FT_NEED(trainer, batch);
  filtra_trainer *t = trainer;
  ft_batch_graph *graph = NULL;
  FT_TRY(ft_model_check_batch(t->model, batch, true));
  if (t->options.mixed_labels != (batch->label_fractions != NULL))
    return ft_fail(
        FILTRA_ERROR_ARGUMENT, "trainer: a batch %s label_fractions where mixed_labels is %s",
        batch->label_fractions ? "with" : "without", t->options.mixed_labels ? "set" : "not set");
  FT_TRY(graph_for(t, batch->size, batch->length, &graph));
  FT_TRY(ft_optimizer_prepare_update(t->optimizer, t->accumulate > 1));
  if (t->optimizer->pending_count == FT_IN_FLIGHT) FT_TRY(finish_oldest(t));
  FT_TRY(t->ranks.transport ? take_shared_step(t, graph, batch) : submit_step(t, graph, batch));
  if (metrics) *metrics = t->last;
  return FILTRA_OK;
}

filtra_status filtra_trainer_finish(filtra_trainer *trainer, filtra_trainer_metrics *metrics) {
  FT_NEED(trainer);
  while (trainer->optimizer->pending_count)
    FT_TRY(finish_oldest(trainer));
  if (metrics) *metrics = trainer->last;
  return FILTRA_OK;
}
