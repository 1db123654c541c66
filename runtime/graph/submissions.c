/* Cuts an execution into submissions that no display driver's watchdog resets. Operating systems
 * reset a GPU whose one job takes seconds (2 s on Windows, about 10 s on Linux). So a long
 * execution is submitted as several jobs, and a dispatch that takes too long by itself as several
 * dispatches of some of its workgroups each. Vulkan may run workgroups one after the other in any
 * case: no kernel waits for another workgroup. Called by graph/program.c and graph/execute.c.
 *
 * Costs are measured. The first execution of a graph is cut into pieces that are short on the
 * slowest known device, with a timestamp around each; after that submissions have the length of the
 * budget. */
#include "graph/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Some of a call's workgroups. */
typedef struct ft_piece {
  uint32_t call, base[3], groups[3];
  bool first, last; /* of its call; the call's barrier precedes the first */
} ft_piece;

typedef struct ft_submission {
  uint32_t first, count; /* pieces */
} ft_submission;

struct ft_submissions {
  ft_piece *pieces;
  size_t piece_count, piece_capacity;
  ft_submission *list;
  size_t count, capacity;
  ft_commands *commands; /* one for each submission, after costs were measured */
  bool measured;
};

/* ---- planning ---- */

static double estimate(const ft_constants *constants, const ft_recorded_call *c) {
  return c->flops / constants->slowest_flops + c->bytes / constants->slowest_bytes;
}

/* Number of pieces for a call that takes `seconds`, cut along its longest axis. */
static uint32_t pieces_of(const ft_program *p, size_t call, double seconds, double budget,
                          int *axis) {
  const ft_recorded_call *c = p->plan->calls[call].call;
  *axis = 0;
  for (int i = 1; i < 3; i++)
    if (c->groups[i] > c->groups[*axis]) *axis = i;
  double pieces = ceil(seconds / budget);
  if (!(pieces > 1.0) || ft_pipeline_counts_groups(p->pipelines[call])) return 1;
  return pieces < c->groups[*axis] ? (uint32_t)pieces : c->groups[*axis];
}

static bool is_read_out(const ft_program *p, uint32_t call) {
  for (size_t i = 0; i < p->plan->tape->readout_count; i++)
    if (p->plan->readouts[i] == call) return true;
  return false;
}

static filtra_status add_piece(const ft_program *p, const ft_piece *piece, double seconds,
                               double budget, double *filled) {
  struct ft_submissions *s = p->submissions;
  bool full = budget > 0.0 && *filled > 0.0 && *filled + seconds > budget;
  bool left = piece->first && piece->call && is_read_out(p, piece->call - 1);
  if (!s->count || full || left) {
    FT_TRY(FT_GROW(s->list, s->count, s->capacity));
    s->list[s->count++] = (ft_submission){.first = (uint32_t)s->piece_count};
    *filled = 0.0;
  }
  FT_TRY(FT_GROW(s->pieces, s->piece_count, s->piece_capacity));
  s->pieces[s->piece_count++] = *piece;
  s->list[s->count - 1].count++;
  *filled += seconds;
  return FILTRA_OK;
}

/* Cuts the calls into pieces and submissions, by the seconds of each call; NULL: by estimates. */
static filtra_status cut(ft_program *p, const double *seconds) {
  struct ft_submissions *s = p->submissions;
  const ft_constants *constants = ft_constants_of(ft_caps_of(p->device));
  double budget = ft_caps_of(p->device)->submission_seconds, filled = 0.0;
  s->piece_count = s->count = 0;
  for (size_t i = 0; i < p->plan->call_count; i++) {
    const ft_recorded_call *c = p->plan->calls[i].call;
    int axis = 0;
    double cost = seconds ? seconds[i] : estimate(constants, c);
    uint32_t pieces = budget > 0.0 ? pieces_of(p, i, cost, budget, &axis) : 1;
    for (uint32_t k = 0; k < pieces; k++) {
      ft_piece piece = {.call = (uint32_t)i, .first = k == 0, .last = k + 1 == pieces};
      for (int a = 0; a < 3; a++)
        piece.groups[a] = c->groups[a];
      uint64_t all = c->groups[axis];
      piece.base[axis] = (uint32_t)(all * k / pieces);
      piece.groups[axis] = (uint32_t)(all * (k + 1) / pieces) - piece.base[axis];
      FT_TRY(add_piece(p, &piece, cost / pieces, budget, &filled));
    }
  }
  return FILTRA_OK;
}

/* ---- recording ---- */

