/* Cutting a run into submissions that no display driver's watchdog minds. Operating systems reset a
 * GPU whose one job takes seconds (2 s on Windows, about 10 s on Linux), so a long run goes out as
 * several jobs, and a dispatch that is itself too long as several dispatches of some of its
 * workgroups each, which Vulkan lets run one after the other in any case: no kernel waits for
 * another workgroup.
 *
 * Costs are measured: a graph's first run goes out in pieces that are short on the slowest device
 * we know, with a timestamp around each; from then on pieces have the length of the budget. */
#include "graph/internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct ft_part {
  uint32_t call, base[3], groups[3];
  bool first, last; /* of its call: the call's barrier goes before the first */
} ft_part;

typedef struct ft_submission {
  uint32_t first, count; /* parts */
} ft_submission;

struct ft_submissions {
  ft_part *parts;
  size_t part_count, part_capacity;
  ft_submission *list;
  size_t count, capacity;
  ft_commands *commands; /* one each, once costs are measured */
  bool measured;
};

/* ---- planning ---- */

static double estimate(const ft_constants *constants, const ft_recorded_call *c) {
  return c->flops / constants->slowest_flops + c->bytes / constants->slowest_bytes;
}

/* Parts that a call of so many seconds is cut into, along its longest axis. */
static uint32_t parts_of(const ft_recorded_call *c, double seconds, double budget, int *axis) {
  *axis = 0;
  for (int i = 1; i < 3; i++)
    if (c->groups[i] > c->groups[*axis]) *axis = i;
  double parts = ceil(seconds / budget);
  if (!(parts > 1.0) || ft_pipeline_counts_groups(c->pipeline)) return 1;
  return parts < c->groups[*axis] ? (uint32_t)parts : c->groups[*axis];
}

static bool is_read_out(const filtra_graph *g, uint32_t call) {
  for (size_t i = 0; i < g->readout_count; i++)
    if (g->readouts[i].call == call) return true;
  return false;
}

static filtra_status add_part(const filtra_graph *g, const ft_part *part, double seconds,
                              double budget, double *filled) {
  struct ft_submissions *s = g->submissions;
  bool full = budget > 0.0 && *filled > 0.0 && *filled + seconds > budget;
  bool left = part->first && part->call && is_read_out(g, part->call - 1);
  if (!s->count || full || left) {
    FT_TRY(FT_GROW(s->list, s->count, s->capacity));
    s->list[s->count++] = (ft_submission){.first = (uint32_t)s->part_count};
    *filled = 0.0;
  }
  FT_TRY(FT_GROW(s->parts, s->part_count, s->part_capacity));
  s->parts[s->part_count++] = *part;
  s->list[s->count - 1].count++;
  *filled += seconds;
  return FILTRA_OK;
}

/* Calls cost `seconds` each; NULL: estimates. */
static filtra_status plan(filtra_graph *g, const double *seconds) {
  struct ft_submissions *s = g->submissions;
  const ft_constants *constants = ft_constants_of(ft_caps_of(g->device));
  double budget = ft_caps_of(g->device)->submission_seconds, filled = 0.0;
  s->part_count = s->count = 0;
  for (size_t i = 0; i < g->call_count; i++) {
    const ft_recorded_call *c = &g->calls[i];
    int axis = 0;
    double cost = seconds ? seconds[i] : estimate(constants, c);
    uint32_t parts = budget > 0.0 ? parts_of(c, cost, budget, &axis) : 1;
    for (uint32_t k = 0; k < parts; k++) {
      ft_part part = {.call = (uint32_t)i, .first = k == 0, .last = k + 1 == parts};
      for (int a = 0; a < 3; a++)
        part.groups[a] = c->groups[a];
      uint64_t all = c->groups[axis];
      part.base[axis] = (uint32_t)(all * k / parts);
      part.groups[axis] = (uint32_t)(all * (k + 1) / parts) - part.base[axis];
      FT_TRY(add_part(g, &part, cost / parts, budget, &filled));
    }
  }
  return FILTRA_OK;
}

/* ---- recording ---- */

