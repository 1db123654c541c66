/* Barriers: a stretch of the schedule waits for those before it if one of its calls touches bytes
 * that a call since the last barrier wrote, or writes bytes that one read. Ranges are physical, so
 * tensors that share bytes through the memory plan are ordered as well; within a stretch none do,
 * since the plan lets what a stretch touches live through all of it. */
#include "graph/internal.h"

#include <stdlib.h>

static ft_access make_access(const ft_arg *arg) {
  const ft_storage *s = arg->tensor->storage;
  ft_access a = {s, ft_tensor_span(arg->tensor), arg->mode & FT_ACCESS_WRITE};
  a.span.low += s->offset;
  a.span.high += s->offset;
  return a;
}

/* Before memory is planned, only storages of parameters and the like have a buffer. */
static bool share_buffer(const ft_storage *a, const ft_storage *b) {
  return a == b || (a->buffer && a->buffer == b->buffer);
}

static bool share_bytes(const ft_span *a, const ft_span *b) {
  if (a->high <= b->low || b->high <= a->low) return false;
  if (!a->period || a->period != b->period) return true;
  /* Windows of one period: pieces of a packed tensor lie side by side. */
  uint64_t from_a = (b->low % a->period + a->period - a->low % a->period) % a->period;
  return !(from_a >= a->window && from_a + b->window <= a->period);
}

static bool conflicts(const ft_accesses *all, const ft_access *a) {
  for (size_t i = 0; i < all->count; i++) {
    const ft_access *o = &all->list[i];
    if ((o->write || a->write) && share_buffer(o->storage, a->storage) &&
        share_bytes(&o->span, &a->span))
      return true;
  }
  return false;
}

bool ft_accesses_conflict(const ft_accesses *all, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    if (!c->args[k].tensor) continue;
    const ft_access a = make_access(&c->args[k]);
    if (conflicts(all, &a)) return true;
  }
  return false;
}

filtra_status ft_accesses_add(ft_accesses *all, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    if (!c->args[k].tensor) continue;
    FT_TRY(FT_GROW(all->list, all->count, all->capacity));
    all->list[all->count++] = make_access(&c->args[k]);
  }
  return FILTRA_OK;
}

filtra_status ft_plan_barriers(filtra_graph *g) {
  ft_accesses pending = {0};
  filtra_status status = FILTRA_OK;
  for (size_t i = 0, end; i < g->call_count && !status; i = end) {
    ft_recorded_call *first = &g->calls[i];
    first->barrier = false;
    for (end = i; end < g->call_count && g->calls[end].stretch == first->stretch; end++)
      first->barrier = first->barrier || ft_accesses_conflict(&pending, &g->calls[end]);
    if (first->barrier) pending.count = 0;
    for (size_t k = i; k < end && !status; k++)
      status = ft_accesses_add(&pending, &g->calls[k]);
  }
  free(pending.list);
  return status;
}
