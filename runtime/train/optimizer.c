/* Optimizers over flat parameters: groups, accumulation, steps in flight, and recovery when a step
 * is not finite. The update is a separate graph, which runs after the graph that computes
 * gradients; in between gradients can be summed over executions (here) or over ranks (shards.c).
 * Called by programs through <filtra/optimizer.h> and by train/trainer.c. */
#include "train/optimizer.h"

#include "train/groups.h"
#include "train/schedule.h"
#include "train/update.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

static filtra_status check_group(const filtra_parameters *params, const filtra_parameter_group *g) {
  FT_TRY(FT_CHECK_RESERVED(filtra_parameter_group, g));
  if (!g->names) return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: a group has no names");
  if (!(g->rate_scale >= 0.0f && g->rate_scale <= 1e6f))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "optimizer: a group's rate_scale is %g, accepted are 0 to 1e6",
                   (double)g->rate_scale);
  if (!(g->weight_decay <= 1e3f))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "optimizer: a group's weight_decay is %g, accepted are at most 1000",
                   (double)g->weight_decay);
  char text[256];
  if (!ft_group_names_none(params, g, text)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: the group %s", text);
}

static filtra_status take_groups(filtra_optimizer *o) {
  size_t count = o->options.group_count;
  if (count && !o->options.groups)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: group_count is %zu, groups is NULL", count);
  o->groups = ft_calloc(count ? count : 1, sizeof *o->groups);
  if (!o->groups) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    FT_TRY(check_group(o->params, &o->options.groups[i]));
    filtra_parameter_group *g = &o->groups[o->group_count];
    *g = o->options.groups[i];
    if (g->rate_scale == 0.0f) g->rate_scale = 1.0f;
    g->names = ft_strdup(g->names);
    if (!g->names) return FILTRA_ERROR_HOST_MEMORY;
    o->group_count++;
  }
  o->options.groups = o->groups;
  return FILTRA_OK;
}

static int by_offset(const void *a, const void *b) {
  const ft_parameter *x = *(ft_parameter *const *)a, *y = *(ft_parameter *const *)b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_range(filtra_optimizer *o, const ft_parameter *p, uint64_t end) {
  const filtra_parameters *params = o->params;
  size_t group = ft_group_of(o->groups, o->group_count, p->name);
  ft_parameter_range *last = o->range_count ? &o->ranges[o->range_count - 1] : NULL;
  if (!last || last->group != group) {
    last = &o->ranges[o->range_count++];
    *last = (ft_parameter_range){.begin = p->offset / sizeof(float),
                                 .group = group,
                                 .frozen = group && o->groups[group - 1].frozen};
  }
  last->end = end / sizeof(float);
  const bool whole = group && o->groups[group - 1].decay_all;
  if (o->options.decay_all || whole || p->offset < params->decay_bytes)
    last->decayed = last->end - last->begin;
}

/* Joins neighbouring parameters of the same group into ranges; without groups there is one
 * range. */
static filtra_status make_ranges(filtra_optimizer *o) {
  const filtra_parameters *params = o->params;
  ft_parameter **order = ft_calloc(params->count, sizeof *order);
  o->ranges = ft_calloc(params->count, sizeof *o->ranges);
  size_t count = 0;
  if (order && o->ranges) {
    for (size_t i = 0; i < params->count; i++)
      if (!params->list[i].options.buffer) order[count++] = &params->list[i];
    qsort(order, count, sizeof(ft_parameter *), by_offset);
    for (size_t i = 0; i < count; i++)
      add_range(o, order[i], i + 1 < count ? order[i + 1]->offset : params->trained_bytes);
  }
  filtra_status status = order && o->ranges ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  free(order);
  return status;
}

static bool trains_any(const filtra_optimizer *o) {
  for (size_t i = 0; i < o->range_count; i++)
    if (!o->ranges[i].frozen) return true;
  return false;
}

/* ---- life ---- */

filtra_status filtra_optimizer_create(filtra_parameters *params,
                                      const filtra_optimizer_options *options,
                                      filtra_optimizer **out) {
  return ft_optimizer_create(params, options, NULL, out);
}

/* Creates the shards and computes the size of this rank's, at least one word, since no buffer can
 * be empty. */
static filtra_status make_shards(filtra_optimizer *o, const ft_ranks *ranks, uint64_t *bytes) {
  FT_TRY(ft_shards_create(o, ranks, &o->shards));
  o->shard_range_count = ft_shards_range_count(o->shards);
  o->shard_ranges = ft_calloc(o->shard_range_count + 1, sizeof *o->shard_ranges);
  if (!o->shard_ranges) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < o->shard_range_count; i++)
    o->shard_ranges[i] = ft_shards_range(o->shards, i);
  uint64_t words = ft_shards_words(o->shards);
  *bytes = (words ? words : 1) * sizeof(float);
  return FILTRA_OK;
}