static void record_part(filtra_graph *g, ft_commands commands, uint32_t index,
                        const ft_recording *how) {
  filtra_device *dev = g->device;
  const ft_part *p = &g->submissions->parts[index];
  const ft_recorded_call *c = &g->calls[p->call];
  if (how->before && p->first) how->before(g, commands, p->call, how->context);
  if (how->apart)
    ft_commands_barrier(dev, commands, FT_STAGE_ALL, FT_STAGE_ALL);
  else if (c->barrier && p->first)
    ft_commands_barrier(dev, commands, FT_STAGE_COMPUTE, FT_STAGE_COMPUTE);
  if (how->timestamps) ft_commands_timestamp(dev, commands, how->timestamps, 2 * index);
  ft_record_groups(g, commands, c, p->base, p->groups);
  if (how->timestamps) ft_commands_timestamp(dev, commands, how->timestamps, 2 * index + 1);
  if (how->after && p->last) how->after(g, commands, p->call, how->context);
}

static filtra_status record_one(filtra_graph *g, const ft_submission *one, const ft_recording *how,
                                ft_commands commands) {
  filtra_device *dev = g->device;
  FT_TRY(ft_commands_begin(dev, commands));
  if (how->timestamps)
    ft_commands_reset_timestamps(dev, commands, how->timestamps, 2 * one->first, 2 * one->count);
  for (uint32_t i = one->first; i < one->first + one->count; i++)
    record_part(g, commands, i, how);
  return ft_commands_end(dev, commands);
}

static void free_commands(filtra_graph *g, ft_commands *commands) {
  if (commands) ft_commands_free(g->device, g->pool, (uint32_t)g->submissions->count, commands);
  free(commands);
}

/* The planned submissions, a command buffer each. */
static filtra_status record(filtra_graph *g, const ft_recording *how, ft_commands **out) {
  const struct ft_submissions *s = g->submissions;
  *out = NULL;
  if (!s->count) return FILTRA_OK;
  ft_commands *commands = ft_calloc(s->count, sizeof *commands);
  if (!commands) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_commands_new(g->device, &g->pool, (uint32_t)s->count, commands);
  if (status) {
    free(commands);
    return status;
  }
  for (size_t i = 0; i < s->count && !status; i++)
    status = record_one(g, &s->list[i], how, commands[i]);
  if (status)
    free_commands(g, commands);
  else
    *out = commands;
  return status;
}

/* ---- readouts ---- */

filtra_status ft_graph_read_out(filtra_graph *g, const ft_readout *list, size_t count) {
  g->readouts = ft_graph_alloc(g, (count + 1) * sizeof *g->readouts);
  FT_TRY(ft_graph_status(g));
  for (size_t i = 0; i < count; i++)
    g->readouts[g->readout_count++].copy = list[i];
  return FILTRA_OK;
}

uint64_t ft_graph_readout_ticket(const filtra_graph *g, size_t index) {
  return index < g->readout_count ? g->readouts[index].ticket : 0;
}

static bool writes_to(const ft_recorded_call *c, const ft_readout *r) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    const filtra_tensor *t = c->args[k].tensor;
    if (!t || !(c->args[k].mode & FT_ACCESS_WRITE) || t->storage->buffer != r->from) continue;
    ft_span span = ft_tensor_span(t);
    uint64_t low = t->storage->offset + span.low, high = t->storage->offset + span.high;
    if (low < r->from_offset + r->bytes && high > r->from_offset) return true;
  }
  return false;
}

static void plan_readouts(filtra_graph *g) {
  uint32_t last = 0;
  for (size_t i = 0; i < g->readout_count; i++) {
    ft_planned_readout *r = &g->readouts[i];
    for (uint32_t call = last; call < g->call_count; call++)
      if (writes_to(&g->calls[call], &r->copy)) last = call;
    r->call = last;
  }
}

/* Behind a call: ft_recording's `after`. */
static void record_readouts(filtra_graph *g, ft_commands commands, uint32_t call, void *context) {
  (void)context;
  if (!is_read_out(g, call)) return;
  ft_commands_barrier(g->device, commands, FT_STAGE_COMPUTE, FT_STAGE_COPY);
  for (size_t i = 0; i < g->readout_count; i++) {
    const ft_readout *r = &g->readouts[i].copy;
    if (g->readouts[i].call == call)
      ft_commands_copy(g->device, commands, r->from, r->from_offset, r->to, r->to_offset, r->bytes);
  }
  ft_commands_barrier(g->device, commands, FT_STAGE_COPY, FT_STAGE_HOST);
}

static const ft_recording STEP = {.after = record_readouts};

