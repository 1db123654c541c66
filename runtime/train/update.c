/* Updates: the graphs that change parameters by gradients, or by their sums over executions, and
 * sum gradients up. Called by optimizer.c, and by shards.c for this rank's shard. */
#include "train/update.h"

#include "ops/support.h"
#include "train/schedule.h"

#include <stdlib.h>
#include <string.h>

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

/* Fails for a graph of another device, as later calls on the graph would. */
static filtra_status check_device(const filtra_optimizer *o, filtra_graph *g) {
  if (ft_graph_device(g) == o->params->device) return FILTRA_OK;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "the graph is another device's than the optimizer");
  return ft_graph_status(g);
}

filtra_status filtra_optimizer_watch_loss(filtra_optimizer *optimizer, filtra_graph *g,
                                          filtra_tensor *loss) {
  FT_NEED(optimizer, g);
  FT_TRY(check_device(optimizer, g));
  if (ft_usable_dense(g, loss, "watch", "loss") && filtra_tensor_elements(loss) != 1)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "watch: loss %s %s must have one element", loss->name,
                  ft_shape_text(loss));
  ft_graph_hold(g, &optimizer->users);
  if (!ft_graph_status(g)) ft_emit_copy(g, loss, loss_of(g, optimizer, false), false);
  return ft_graph_status(g);
}

filtra_tensor *filtra_optimizer_loss_scale(filtra_optimizer *optimizer, filtra_graph *g) {
  if (!optimizer || !g || !optimizer->scaling.size || check_device(optimizer, g)) return NULL;
  ft_graph_hold(g, &optimizer->users);
  return flat(g, "loss scale", &optimizer->scaling, 0, 1);
}

filtra_status ft_optimizer_watch_score(filtra_optimizer *o, filtra_graph *g, filtra_tensor *score) {
  ft_graph_hold(g, &o->users);
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

static void emit_range(filtra_graph *g, const filtra_optimizer *o, const ft_buffer *gradients,
                       const ft_parameter_range *r, ft_shard_range p, const ft_update *u) {
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
    emit_range(g, o, gradients, r, (ft_shard_range){0, r->end, 0}, u);
  else /* the 16-bit copies follow once the other ranks' values have arrived */
    for (size_t i = 0; i < o->shard_range_count; i++)
      emit_range(g, o, gradients, r, o->shard_ranges[i], u);
  if (!o->shards) emit_copies(g, o, r);
}

/* Metrics of a step that the host computes from the records of all ranks. */
static filtra_tensor *given_metrics(filtra_graph *g) {
  return filtra_graph_input(g, "metrics", FILTRA_I32, 1,
                            (int64_t[]){sizeof(ft_step_metrics) / sizeof(int32_t)});
}

const ft_buffer *ft_update_gradients(const filtra_optimizer *o, bool sums) {
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
  const ft_buffer *gradients = ft_update_gradients(o, sums);
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

void ft_update_close(ft_update *u) {
  filtra_graph_destroy(&u->graph);
  free(u->inputs);
  *u = (ft_update){0};
}

static filtra_status make_sums(filtra_optimizer *o) {
  return o->sums.size ? FILTRA_OK
                      : ft_buffer_zeroed(o->params->device, o->params->trained_bytes, &o->sums);
}

filtra_status ft_update_get(filtra_optimizer *o, bool sums, ft_update **out) {
  ft_update *u = *out = sums ? &o->by_sums : &o->by_gradients;
  if (u->graph) return FILTRA_OK;
  if (sums) FT_TRY(make_sums(o));
  FT_TRY(filtra_graph_create(o->params->device, &(filtra_graph_options){.slots = FT_IN_FLIGHT + 1},
                             &u->graph));
  filtra_status status = record_update(o, sums, u);
  if (status) ft_update_close(u);
  return status;
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

filtra_status ft_summing_get(filtra_optimizer *o, bool more, struct ft_summing **out) {
  filtra_device *dev = o->params->device;
  struct ft_summing *s = *out = more ? &o->more_summing : &o->first_summing;
  if (s->graph) return FILTRA_OK;
  FT_TRY(make_sums(o));
  FT_TRY(filtra_graph_create(dev, &(filtra_graph_options){.slots = FT_IN_FLIGHT + 1}, &s->graph));
  filtra_status status = record_summing(o, more, s);
  if (status) filtra_graph_destroy(&s->graph);
  return status;
}

/* ---- steps ---- */

filtra_status ft_optimizer_set_scale(filtra_optimizer *o, const ft_loss_scale *scale) {
  o->scale = *scale;
  return ft_upload(o->params->device, &o->scaling, 0, scale, sizeof *scale);
}

const char *ft_halt_name(uint32_t halt) {
  return halt & FT_HALT_LOSS ? "the loss" : "the gradient norm";
}

filtra_optimizer_metrics ft_update_metrics(const ft_step_metrics *m, uint64_t step, float rate) {
  return (filtra_optimizer_metrics){.step = step,
                                    .loss = m->loss,
                                    .gradient_norm = m->gradient_norm,
                                    .learning_rate = rate,
                                    .loss_scale = m->loss_scale,
                                    .skipped = m->skipped,
                                    .skipped_step =
                                        (uint64_t)m->skipped_step_high << 32 | m->skipped_step_low};
}

filtra_status ft_update_set(const filtra_optimizer *o, const ft_update *u,
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
  FT_TRY(ft_update_get(o, summed, &u));
  ft_schedule_point point = ft_schedule_at(&o->options, o->steps);
  FT_TRY(ft_update_set(o, u, point));
  FT_TRY(filtra_graph_set(u->graph, u->metrics, metrics));
  if (metrics->halt != FT_HALT_SKIPPED) FT_TRY(filtra_graph_submit(u->graph, NULL));
  o->steps++;
  o->last = ft_update_metrics(metrics, o->steps, (float)point.learning_rate);
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
