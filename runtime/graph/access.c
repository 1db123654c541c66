/* The bytes that calls access, and whether two accesses conflict: they share a byte, and one of
 * them writes. Used by the schedule and the barriers. */
#include "graph/plan.h"

#include <string.h>

ft_place ft_place_of(const ft_plan *plan, const filtra_tensor *t) {
  return plan->storages[t->storage->number].place;
}

ft_span ft_plan_span(const ft_plan *plan, const filtra_tensor *t) {
  ft_span span = ft_tensor_span(t);
  const uint64_t offset = plan->storages[t->storage->number].place.offset;
  span.low += offset;
  span.high += offset;
  return span;
}

bool ft_same_memory(const ft_place *a, const ft_place *b) {
  return a->buffer ? a->buffer == b->buffer : !b->buffer && a->block == b->block;
}

static bool share_bytes(const ft_span *a, const ft_span *b) {
  if (a->high <= b->low || b->high <= a->low) return false;
  if (!a->period || a->period != b->period) return true;
  /* Windows with the same period: chunks of a packed tensor lie side by side. */
  uint64_t from_a = (b->low % a->period + a->period - a->low % a->period) % a->period;
  return !(from_a >= a->window && from_a + b->window <= a->period);
}

static ft_access access_of(const ft_plan *plan, const ft_arg *arg) {
  return (ft_access){.place = ft_place_of(plan, arg->tensor),
                     .span = ft_plan_span(plan, arg->tensor),
                     .write = arg->mode & FT_ACCESS_WRITE};
}

static bool conflicts(const ft_accesses *all, const ft_access *a) {
  for (size_t i = 0; i < all->count; i++) {
    const ft_access *o = &all->list[i];
    if ((o->write || a->write) && ft_same_memory(&o->place, &a->place) &&
        share_bytes(&o->span, &a->span))
      return true;
  }
  return false;
}

bool ft_accesses_conflict(const ft_plan *plan, const ft_accesses *all, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    if (!c->args[k].tensor) continue;
    const ft_access a = access_of(plan, &c->args[k]);
    if (conflicts(all, &a)) return true;
  }
  return false;
}

filtra_status ft_accesses_add(const ft_plan *plan, ft_accesses *all, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    if (!c->args[k].tensor) continue;
    FT_TRY(FT_GROW(all->list, all->count, all->capacity));
    all->list[all->count++] = access_of(plan, &c->args[k]);
  }
  return FILTRA_OK;
}
