/* The order of calls, and their intervals: barriers can only be between intervals. A device
 * overlaps the calls between two barriers, and a small call alone there leaves most of a GPU idle.
 * So each interval takes, among the next calls on the tape, all that are independent of one
 * another; if a small call is still alone, a call from an earlier interval joins it. Calls that
 * access the same bytes, one of them writing, keep their order, so results have the same bits as in
 * the tape's order. The third step of ft_plan_make. */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = 16, /* calls that an interval considers; more would lengthen tensors' lives */
  FEW = 64     /* fewer workgroups than this leave most of a GPU idle */
};

static bool is_small(const ft_recorded_call *c) {
  return (uint64_t)c->groups[0] * c->groups[1] * c->groups[2] < FEW;
}

/* Fills intervals one after the other. An interval holds either recomputed calls or other calls, so
 * that nothing is recomputed earlier than needed. */
static filtra_status fill_intervals(ft_plan *plan, bool *taken, ft_accesses *seen) {
  size_t first = 0, count = 0;
  for (uint32_t interval = 0; count < plan->call_count; interval++) {
    seen->count = 0; /* accesses of the calls that this interval took or passed over */
    while (taken[first])
      first++;
    for (size_t i = first; i < plan->call_count && i < first + WINDOW; i++) {
      const ft_recorded_call *c = plan->tasks[i];
      if (c->recomputes != plan->tasks[first]->recomputes) break;
      if (taken[i]) continue;
      taken[i] = !ft_accesses_conflict(plan, seen, c);
      if (taken[i])
        plan->calls[count++] =
            (ft_planned_call){.call = c, .position = (uint32_t)i, .interval = interval};
      FT_TRY(ft_accesses_add(plan, seen, c));
    }
  }
  return FILTRA_OK;
}

static bool is_alone(const ft_planned_call *calls, size_t count, size_t i) {
  return (i == 0 || calls[i - 1].interval != calls[i].interval) &&
         (i + 1 == count || calls[i + 1].interval != calls[i].interval);
}

/* Moves the nearest earlier call that can be made later into the interval of calls[i]. */
static filtra_status add_company(ft_plan *plan, size_t i, ft_accesses *between) {
  ft_planned_call *calls = plan->calls;
  between->count = 0; /* accesses of calls[i] and of the calls that cannot move */
  FT_TRY(ft_accesses_add(plan, between, calls[i].call));
  for (size_t k = i; k > 0 && k + WINDOW > i;) {
    ft_planned_call waits = calls[--k];
    if (ft_accesses_conflict(plan, between, waits.call)) {
      FT_TRY(ft_accesses_add(plan, between, waits.call));
      continue;
    }
    memmove(calls + k, calls + k + 1, (i - 1 - k) * sizeof *calls);
    waits.interval = calls[i].interval;
    calls[i - 1] = waits;
    break;
  }
  return FILTRA_OK;
}

/* From the last call to the first, so that a small call left alone by a move is joined in turn. */
static filtra_status join_small_calls(ft_plan *plan, ft_accesses *between) {
  for (size_t i = plan->call_count; i-- > 0;)
    if (is_small(plan->calls[i].call) && is_alone(plan->calls, plan->call_count, i))
      FT_TRY(add_company(plan, i, between));
  return FILTRA_OK;
}

filtra_status ft_plan_order(ft_plan *plan) {
  bool *taken = ft_calloc(plan->call_count + 1, sizeof *taken);
  ft_accesses list = {0};
  filtra_status status = taken ? fill_intervals(plan, taken, &list) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = join_small_calls(plan, &list);
  free(list.list);
  free(taken);
  return status;
}
