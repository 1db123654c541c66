/* Proof of a compiled plan, by simulation word by word: it shares neither the planner's lifetimes
 * nor the ranges that schedule and barriers go by. Every word remembers which tensor's data it
 * holds, in which stretch between barriers it was last read and written, and by which calls of the
 * tape, whose order must hold among those that touch one tensor's word. */
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct word_state {
  uint32_t content;             /* storage number + 1; 0: nobody's */
  uint32_t written_in, read_in; /* stretch number; 0: never */
  uint32_t written_by,
      read_by; /* the latest place on the tape, from 1 on, since content is there */
} word_state;

typedef struct memory_map {
  const ft_buffer *buffer;
  word_state *words;
} memory_map;

typedef struct simulation {
  filtra_graph *g;
  memory_map *maps;
  size_t map_count, map_capacity;
  uint64_t word; /* bytes; 2 where tensors have 16-bit elements, which kernels write one by one */
  uint32_t stretch, place; /* of the call at hand; place 0: a copy from or to the host */
} simulation;

static filtra_status words_of(simulation *sim, const ft_buffer *buffer, word_state **out) {
  for (size_t i = 0; i < sim->map_count; i++) {
    if (sim->maps[i].buffer != buffer) continue;
    *out = sim->maps[i].words;
    return FILTRA_OK;
  }
  FT_TRY(FT_GROW(sim->maps, sim->map_count, sim->map_capacity));
  *out = ft_calloc(buffer->size / sim->word + 1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  sim->maps[sim->map_count++] = (memory_map){buffer, *out};
  return FILTRA_OK;
}

static uint32_t content_of(const simulation *sim, const ft_storage *s) {
  for (size_t i = 0; i < sim->g->storage_count; i++)
    if (sim->g->storages[i] == s) return (uint32_t)i + 1;
  return 0;
}

static filtra_status touch_word(const simulation *sim, word_state *w, uint32_t content,
                                bool planned, int mode, const char *label, const char *name) {
  bool write = mode & FT_ACCESS_WRITE;
  if (w->written_in == sim->stretch || (write && w->read_in == sim->stretch))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s touches %s without a barrier after its %s",
                   label, name, w->written_in == sim->stretch ? "writer" : "reader");
  /* Places in the arena pass from one tensor to another in any order. */
  if ((!planned || w->content == content) && sim->place &&
      (sim->place < w->written_by || (write && sim->place < w->read_by)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s touches %s out of the tape's order", label,
                   name);
  if ((mode & FT_ACCESS_READ) && planned && w->content != content)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "hazard: %s reads %s, whose bytes were %s", label, name,
                   w->content ? "overwritten" : "never written");
  return FILTRA_OK;
}

static void commit_word(const simulation *sim, word_state *w, uint32_t content, int mode) {
  if (mode & FT_ACCESS_READ) {
    w->read_in = sim->stretch;
    if (sim->place > w->read_by) w->read_by = sim->place;
  }
  if (!(mode & FT_ACCESS_WRITE)) return;
  if (w->content != content) w->read_by = 0;
  w->written_in = sim->stretch;
  w->written_by = sim->place;
  w->content = content;
}

/* Visits every element; with `commit` false checks it, with true notes the access. */
static filtra_status visit(simulation *sim, const filtra_tensor *t, int mode, const char *label,
                           bool commit) {
  word_state *words;
  FT_TRY(words_of(sim, t->storage->buffer, &words));
  const uint64_t size = filtra_dtype_bytes(t->storage->dtype);
  const uint64_t begin = t->storage->offset + (uint64_t)t->offset * size;
  uint32_t content = content_of(sim, t->storage);
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
              FT_TRY(touch_word(sim, w, content, t->storage->planned, mode, label, t->name));
        }
  return FILTRA_OK;
}

static filtra_status simulate(simulation *sim) {
  filtra_graph *g = sim->g;
  sim->stretch = 1;
  for (size_t i = 0; i < g->input_count; i++)
    FT_TRY(visit(sim, g->inputs[i].tensor, FT_ACCESS_WRITE, "upload", true));
  sim->stretch++;
  for (size_t i = 0; i < g->call_count; i++) {
    const ft_recorded_call *c = &g->calls[i];
    if (c->barrier) sim->stretch++;
    sim->place = c->place + 1;
    for (int commit = 0; commit < 2; commit++)
      for (uint32_t k = 0; k < c->arg_count; k++)
        if (c->args[k].tensor)
          FT_TRY(visit(sim, c->args[k].tensor, (int)c->args[k].mode, c->label, commit));
  }
  sim->stretch++;
  sim->place = 0;
  for (size_t i = 0; i < g->output_count; i++)
    FT_TRY(visit(sim, g->outputs[i].tensor, FT_ACCESS_READ, "download", false));
  return FILTRA_OK;
}

filtra_status ft_graph_check(filtra_graph *g) {
  if (!g->compiled) return ft_fail(FILTRA_ERROR_ARGUMENT, "check: compile the graph first");
  simulation sim = {.g = g, .word = 4};
  for (size_t i = 0; i < g->storage_count; i++)
    if (filtra_dtype_bytes(g->storages[i]->dtype) == 2) sim.word = 2;
  filtra_status status = simulate(&sim);
  for (size_t i = 0; i < sim.map_count; i++)
    free(sim.maps[i].words);
  free(sim.maps);
  return status;
}
