/* Makes a plan from a tape: resolves places outside the arena, orders the calls, places the arena's
 * storages, sets barriers, and finds after which call each readout's bytes are final. Called by
 * graph/graph.c to compile and to measure. */
#include "graph/plan.h"

#include "graph/parameters.h"

#include <stdlib.h>

/* ---- parameters ---- */

/* Fails if a call accesses F32 values of a parameter that exists in 16 bits only. */
static filtra_status check_values(const struct ft_tape *tape) {
  for (size_t i = 0; i < tape->call_count; i++)
    for (uint32_t k = 0; k < tape->calls[i].arg_count; k++) {
      const filtra_tensor *t = tape->calls[i].args[k].tensor;
      if (!t || t->storage->home != FT_HOME_VALUES) continue;
      const ft_parameter *p = &tape->params->list[t->storage->parameter];
      if (ft_parameter_is_narrow(tape->params, p))
        return ft_fail(FILTRA_ERROR_ARGUMENT,
                       "compile: %s reads parameter %s, which is there in %s alone; "
                       "filtra_graph_parameter_copy has it",
                       tape->calls[i].label, p->name, filtra_dtype_name(p->options.copy));
    }
  return FILTRA_OK;
}

/* Checks the tape's parameters. They are laid out when they are committed; a plan that only
 * measures lays them out earlier. */
static filtra_status check_parameters(const struct ft_tape *tape) {
  filtra_parameters *params = tape->params;
  if (!params) return FILTRA_OK;
  if (!params->committed) ft_parameters_lay_out(params);
  if (params->narrow) FT_TRY(check_values(tape));
  if (tape->phase != FT_DIFFERENTIATED) return FILTRA_OK;
  if (params->committed && !params->trainable)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "compile: the graph has a backward pass, and the parameters were committed "
                   "without gradients (trainable false)");
  if (params->count > tape->cleared)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "compile: parameter %s was declared after this graph's backward pass was "
                   "recorded, which must set its gradient to zero; declare it earlier",
                   params->list[tape->cleared].name);
  return FILTRA_OK;
}

static ft_place resolve(const struct ft_tape *tape, const ft_storage *s) {
  const filtra_parameters *params = tape->params;
  const ft_parameter *p = params ? &params->list[s->parameter] : NULL;
  switch (s->home) {
  case FT_HOME_ARENA:
    break;
  case FT_HOME_BUFFER:
    return (ft_place){.buffer = s->buffer, .offset = s->offset};
  case FT_HOME_VALUES:
    return (ft_place){.buffer = &params->values, .offset = p->offset};
  case FT_HOME_COPIES:
    return (ft_place){.buffer = &params->copies, .offset = p->copy_offset};
  case FT_HOME_GRADIENTS:
    return (ft_place){.buffer = &params->gradients, .offset = p->offset};
  }
  return (ft_place){.block = s->number};
}

/* ---- readouts ---- */

static bool writes_to(const ft_plan *plan, const ft_recorded_call *c, const ft_readout *r) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    const filtra_tensor *t = c->args[k].tensor;
    if (!t || !(c->args[k].mode & FT_ACCESS_WRITE)) continue;
    const ft_span span = ft_plan_span(plan, t);
    if (ft_place_of(plan, t).buffer == r->from && span.low < r->from_offset + r->bytes &&
        span.high > r->from_offset)
      return true;
  }
  return false;
}

/* Finds the call after which each readout is final; not before the readout listed before it, so
 * that they arrive in order. */
static void find_readouts(ft_plan *plan) {
  const struct ft_tape *tape = plan->tape;
  uint32_t last = 0;
  for (size_t i = 0; i < tape->readout_count; i++) {
    for (uint32_t call = last; call < plan->call_count; call++)
      if (writes_to(plan, plan->calls[call].call, &tape->readouts[i])) last = call;
    plan->readouts[i] = last;
  }
}

/* ---- the plan ---- */

static filtra_status fill(ft_plan *plan, uint64_t block_limit) {
  FT_TRY(check_parameters(plan->tape));
  for (size_t i = 0; i < plan->tape->storage_count; i++)
    plan->storages[i].place = resolve(plan->tape, plan->tape->storages[i]);
  FT_TRY(ft_plan_fuse(plan));
  FT_TRY(ft_plan_join_sums(plan));
  FT_TRY(ft_plan_order(plan));
  FT_TRY(ft_plan_memory(plan, block_limit));
  FT_TRY(ft_plan_barriers(plan));
  find_readouts(plan);
  return FILTRA_OK;
}

filtra_status ft_plan_make(const struct ft_tape *tape, uint64_t block_limit, ft_plan **out) {
  ft_plan *plan = *out = ft_calloc(1, sizeof *plan);
  if (!plan) return FILTRA_ERROR_HOST_MEMORY;
  plan->tape = tape;
  plan->calls = ft_calloc(tape->call_count + 1, sizeof *plan->calls);
  plan->tasks = ft_calloc(tape->call_count + 1, sizeof *plan->tasks);
  plan->storages = ft_calloc(tape->storage_count + 1, sizeof *plan->storages);
  plan->readouts = ft_calloc(tape->readout_count + 1, sizeof *plan->readouts);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  if (plan->calls && plan->tasks && plan->storages && plan->readouts)
    status = fill(plan, block_limit);
  if (status) ft_plan_destroy(out);
  return status;
}

void ft_plan_destroy(ft_plan **plan) {
  if (!*plan) return;
  free((*plan)->calls);
  free((*plan)->tasks);
  free((*plan)->fused);
  free((*plan)->sums);
  free((*plan)->storages);
  free((*plan)->blocks);
  free((*plan)->readouts);
  free(*plan);
  *plan = NULL;
}
