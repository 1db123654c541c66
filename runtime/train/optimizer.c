/* Optimizers over flat parameters: groups, accumulation, steps in flight, and recovery when a step
 * is not finite. The update is a separate graph, which runs after the graph that computes
 * gradients; in between gradients can be summed over executions (here) or over ranks (shards.c).
 * Called by programs through <filtra/optimizer.h> and by train/trainer.c. */
#include "train/optimizer.h"

#include "ops/support.h"
#include "train/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of the state buffer: loss and score of the last execution, and their sums over executions.
 * Only trainers have a score. */
enum {
  LOSS_WORD = FT_OPTIMIZER_STATE_WORDS,
  SCORE_WORD,
  LOSS_SUM_WORD,
  SCORE_SUM_WORD,
  STATE_WORDS
};

/* ---- groups ---- */

/* "*" matches any characters. */
static bool fits(const char *pattern, const char *name) {
  if (*pattern == '*') return fits(pattern + 1, name) || (*name && fits(pattern, name + 1));
  return *pattern == *name && (!*name || fits(pattern + 1, name + 1));
}

static bool names(const filtra_parameter_group *group, const ft_parameter *p) {
  return fits(group->names, p->name);
}

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
  for (size_t i = 0; i < params->count; i++)
    if (!params->list[i].options.buffer && names(g, &params->list[i])) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "optimizer: the group \"%s\" names no trained parameter",
                 g->names);
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

/* The last group that matches the parameter, counted from 1; 0: none. */
static size_t group_of(const filtra_optimizer *o, const ft_parameter *p) {
  for (size_t i = o->group_count; i > 0; i--)
    if (names(&o->groups[i - 1], p)) return i;
  return 0;
}

static int by_offset(const void *a, const void *b) {
  const ft_parameter *x = *(ft_parameter *const *)a, *y = *(ft_parameter *const *)b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_range(filtra_optimizer *o, const ft_parameter *p, uint64_t end) {
  const filtra_parameters *params = o->params;
  size_t group = group_of(o, p);
  ft_parameter_range *last = o->range_count ? &o->ranges[o->range_count - 1] : NULL;
  if (!last || last->group != group) {
    last = &o->ranges[o->range_count++];
    *last = (ft_parameter_range){.begin = p->offset / sizeof(float),
                                 .group = group,
                                 .frozen = group && o->groups[group - 1].frozen};
  }
  last->end = end / sizeof(float);
  if (o->options.decay_all || p->offset < params->decay_bytes)
    last->decayed = last->end - last->begin;
}

/* Makes one range of neighbouring parameters of the same group; without groups there is one range.
 */
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

/* ---- recording ---- */

static filtra_tensor *flat(filtra_graph *g, const char *name, const ft_buffer *buffer,
                           uint64_t begin, uint64_t end) {
  int64_t words = (int64_t)(end - begin);
  return ft_tensor_external(g, name, FILTRA_F32, 1, &words, buffer, begin * sizeof(float));
}

static filtra_tensor *loss_of(filtra_graph *g, const filtra_optimizer *o, bool sum) {
  uint64_t word = sum ? LOSS_SUM_WORD : LOSS_WORD;
  return flat(g, "loss", &o->state, word, word + 1);
}

filtra_status filtra_optimizer_watch_loss(filtra_optimizer *optimizer, filtra_graph *g,
                                          filtra_tensor *loss) {
  FT_NEED(optimizer, g);
  if (ft_usable_dense(g, loss, "watch", "loss") && filtra_tensor_elements(loss) != 1)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "watch: loss %s %s must have one element", loss->name,
                  ft_shape_text(loss));
  if (!ft_graph_status(g)) ft_emit_copy(g, loss, loss_of(g, optimizer, false), false);
  return ft_graph_status(g);
}

filtra_tensor *filtra_optimizer_loss_scale(filtra_optimizer *optimizer, filtra_graph *g) {
  return optimizer && optimizer->scaling.size ? flat(g, "loss scale", &optimizer->scaling, 0, 1)
                                              : NULL;
}

filtra_status ft_optimizer_watch_score(filtra_optimizer *o, filtra_graph *g, filtra_tensor *score) {
  ft_emit_copy(g, score, flat(g, "score", &o->state, SCORE_WORD, SCORE_WORD + 1), false);
  return ft_graph_status(g);
}

/* Casts the parameters of a range to their 16-bit copies, after an update. */
static void emit_copies(filtra_graph *g, const filtra_optimizer *o, const ft_parameter_range *r) {
  filtra_parameters *params = o->params;
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    uint64_t at = p->offset / sizeof(float);
    if (p->options.copy == FILTRA_F32 || p->options.buffer || at < r->begin || at >= r->end)
      continue;
    ft_emit_cast(g, flat(g, p->name, &params->values, at, at + (uint64_t)p->elements),
                 ft_tensor_external(g, p->name, p->options.copy, 1, &p->elements, &params->copies,
                                    p->copy_offset),
                 false);
  }
}

