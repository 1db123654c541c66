/* Proves a plan by simulating its calls word by word. Uses neither the planner's lives nor the byte
 * ranges of schedule and barriers. For each word it records which storage's data it holds, between
 * which barriers it was last read and written, and by which calls of the tape: calls that access
 * the same word of a tensor must keep the tape's order. Called by tests for every graph, through
 * ft_graph_check. */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct word_state {
  uint32_t content;             /* storage number + 1; 0: no data */
  uint32_t written_in, read_in; /* number of barriers before the access, from 1 on; 0: never */
  /* Latest position on the tape, from 1 on, that accessed this content. */
  uint32_t written_by, read_by;
} word_state;

/** The words of a buffer or of a block of the arena. */
typedef struct memory_map {
  ft_place place;
  word_state *words;
} memory_map;

typedef struct simulation {
  const ft_plan *plan;
  memory_map *maps;
  size_t map_count, map_capacity;
  uint64_t word; /* bytes; 2 if a tensor has 16-bit elements, which kernels write one by one */
  uint32_t barriers, position; /* of the current call; position 0: a copy from or to the host */
} simulation;

static filtra_status words_of(simulation *sim, const ft_place *place, word_state **out) {
  for (size_t i = 0; i < sim->map_count; i++) {
    if (!ft_same_memory(&sim->maps[i].place, place)) continue;
    *out = sim->maps[i].words;
    return FILTRA_OK;
  }
  FT_TRY(FT_GROW(sim->maps, sim->map_count, sim->map_capacity));
  const uint64_t bytes = place->buffer ? place->buffer->size : sim->plan->blocks[place->block];
  *out = ft_calloc(bytes / sim->word + 1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  sim->maps[sim->map_count++] = (memory_map){*place, *out};
  return FILTRA_OK;
}

static filtra_status touch_word(const simulation *sim, word_state *w, uint32_t content,
                                bool in_arena, int mode, const char *label, const char *name) {
  bool write = mode & FT_ACCESS_WRITE;
  if (w->written_in == sim->barriers || (write && w->read_in == sim->barriers))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s touches %s without a barrier after its %s",
                   label, name, w->written_in == sim->barriers ? "writer" : "reader");
  /* In the arena, bytes pass from one tensor to another in any order. */
  if ((!in_arena || w->content == content) && sim->position &&
      (sim->position < w->written_by || (write && sim->position < w->read_by)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s touches %s out of the tape's order", label,
                   name);
  if ((mode & FT_ACCESS_READ) && in_arena && w->content != content)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s reads %s, whose bytes were %s", label, name,
                   w->content ? "overwritten" : "never written");
  return FILTRA_OK;
}

static void commit_word(const simulation *sim, word_state *w, uint32_t content, int mode) {
  if (mode & FT_ACCESS_READ) {
    w->read_in = sim->barriers;
    if (sim->position > w->read_by) w->read_by = sim->position;
  }
  if (!(mode & FT_ACCESS_WRITE)) return;
  if (w->content != content) w->read_by = 0;
  w->written_in = sim->barriers;
  w->written_by = sim->position;
  w->content = content;
}

/* Visits every element: checks the access or, if `commit`, records it. */
static filtra_status visit(simulation *sim, const filtra_tensor *t, int mode, const char *label,
                           bool commit) {
  word_state *words;
  const ft_storage *s = t->storage;
  const ft_place place = ft_place_of(sim->plan, t);
  FT_TRY(words_of(sim, &place, &words));
  const uint64_t size = filtra_dtype_bytes(s->dtype);
  const uint64_t begin = place.offset + (uint64_t)t->offset * size;
  const uint32_t content = s->number + 1;
  int64_t shape[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  for (int i = 0; i < t->ndim; i++) {
    shape[i] = t->shape[i];
    stride[i] = t->stride[i];
  }
  for (int64_t a = 0; a < shape[0]; a++)
    for (int64_t b = 0; b < shape[1]; b++)
      for (int64_t c = 0; c < shape[2]; c++)
        for (int64_t d = 0; d < shape[3]; d++) {
          int64_t at = a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
          word_state *w = words + (begin + (uint64_t)at * size) / sim->word;
          for (uint64_t i = 0; i < size / sim->word; i++, w++)
            if (commit)
              commit_word(sim, w, content, mode);
            else
              FT_TRY(touch_word(sim, w, content, s->home == FT_HOME_ARENA, mode, label, t->name));
        }
  return FILTRA_OK;
}

static filtra_status visit_call(simulation *sim, const ft_planned_call *planned) {
  const ft_recorded_call *c = planned->call;
  if (planned->barrier) sim->barriers++;
  sim->position = planned->position + 1;
  for (int commit = 0; commit < 2; commit++)
    for (uint32_t k = 0; k < c->arg_count; k++)
      if (c->args[k].tensor)
        FT_TRY(visit(sim, c->args[k].tensor, (int)c->args[k].mode, c->label, commit));
  return FILTRA_OK;
}

static filtra_status simulate(simulation *sim) {
  const struct ft_tape *tape = sim->plan->tape;
  sim->barriers = 1;
  for (size_t i = 0; i < tape->input_count; i++)
    FT_TRY(visit(sim, tape->inputs[i].tensor, FT_ACCESS_WRITE, "upload", true));
  sim->barriers++;
  for (size_t i = 0; i < sim->plan->call_count; i++)
    FT_TRY(visit_call(sim, &sim->plan->calls[i]));
  sim->barriers++;
  sim->position = 0;
  for (size_t i = 0; i < tape->output_count; i++)
    FT_TRY(visit(sim, tape->outputs[i].tensor, FT_ACCESS_READ, "download", false));
  return FILTRA_OK;
}

filtra_status ft_plan_check(const ft_plan *plan) {
  simulation sim = {.plan = plan, .word = 4};
  for (size_t i = 0; i < plan->tape->storage_count; i++)
    if (filtra_dtype_bytes(plan->tape->storages[i]->dtype) == 2) sim.word = 2;
  filtra_status status = simulate(&sim);
  for (size_t i = 0; i < sim.map_count; i++)
    free(sim.maps[i].words);
  free(sim.maps);
  return status;
}
