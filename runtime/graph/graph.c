/* Graphs from creation to destruction: recorded by graph/record.c and ops/, compiled here into a
 * plan and a program, executed by graph/execute.c. */
#include "graph/arena.h"
#include "graph/kept.h"
#include "graph/outside.h"
#include "graph/program.h"

#include <stdlib.h>

filtra_status filtra_graph_create(filtra_device *device, const filtra_graph_options *options,
                                  filtra_graph **out) {
  static const filtra_graph_options defaults;
  if (!options) options = &defaults;
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  FT_TRY(FT_CHECK_RESERVED(filtra_graph_options, options));
  if (options->slots > FT_MAX_SLOTS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "graph: %u slots, accepted are 0 to %d", options->slots,
                   FT_MAX_SLOTS);
  if (options->arena && options->arena->device != device)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "graph: the arena is another device's");
  filtra_graph *g = ft_calloc(1, sizeof *g);
  if (!g) return FILTRA_ERROR_HOST_MEMORY;
  g->device = device;
  ft_device_hold(device);
  g->training = options->training;
  g->tape.fuses = ft_caps_of(device)->fuses;
  g->tape.uniform_lanes = ft_uniform_lanes(ft_caps_of(device));
  g->slot_count = options->slots ? options->slots : 3;
  g->arena = options->arena;
  if (g->arena) ft_graph_hold(g, &g->arena->users);
  const filtra_status status = ft_graph_status(g);
  if (status) filtra_graph_destroy(&g);
  *out = g;
  return status;
}

static void free_tape(struct ft_tape *tape) {
  free(tape->calls);
  free(tape->ops);
  free(tape->storages);
  free(tape->segments);
  free(tape->substitutes);
  free(tape->inputs);
  free(tape->outputs);
}

void filtra_graph_destroy(filtra_graph **graph) {
  if (!graph || !*graph) return;
  filtra_graph *g = *graph;
  ft_program_destroy(&g->program);
  ft_plan_destroy(&g->plan);
  filtra_arena_destroy(&g->own_arena);
  ft_outside_free(g);
  for (const ft_hold *h = g->holds; h; h = h->next)
    --*h->users;
  ft_device_release(g->device);
  free_tape(&g->tape);
  ft_graph_free_memory(g);
  free(g);
  *graph = NULL;
}

/* ---- compiling ---- */

static filtra_status make_plan(filtra_graph *g, ft_plan **plan) {
  FT_TRY(ft_tape_share(&g->tape));
  return ft_plan_make(&g->tape, ft_buffer_limit(g->device), plan);
}

static filtra_status check_committed(const filtra_graph *g) {
  if (!g->tape.params || g->tape.params->committed) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "compile: commit the graph's parameters first (filtra_parameters_commit)");
}

static filtra_status make_program(filtra_graph *g) {
  filtra_arena *arena = g->arena ? g->arena : g->own_arena;
  return ft_program_create(g->device, g->plan, arena, g->slot_count, &g->program);
}

/* A failure leaves the graph unchanged, so that it can be compiled again. */
filtra_status filtra_graph_compile(filtra_graph *g) {
  FT_NEED(g);
  if (g->program) return ft_fail(FILTRA_ERROR_ARGUMENT, "compile: the graph is compiled already");
  FT_TRY(ft_graph_status(g));
  FT_TRY(check_committed(g));
  filtra_status status = make_plan(g, &g->plan);
  if (!status && !g->arena) status = filtra_arena_create(g->device, &g->own_arena);
  if (!status && g->tape.keeps && !ft_compiles_only(g->device))
    status = ft_kept_refresh(g->tape.params);
  if (!status) status = make_program(g);
  if (!status) return FILTRA_OK;
  filtra_arena_destroy(&g->own_arena);
  ft_plan_destroy(&g->plan);
  return status;
}

filtra_status ft_graph_measure(filtra_graph *g, uint64_t *activations, uint64_t *transfers) {
  ft_plan *plan;
  FT_TRY(ft_graph_status(g));
  FT_TRY(make_plan(g, &plan));
  *activations = ft_buffer_extent(plan->bytes);
  *transfers = g->slot_count * ft_program_transfers(&g->tape);
  ft_plan_destroy(&plan);
  return FILTRA_OK;
}

filtra_status ft_graph_check(const filtra_graph *g) {
  if (!g->plan) return ft_fail(FILTRA_ERROR_ARGUMENT, "check: compile the graph first");
  return ft_plan_check(g->plan);
}

uint64_t filtra_graph_activation_bytes(const filtra_graph *g) {
  return g && g->plan ? g->plan->bytes : 0;
}

ft_work ft_graph_work(const filtra_graph *g) {
  ft_work sum = {0};
  for (size_t i = 0; i < g->tape.call_count; i++) {
    const ft_recorded_call *c = &g->tape.calls[i];
    sum.flops += c->flops;
    sum.bytes += c->bytes;
    if (!c->key.module && ft_kernel_on_matrices(c->key.kernel)) sum.matrix_flops += c->flops;
  }
  return sum;
}