static void emit_piece(filtra_graph *g, const filtra_optimizer *o, const ft_buffer *gradients,
                       const ft_parameter_range *r, ft_piece p, const ft_update *u) {
  uint64_t begin = r->begin > p.begin ? r->begin : p.begin;
  uint64_t end = r->end < p.end ? r->end : p.end;
  if (begin >= end) return;
  uint64_t first = p.at + begin - p.begin, last = p.at + end - p.begin;
  const ft_adam_tensors adam = {flat(g, "parameters", &o->params->values, begin, end),
                                flat(g, "gradients", gradients, begin, end),
                                flat(g, "first moments", &o->first, first, last),
                                flat(g, "second moments", &o->second, first, last)};
  uint64_t decayed = r->begin + r->decayed;
  decayed = decayed < begin ? 0 : (decayed < end ? decayed : end) - begin;
  ft_emit_adam(g, &adam, (int64_t)decayed, u->inputs[r->group], u->metrics);
}

static void emit_update(filtra_graph *g, const filtra_optimizer *o, const ft_buffer *gradients,
                        const ft_parameter_range *r, const ft_update *u) {
  if (!o->shards)
    emit_piece(g, o, gradients, r, (ft_piece){0, r->end, 0}, u);
  else /* the 16-bit copies follow once the other ranks' values have arrived */
    for (size_t i = 0; i < ft_shards_pieces(o->shards); i++)
      emit_piece(g, o, gradients, r, ft_shards_piece(o->shards, i), u);
  if (!o->shards) emit_copies(g, o, r);
}

/* The step's metrics, computed by the host from the records of all ranks. */
static filtra_tensor *given_metrics(filtra_graph *g) {
  return filtra_graph_input(g, "metrics", FILTRA_I32, 1,
                            (int64_t[]){sizeof(ft_step_metrics) / sizeof(int32_t)});
}

static const ft_buffer *gradients_of(const filtra_optimizer *o, bool sums) {
  return sums ? &o->sums : &o->params->gradients;
}

static filtra_tensor *scaling_of(filtra_graph *g, const filtra_optimizer *o) {
  enum { WORDS = sizeof(ft_loss_scale) / sizeof(uint32_t) };
  return o->scaling.size ? ft_tensor_external(g, "loss scale", FILTRA_I32, 1, (int64_t[]){WORDS},
                                              &o->scaling, 0)
                         : NULL;
}