static void record_groups(const ft_program *p, ft_commands commands, const ft_piece *piece) {
  const ft_recorded_call *c = p->plan->calls[piece->call].call;
  uint8_t push[FT_PUSH_BYTES];
  memcpy(push, c->push, c->push_size);
  for (uint32_t i = 0; i < c->arg_count; i++) {
    uint64_t address = c->args[i].tensor ? ft_program_address(p, c->args[i].tensor) : 0;
    memcpy(push + i * sizeof address, &address, sizeof address);
  }
  ft_commands_dispatch(p->device, commands, p->pipelines[piece->call], push, c->push_size,
                       piece->base, piece->groups);
}

static void record_piece(ft_program *p, ft_commands commands, uint32_t index,
                         const ft_recording *how) {
  filtra_device *dev = p->device;
  const ft_piece *piece = &p->submissions->pieces[index];
  if (how->before && piece->first) how->before(p, commands, piece->call, how->context);
  if (how->apart)
    ft_commands_barrier(dev, commands, FT_STAGE_ALL, FT_STAGE_ALL);
  else if (p->plan->calls[piece->call].barrier && piece->first)
    ft_commands_barrier(dev, commands, FT_STAGE_COMPUTE, FT_STAGE_COMPUTE);
  if (how->timestamps) ft_commands_timestamp(dev, commands, how->timestamps, 2 * index);
  record_groups(p, commands, piece);
  if (how->timestamps) ft_commands_timestamp(dev, commands, how->timestamps, 2 * index + 1);
  if (how->after && piece->last) how->after(p, commands, piece->call, how->context);
}

static filtra_status record_one(ft_program *p, const ft_submission *one, const ft_recording *how,
                                ft_commands commands) {
  filtra_device *dev = p->device;
  FT_TRY(ft_commands_begin(dev, commands));
  if (how->timestamps)
    ft_commands_reset_timestamps(dev, commands, how->timestamps, 2 * one->first, 2 * one->count);
  for (uint32_t i = one->first; i < one->first + one->count; i++)
    record_piece(p, commands, i, how);
  return ft_commands_end(dev, commands);
}

static void free_commands(ft_program *p, ft_commands *commands) {
  if (commands) ft_commands_free(p->device, p->pool, (uint32_t)p->submissions->count, commands);
  free(commands);
}

/* Records a command buffer for each submission. */
static filtra_status record(ft_program *p, const ft_recording *how, ft_commands **out) {
  const struct ft_submissions *s = p->submissions;
  *out = NULL;
  if (!s->count) return FILTRA_OK;
  ft_commands *commands = ft_calloc(s->count, sizeof *commands);
  if (!commands) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_commands_new(p->device, &p->pool, (uint32_t)s->count, commands);
  if (status) {
    free(commands);
    return status;
  }
  for (size_t i = 0; i < s->count && !status; i++)
    status = record_one(p, &s->list[i], how, commands[i]);
  if (status)
    free_commands(p, commands);
  else
    *out = commands;
  return status;
}

/* ---- readouts ---- */

/* Records the readouts that follow a call; `after` of ft_recording. */
static void record_readouts(ft_program *p, ft_commands commands, uint32_t call, void *context) {
  (void)context;
  if (!is_read_out(p, call)) return;
  ft_commands_barrier(p->device, commands, FT_STAGE_COMPUTE, FT_STAGE_COPY);
  for (size_t i = 0; i < p->plan->tape->readout_count; i++) {
    const ft_readout *r = &p->plan->tape->readouts[i];
    if (p->plan->readouts[i] == call)
      ft_commands_copy(p->device, commands, r->from, r->from_offset, r->to, r->to_offset, r->bytes);
  }
  ft_commands_barrier(p->device, commands, FT_STAGE_COPY, FT_STAGE_HOST);
}

static const ft_recording STEP = {.after = record_readouts};

static void note_tickets(ft_program *p, const ft_submission *one, uint64_t ticket) {
  const ft_piece *pieces = p->submissions->pieces + one->first;
  for (size_t i = 0; i < p->plan->tape->readout_count; i++)
    if (p->plan->readouts[i] >= pieces[0].call &&
        p->plan->readouts[i] <= pieces[one->count - 1].call)
      p->readout_tickets[i] = ticket;
}

/* ---- the submissions of a program ---- */

filtra_status ft_submissions_create(ft_program *p) {
  const ft_caps *caps = ft_caps_of(p->device);
  p->submissions = ft_calloc(1, sizeof *p->submissions);
  if (!p->submissions) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(cut(p, NULL));
  p->submissions->measured =
      caps->submission_seconds <= 0.0 || caps->timestamp_ns <= 0.0 || !p->plan->call_count;
  return p->submissions->measured ? record(p, &STEP, &p->submissions->commands) : FILTRA_OK;
}

void ft_submissions_destroy(ft_program *p) {
  if (!p->submissions) return; /* the pool frees its command buffers */
  free(p->submissions->pieces);
  free(p->submissions->list);
  free(p->submissions->commands);
  free(p->submissions);
  p->submissions = NULL;
}