static void note_tickets(filtra_graph *g, const ft_submission *one, uint64_t ticket) {
  const ft_part *parts = g->submissions->parts + one->first;
  for (size_t i = 0; i < g->readout_count; i++)
    if (g->readouts[i].call >= parts[0].call && g->readouts[i].call <= parts[one->count - 1].call)
      g->readouts[i].ticket = ticket;
}

filtra_status ft_prepare_submissions(filtra_graph *g) {
  const ft_caps *caps = ft_caps_of(g->device);
  g->submissions = ft_calloc(1, sizeof *g->submissions);
  if (!g->submissions) return FILTRA_ERROR_HOST_MEMORY;
  plan_readouts(g);
  FT_TRY(plan(g, NULL));
  g->submissions->measured =
      caps->submission_seconds <= 0.0 || caps->timestamp_ns <= 0.0 || !g->call_count;
  return g->submissions->measured ? record(g, &STEP, &g->submissions->commands) : FILTRA_OK;
}

void ft_destroy_submissions(filtra_graph *g) {
  if (!g->submissions) return; /* its command buffers go with the pool */
  free(g->submissions->parts);
  free(g->submissions->list);
  free(g->submissions->commands);
  free(g->submissions);
  g->submissions = NULL;
}

size_t ft_submission_count(const filtra_graph *g) {
  return g->submissions->count;
}

/* ---- running ---- */

/* The first goes out with the uploads before it, the last with the downloads behind it. */
static filtra_status submit_all(filtra_graph *g, const ft_slot *slot, const ft_commands *recorded,
                                uint64_t *ticket) {
  const struct ft_submissions *s = g->submissions;
  if (!s->count)
    return ft_submit(g->device, (ft_commands[]){slot->upload, slot->download}, 2, ticket);
  for (size_t i = 0; i < s->count; i++) {
    ft_commands commands[3];
    uint32_t count = 0;
    if (i == 0) commands[count++] = slot->upload;
    commands[count++] = recorded[i];
    if (i + 1 == s->count) commands[count++] = slot->download;
    FT_TRY(ft_submit(g->device, commands, count, ticket));
    note_tickets(g, &s->list[i], recorded == s->commands ? *ticket : 0);
  }
  return FILTRA_OK;
}

filtra_status ft_replay(filtra_graph *g, const ft_slot *slot, const ft_recording *how,
                        uint64_t *ticket) {
  ft_commands *commands;
  FT_TRY(record(g, how, &commands));
  filtra_status status = submit_all(g, slot, commands, ticket);
  if (!status) status = ft_wait(g->device, *ticket);
  /* Part of it may be running whatever failed: nothing in use may be freed, here or by callers. */
  if (status) ft_wait_whatever(g->device);
  free_commands(g, commands);
  return status;
}

/* Sums the parts' times by call. */
static filtra_status read_times(filtra_graph *g, ft_timestamps stamps, double *seconds) {
  const struct ft_submissions *s = g->submissions;
  double *parts = ft_calloc(s->part_count, sizeof *parts);
  if (!parts) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_timestamps_read(g->device, stamps, (uint32_t)s->part_count, parts);
  for (size_t i = 0; i < s->part_count && !status; i++)
    seconds[s->parts[i].call] += parts[i];
  free(parts);
  return status;
}

filtra_status ft_replay_timed(filtra_graph *g, const ft_slot *slot, double *seconds,
                              uint64_t *ticket) {
  ft_timestamps stamps = NULL;
  FT_TRY(ft_timestamps_create(g->device, 2 * (uint32_t)g->submissions->part_count, &stamps));
  filtra_status status =
      ft_replay(g, slot, &(ft_recording){.apart = true, .timestamps = stamps}, ticket);
  if (!status) status = read_times(g, stamps, seconds);
  ft_timestamps_destroy(g->device, stamps);
  return status;
}

/* A graph's first run, waited for; then the plan that it leads to. */
static filtra_status measure(filtra_graph *g, ft_slot *slot) {
  double *seconds = ft_calloc(g->call_count, sizeof *seconds);
  filtra_status status =
      seconds ? ft_replay_timed(g, slot, seconds, &slot->ticket) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = plan(g, seconds);
  if (!status) status = record(g, &STEP, &g->submissions->commands);
  g->submissions->measured = !status;
  free(seconds);
  return status;
}

filtra_status ft_submit_run(filtra_graph *g, ft_slot *slot) {
  const struct ft_submissions *s = g->submissions;
  return s->measured ? submit_all(g, slot, s->commands, &slot->ticket) : measure(g, slot);
}