static filtra_status record_update(filtra_optimizer *o, bool sums, ft_update *u) {
  filtra_graph *g = u->graph;
  const ft_buffer *gradients = gradients_of(o, sums);
  filtra_tensor **list = ft_calloc(o->range_count + 1, sizeof(filtra_tensor *));
  u->inputs = ft_calloc(o->group_count + 1, sizeof(filtra_tensor *));
  if (!list || !u->inputs) {
    free(list);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  for (size_t i = 0; i <= o->group_count; i++)
    u->inputs[i] = ft_optimizer_input(g);
  size_t count = 0;
  for (size_t i = 0; i < o->range_count; i++) {
    const ft_parameter_range *r = &o->ranges[i];
    if (!r->frozen) list[count++] = flat(g, "gradients", gradients, r->begin, r->end);
  }
  filtra_tensor *state = ft_tensor_external(g, "halt state", FILTRA_I32, 1,
                                            (int64_t[]){FT_OPTIMIZER_STATE_WORDS}, &o->state, 0);
  if (o->shards)
    u->metrics = given_metrics(g);
  else
    u->metrics =
        filtra_graph_output(g, ft_emit_gradient_norm(g, count, list, loss_of(g, o, sums),
                                                     u->inputs[0], state, scaling_of(g, o)));
  if (sums)
    u->score =
        filtra_graph_output(g, flat(g, "score", &o->state, SCORE_SUM_WORD, SCORE_SUM_WORD + 1));
  for (size_t i = 0; i < o->range_count; i++)
    if (!o->ranges[i].frozen) emit_update(g, o, gradients, &o->ranges[i], u);
  free(list);
  return filtra_graph_compile(g);
}

static void close_update(ft_update *u) {
  filtra_graph_destroy(&u->graph);
  free(u->inputs);
  *u = (ft_update){0};
}

static filtra_status make_sums(filtra_optimizer *o) {
  return o->sums.size ? FILTRA_OK
                      : ft_buffer_zeroed(o->params->device, o->params->trained_bytes, &o->sums);
}

static filtra_status get_update(filtra_optimizer *o, bool sums, ft_update **out) {
  ft_update *u = *out = sums ? &o->by_sums : &o->by_gradients;
  if (u->graph) return FILTRA_OK;
  if (sums) FT_TRY(make_sums(o));
  FT_TRY(filtra_graph_create(o->params->device, &(filtra_graph_options){.slots = FT_IN_FLIGHT + 1},
                             &u->graph));
  filtra_status status = record_update(o, sums, u);
  if (!status && o->shards) status = ft_shards_prepare(o, gradients_of(o, sums));
  if (status) close_update(u);
  return status;
}

/* ---- life ---- */

filtra_status filtra_optimizer_create(filtra_parameters *params,
                                      const filtra_optimizer_options *options,
                                      filtra_optimizer **out) {
  return ft_optimizer_create(params, options, NULL, out);
}

/* Creates the shards, and computes the size of this rank's; at least one word, as no buffer is
 * empty. */
static filtra_status make_shards(filtra_optimizer *o, const ft_ranks *ranks, uint64_t *bytes) {
  FT_TRY(ft_shards_create(o, ranks, &o->shards));
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

filtra_status ft_optimizer_set_scale(filtra_optimizer *o, const ft_loss_scale *scale) {
  o->scale = *scale;
  return ft_upload(o->params->device, &o->scaling, 0, scale, sizeof *scale);
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
  if (!status) status = ft_buffer_zeroed(dev, STATE_WORDS * sizeof(uint32_t), &o->state);
  if (!status && o->options.loss_scale > 0.0f) status = make_scaling(o);
  if (status) filtra_optimizer_destroy(&o);
  *out = o;
  return status;
}

void filtra_optimizer_destroy(filtra_optimizer **optimizer) {
  filtra_optimizer *o = optimizer ? *optimizer : NULL;
  if (!o) return;
  filtra_device *dev = o->params->device;
  close_update(&o->by_gradients);
  close_update(&o->by_sums);
  filtra_graph_destroy(&o->copying);
  filtra_graph_destroy(&o->first_summing.graph);
  filtra_graph_destroy(&o->more_summing.graph);
  for (size_t i = 0; i < o->group_count; i++)
    free((char *)o->groups[i].names);
  free(o->groups);
  free(o->ranges);
  ft_shards_destroy(&o->shards);
  ft_buffer_destroy(dev, &o->first);
  ft_buffer_destroy(dev, &o->second);
  ft_buffer_destroy(dev, &o->state);
  ft_buffer_destroy(dev, &o->scaling);
  ft_buffer_destroy(dev, &o->sums);
  free(o);
  *optimizer = NULL;
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

static filtra_status record_summing(filtra_optimizer *o, bool more, struct ft_summing *s) {
  filtra_graph *g = s->graph;
  uint64_t words = o->params->trained_bytes / sizeof(float);
  s->scale = filtra_graph_input(g, "scale", FILTRA_F32, 1, (int64_t[]){1});
  ft_emit_accumulate(g, flat(g, "gradients", &o->params->gradients, 0, words), s->scale,
                     flat(g, "sums of gradients", &o->sums, 0, words), more);
  ft_emit_accumulate(g, flat(g, "loss and score", &o->state, LOSS_WORD, LOSS_WORD + 2), s->scale,
                     flat(g, "sums", &o->state, LOSS_SUM_WORD, LOSS_SUM_WORD + 2), more);
  return filtra_graph_compile(g);
}

static filtra_status get_summing(filtra_optimizer *o, bool more, struct ft_summing **out) {
  filtra_device *dev = o->params->device;
  struct ft_summing *s = *out = more ? &o->more_summing : &o->first_summing;
  if (s->graph) return FILTRA_OK;
  FT_TRY(make_sums(o));
  FT_TRY(filtra_graph_create(dev, &(filtra_graph_options){.slots = FT_IN_FLIGHT + 1}, &s->graph));
  filtra_status status = record_summing(o, more, s);
  if (status) filtra_graph_destroy(&s->graph);
  return status;
}

filtra_status ft_optimizer_prepare_update(filtra_optimizer *o, bool sums) {
  ft_update *u;
  struct ft_summing *s;
  if (sums) FT_TRY(get_summing(o, false, &s));
  if (sums) FT_TRY(get_summing(o, true, &s));
  return get_update(o, sums, &u);
}

filtra_status filtra_optimizer_accumulate(filtra_optimizer *optimizer, float scale) {
  struct ft_summing *s;
  FT_NEED(optimizer);
  FT_TRY(get_summing(optimizer, optimizer->summed > 0, &s));
  FT_TRY(filtra_graph_set(s->graph, s->scale, &scale));
  FT_TRY(filtra_graph_submit(s->graph, NULL));
  optimizer->summed++;
  return FILTRA_OK;
}

void filtra_optimizer_discard(filtra_optimizer *optimizer) {
  if (optimizer) optimizer->summed = 0;
}

/* ---- steps ---- */

const char *ft_halt_name(uint32_t halt) {
  return halt & FT_HALT_LOSS ? "the loss" : "the gradient norm";
}

static filtra_optimizer_metrics result_of(const ft_step_metrics *m, uint64_t step, float rate) {
  return (filtra_optimizer_metrics){.step = step,
                                    .loss = m->loss,
                                    .gradient_norm = m->gradient_norm,
                                    .learning_rate = rate,
                                    .loss_scale = m->loss_scale,
                                    .skipped = m->skipped,
                                    .skipped_step =
                                        (uint64_t)m->skipped_step_high << 32 | m->skipped_step_low};
}

filtra_status ft_optimizer_finish_oldest(filtra_optimizer *o, uint32_t *halt) {
  const ft_pending_update p = o->pending[0];
  ft_step_metrics m;
  FT_TRY(filtra_graph_wait(p.graph, p.ticket));
  FT_TRY(filtra_graph_get(p.graph, p.metrics, &m));
  if (p.score) FT_TRY(filtra_graph_get(p.graph, p.score, &o->last_score));
  *halt = m.halt & ~(uint32_t)FT_HALT_SKIPPED;
  if (*halt) return FILTRA_OK;
  memmove(o->pending, o->pending + 1, --o->pending_count * sizeof p);
  o->last = result_of(&m, p.step, p.learning_rate);
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

static filtra_status set_inputs(const filtra_optimizer *o, const ft_update *u,
                                ft_schedule_point point) {
  const filtra_optimizer_options *options = &o->options;
  for (size_t i = 0; i <= o->group_count; i++) {
    const filtra_parameter_group *group = i ? &o->groups[i - 1] : NULL;
    float decay =
        group && group->weight_decay != 0.0f ? group->weight_decay : options->weight_decay;
    const ft_optimizer_settings settings = {
        .kind = options->kind,
        .learning_rate = point.learning_rate * (group ? (double)group->rate_scale : 1.0),
        .beta1 = point.beta1,
        .beta2 = (double)options->beta2,
        .epsilon = (double)options->epsilon,
        .weight_decay = decay > 0.0f ? (double)decay : 0.0,
        .clip_norm = (double)options->clip_norm};
    ft_optimizer_inputs inputs;
    ft_optimizer_prepare(&settings, o->steps + 1, &inputs);
    FT_TRY(filtra_graph_set(u->graph, u->inputs[i], &inputs));
  }
  return FILTRA_OK;
}

void ft_optimizer_sums(const void *bytes, bool summed, float sums[2]) {
  uint64_t word = (summed ? LOSS_SUM_WORD : LOSS_WORD) - FT_OPTIMIZER_STATE_WORDS;
  memcpy(sums, (const float *)bytes + word, 2 * sizeof *sums);
}

filtra_status ft_optimizer_update_shard(filtra_optimizer *o, bool summed,
                                        const ft_step_metrics *metrics) {
  ft_update *u;
  FT_TRY(get_update(o, summed, &u));
  ft_schedule_point point = ft_schedule_at(&o->options, o->steps);
  FT_TRY(set_inputs(o, u, point));
  FT_TRY(filtra_graph_set(u->graph, u->metrics, metrics));
  if (metrics->halt != FT_HALT_SKIPPED) FT_TRY(filtra_graph_submit(u->graph, NULL));
  o->steps++;
  o->last = result_of(metrics, o->steps, (float)point.learning_rate);
  return FILTRA_OK;
}

static filtra_status record_copying(const filtra_optimizer *o, filtra_graph *g) {
  for (size_t i = 0; i < o->range_count; i++)
    if (!o->ranges[i].frozen) emit_copies(g, o, &o->ranges[i]);
  return filtra_graph_compile(g);
}

filtra_status ft_optimizer_copy_weights(filtra_optimizer *o) {
  if (!o->params->copies.size) return FILTRA_OK;
  if (!o->copying) {
    FT_TRY(filtra_graph_create(o->params->device,
                               &(filtra_graph_options){.slots = FT_IN_FLIGHT + 1}, &o->copying));
    filtra_status status = record_copying(o, o->copying);
    if (status) filtra_graph_destroy(&o->copying);
    if (status) return status;
  }
  return filtra_graph_submit(o->copying, NULL);
}

filtra_status filtra_optimizer_step(filtra_optimizer *optimizer) {
  filtra_optimizer *o = optimizer;
  ft_update *u;
  FT_NEED(optimizer);
  FT_TRY(get_update(o, o->summed > 0, &u));
  if (o->pending_count == FT_IN_FLIGHT) FT_TRY(finish_oldest(o));
  ft_schedule_point point = ft_schedule_at(&o->options, o->steps);
  FT_TRY(set_inputs(o, u, point));
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