static filtra_status make_scaling(filtra_optimizer *o) {
  const ft_loss_scale first = {.scale = o->options.loss_scale,
                               .window = o->options.loss_scale_window};
  FT_TRY(ft_buffer_zeroed(o->params->device, sizeof first, &o->scaling));
  return ft_optimizer_set_scale(o, &first);
}

filtra_status ft_optimizer_create(filtra_parameters *params,
                                  const filtra_optimizer_options *options, const ft_ranks *ranks,
                                  filtra_optimizer **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(params);
  if (!params->committed)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: commit the parameters first");
  filtra_optimizer *o = ft_calloc(1, sizeof *o);
  if (!o) return FILTRA_ERROR_HOST_MEMORY;
  o->params = params;
  params->users++;
  filtra_device *dev = params->device;
  uint64_t bytes = params->trained_bytes;
  if (options) o->options = *options;
  filtra_status status = ft_optimizer_options_complete(&o->options);
  if (!status) status = take_groups(o);
  if (!status) status = make_ranges(o);
  if (!status && !trains_any(o))
    status = ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: no parameter is trained, all are frozen");
  if (!status && ranks) status = make_shards(o, ranks, &bytes);
  if (!status) status = ft_parameters_make_trainable(params);
  if (!status) status = ft_buffer_zeroed(dev, bytes, &o->first);
  if (!status) status = ft_buffer_zeroed(dev, bytes, &o->second);
  if (!status) status = ft_buffer_zeroed(dev, FT_STATE_BYTES, &o->state);
  if (!status && o->options.loss_scale > 0.0f) status = make_scaling(o);
  if (status) filtra_optimizer_destroy(&o);
  *out = o;
  return status;
}

filtra_status filtra_optimizer_destroy(filtra_optimizer **optimizer) {
  FT_NEED(optimizer);
  filtra_optimizer *o = *optimizer;
  if (!o) return FILTRA_OK;
  FT_TRY(ft_check_unused("the optimizer", o->users));
  filtra_device *dev = o->params->device;
  ft_update_close(&o->by_gradients);
  ft_update_close(&o->by_sums);
  filtra_graph_destroy(&o->copying);
  filtra_graph_destroy(&o->first_summing.graph);
  filtra_graph_destroy(&o->more_summing.graph);
  for (size_t i = 0; i < o->group_count; i++)
    free((char *)o->groups[i].names);
  free(o->groups);
  free(o->ranges);
  free(o->shard_ranges);
  ft_shards_destroy(&o->shards);
  ft_buffer_destroy(dev, &o->first);
  ft_buffer_destroy(dev, &o->second);
  ft_buffer_destroy(dev, &o->state);
  ft_buffer_destroy(dev, &o->scaling);
  ft_buffer_destroy(dev, &o->sums);
  o->params->users--;
  free(o);
  *optimizer = NULL;
  return FILTRA_OK;
}

uint64_t filtra_optimizer_step_count(const filtra_optimizer *optimizer) {
  return optimizer ? optimizer->steps : 0;
}

filtra_status filtra_optimizer_set_learning_rate(filtra_optimizer *optimizer, float learning_rate) {
  FT_NEED(optimizer);
  if (!(learning_rate >= 0.0f && learning_rate <= 10.0f))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: learning_rate is %g, accepted are 0 to 10",
                   (double)learning_rate);
  optimizer->options.learning_rate = learning_rate;
  return FILTRA_OK;
}

/* ---- sums over executions ---- */

