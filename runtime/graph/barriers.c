/* Barriers: an interval waits for earlier ones if one of its calls accesses bytes that a call since
 * the last barrier has written, or writes bytes that one has read. Bytes are physical: tensors that
 * the memory plan gives the same bytes are ordered as well. Within an interval no two tensors share
 * bytes, since all storages that it accesses live through all of it. The last step of ft_plan_make.
 */
#include "graph/plan.h"

#include <stdlib.h>

static size_t interval_end(const ft_plan *plan, size_t begin) {
  size_t end = begin;
  while (end < plan->call_count && plan->calls[end].interval == plan->calls[begin].interval)
    end++;
  return end;
}

filtra_status ft_plan_barriers(ft_plan *plan) {
  ft_accesses pending = {0}; /* since the last barrier */
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < plan->call_count && !status;) {
    ft_planned_call *first = &plan->calls[i];
    const size_t end = interval_end(plan, i);
    for (size_t k = i; k < end && !first->barrier; k++)
      first->barrier = ft_accesses_conflict(plan, &pending, plan->calls[k].call);
    if (first->barrier) pending.count = 0;
    for (; i < end && !status; i++)
      status = ft_accesses_add(plan, &pending, plan->calls[i].call);
  }
  free(pending.list);
  return status;
}