size_t ft_submissions_count(const ft_program *p) {
  return p->submissions->count;
}

/* ---- executing ---- */

/* Submits everything: uploads with the first job, downloads with the last, and the semaphores of
 * `run` before the first and after the last. */
static filtra_status submit_all(ft_program *p, const ft_slot *slot, const ft_commands *recorded,
                                const struct filtra_vulkan_run *run, uint64_t *ticket) {
  const struct ft_submissions *s = p->submissions;
  if (!s->count)
    return ft_submit_between(p->device, (ft_commands[]){slot->upload, slot->download}, 2, run, run,
                             ticket);
  for (size_t i = 0; i < s->count; i++) {
    ft_commands commands[3];
    uint32_t count = 0;
    const bool first = i == 0, last = i + 1 == s->count;
    if (first) commands[count++] = slot->upload;
    commands[count++] = recorded[i];
    if (last) commands[count++] = slot->download;
    FT_TRY(ft_submit_between(p->device, commands, count, first ? run : NULL, last ? run : NULL,
                             ticket));
    note_tickets(p, &s->list[i], recorded == s->commands ? *ticket : 0);
  }
  return FILTRA_OK;
}

filtra_status ft_replay(ft_program *p, const ft_slot *slot, const ft_recording *how,
                        uint64_t *ticket) {
  ft_commands *commands;
  FT_TRY(record(p, how, &commands));
  filtra_status status = submit_all(p, slot, commands, NULL, ticket);
  if (!status) status = ft_wait(p->device, *ticket);
  /* After a failure some jobs may still run, and nothing that they use may be freed. */
  if (status) ft_wait_whatever(p->device);
  free_commands(p, commands);
  return status;
}

/* Sums the pieces' times by call. */
static filtra_status read_times(ft_program *p, ft_timestamps stamps, double *seconds) {
  const struct ft_submissions *s = p->submissions;
  double *pieces = ft_calloc(s->piece_count, sizeof *pieces);
  if (!pieces) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_timestamps_read(p->device, stamps, (uint32_t)s->piece_count, pieces);
  for (size_t i = 0; i < s->piece_count && !status; i++)
    seconds[s->pieces[i].call] += pieces[i];
  free(pieces);
  return status;
}

/* *ran: whether the execution completed, even if a later step failed. */
static filtra_status replay_timed(ft_program *p, const ft_slot *slot, double *seconds,
                                  uint64_t *ticket, bool *ran) {
  ft_timestamps stamps = NULL;
  FT_TRY(ft_timestamps_create(p->device, 2 * (uint32_t)p->submissions->piece_count, &stamps));
  filtra_status status =
      ft_replay(p, slot, &(ft_recording){.apart = true, .timestamps = stamps}, ticket);
  *ran = !status;
  if (!status) status = read_times(p, stamps, seconds);
  ft_timestamps_destroy(p->device, stamps);
  return status;
}

filtra_status ft_replay_timed(ft_program *p, const ft_slot *slot, double *seconds,
                              uint64_t *ticket) {
  bool ran;
  return replay_timed(p, slot, seconds, ticket, &ran);
}

/* Frees the commands that were recorded for executions before the measured one. */
static filtra_status drop_recorded(ft_program *p) {
  if (!p->submissions->commands) return FILTRA_OK;
  FT_TRY(ft_wait_idle(p->device));
  free_commands(p, p->submissions->commands);
  p->submissions->commands = NULL;
  return FILTRA_OK;
}

/* Executes once with timestamps, and cuts the calls into submissions again by the measured times. A
 * failure after the execution is no error: the next execution is measured instead. */
static filtra_status measure(ft_program *p, ft_slot *slot) {
  FT_TRY(drop_recorded(p));
  bool ran = false;
  double *seconds = ft_calloc(p->plan->call_count, sizeof *seconds);
  filtra_status status =
      seconds ? replay_timed(p, slot, seconds, &slot->ticket, &ran) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = cut(p, seconds);
  if (!status) status = record(p, &STEP, &p->submissions->commands);
  p->submissions->measured = !status;
  free(seconds);
  return status && ran ? cut(p, NULL) : status;
}

filtra_status ft_submit_run(ft_program *p, ft_slot *slot, const struct filtra_vulkan_run *run,
                            bool waits) {
  struct ft_submissions *s = p->submissions;
  /* Not on an application's queue, unless the caller waits: earlier work there may depend on what
   * the application does after this call. */
  if (!s->measured && (waits || !ft_is_adopted(p->device))) return measure(p, slot);
  if (!s->commands) FT_TRY(record(p, &STEP, &s->commands));
  return submit_all(p, slot, s->commands, run, &slot->ticket);
}