filtra_status ft_optimizer_prepare_update(filtra_optimizer *o, bool sums) {
  ft_update *u;
  struct ft_summing *s;
  if (sums) FT_TRY(ft_summing_get(o, false, &s));
  if (sums) FT_TRY(ft_summing_get(o, true, &s));
  FT_TRY(ft_update_get(o, sums, &u));
  return o->shards ? ft_shards_prepare(o, ft_update_gradients(o, sums)) : FILTRA_OK;
}

filtra_status filtra_optimizer_accumulate(filtra_optimizer *optimizer, float scale) {
  struct ft_summing *s;
  FT_NEED(optimizer);
  if (!isfinite(scale))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: gradients are added up times %g",
                   (double)scale);
  FT_TRY(ft_summing_get(optimizer, optimizer->summed > 0, &s));
  FT_TRY(filtra_graph_set(s->graph, s->scale, &scale));
  FT_TRY(filtra_graph_submit(s->graph, NULL));
  optimizer->summed++;
  return FILTRA_OK;
}

void filtra_optimizer_discard(filtra_optimizer *optimizer) {
  if (optimizer) optimizer->summed = 0;
}

/* ---- steps ---- */

filtra_status ft_optimizer_finish_oldest(filtra_optimizer *o, uint32_t *halt) {
  const ft_pending_update p = o->pending[0];
  ft_step_metrics m;
  FT_TRY(filtra_graph_wait(p.graph, p.ticket));
  FT_TRY(filtra_graph_get(p.graph, p.metrics, &m));
  if (p.score) FT_TRY(filtra_graph_get(p.graph, p.score, &o->last_score));
  *halt = m.halt & ~(uint32_t)FT_HALT_SKIPPED;
  if (*halt) return FILTRA_OK;
  memmove(o->pending, o->pending + 1, --o->pending_count * sizeof p);
  o->last = ft_update_metrics(&m, p.step, p.learning_rate);
  return FILTRA_OK;
}

filtra_status ft_optimizer_recover(filtra_optimizer *o) {
  filtra_device *dev = o->params->device;
  FT_TRY(ft_wait_idle(dev));
  FT_TRY(ft_fill(dev, &o->state, 0, o->state.size, 0));
  if (o->pending_count) o->steps = o->pending[0].step - 1;
  o->pending_count = 0;
  o->summed = 0;
  return FILTRA_OK;
}

/* ft_optimizer_finish_oldest, which recovers from a halt and reports it. */
static filtra_status finish_oldest(filtra_optimizer *o) {
  uint32_t halt = 0;
  FT_TRY(ft_optimizer_finish_oldest(o, &halt));
  if (!halt) return FILTRA_OK;
  uint64_t step = o->pending[0].step;
  FT_TRY(ft_optimizer_recover(o));
  return ft_fail(FILTRA_ERROR_NONFINITE,
                 "step %llu: %s is a NaN or an infinity; the parameters are those before this step",
                 (unsigned long long)step, ft_halt_name(halt));
}

filtra_status filtra_optimizer_step(filtra_optimizer *optimizer) {
  filtra_optimizer *o = optimizer;
  ft_update *u;
  FT_NEED(optimizer);
  FT_TRY(ft_update_get(o, o->summed > 0, &u));
  if (o->pending_count == FT_IN_FLIGHT) FT_TRY(finish_oldest(o));
  ft_schedule_point point = ft_schedule_at(&o->options, o->steps);
  FT_TRY(ft_update_set(o, u, point));
  ft_pending_update p = {.step = o->steps + 1,
                         .learning_rate = (float)point.learning_rate,
                         .graph = u->graph,
                         .metrics = u->metrics,
                         .score = u->score};
  FT_TRY(filtra_graph_submit(u->graph, &p.ticket));
  o->pending[o->pending_count++] = p;
  o->steps++;
  o->summed = 0;
  return FILTRA_OK;
}

filtra_status filtra_optimizer_finish(filtra_optimizer *optimizer,
                                      filtra_optimizer_metrics *result) {
  FT_NEED(optimizer);
  while (optimizer->pending_count)
    FT_TRY(finish_oldest(optimizer));
  if (result) *result = optimizer->last;
  return FILTRA_OK;
}
