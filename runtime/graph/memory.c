/* Lives of storages, and their places in the arena: two storages that live at the same time share
 * no bytes. Greedy by size (Pisarchyk & Lee 2020, "Efficient memory management for deep neural net
 * inference", section 5): the largest first, each at the lowest offset that is free during its
 * whole life. The second step of ft_plan_make, after the order of calls is known. */
#include "graph/plan.h"

#include <stdlib.h>

static const uint64_t TENSOR_ALIGN = 256;

/* ---- lives ---- */

static void touch(ft_planned_storage *s, int32_t interval, bool recomputed) {
  if (s->life.first < 0) s->life.first = interval;
  if (recomputed && s->second.first < 0) s->second.first = interval;
  if (s->second.first < 0)
    s->life.last = interval;
  else
    s->second.last = interval;
}

static void find_lives(ft_plan *plan) {
  const struct ft_tape *tape = plan->tape;
  for (size_t i = 0; i < tape->storage_count; i++)
    plan->storages[i].life = plan->storages[i].second = (ft_life){-1, -1};
  for (size_t i = 0; i < plan->call_count; i++) {
    const ft_recorded_call *c = plan->calls[i].call;
    for (uint32_t k = 0; k < c->arg_count; k++) {
      if (!c->args[k].tensor) continue;
      const ft_storage *s = c->args[k].tensor->storage;
      touch(&plan->storages[s->number], (int32_t)plan->calls[i].interval,
            c->recomputes && s->recomputed && (c->args[k].mode & FT_ACCESS_WRITE));
    }
  }
  /* Inputs are written before the first call, outputs read after the last. */
  for (size_t i = 0; i < tape->input_count; i++) {
    ft_life *life = &plan->storages[tape->inputs[i].tensor->storage->number].life;
    life->first = 0;
    if (life->last < 0) life->last = 0;
  }
  for (size_t i = 0; i < tape->storage_count; i++) {
    ft_life *life = &plan->storages[i].life;
    if (!tape->storages[i]->pinned) continue;
    if (life->first < 0) life->first = 0;
    life->last = (int32_t)plan->call_count;
  }
}

bool ft_life_begins(const ft_plan *plan, size_t index, const ft_storage *s) {
  const ft_planned_storage *planned = &plan->storages[s->number];
  const uint32_t interval = plan->calls[index].interval;
  if (s->home != FT_HOME_ARENA || (index && plan->calls[index - 1].interval == interval))
    return false;
  for (size_t i = 0; i < plan->tape->input_count; i++)
    if (plan->tape->inputs[i].tensor->storage == s) return false;
  return planned->life.first == (int32_t)interval || planned->second.first == (int32_t)interval;
}

static bool overlap(const ft_life *a, const ft_life *b) {
  return a->first >= 0 && b->first >= 0 && a->first <= b->last && b->first <= a->last;
}

static bool live_together(const ft_planned_storage *a, const ft_planned_storage *b) {
  return overlap(&a->life, &b->life) || overlap(&a->second, &b->life) ||
         overlap(&a->life, &b->second) || overlap(&a->second, &b->second);
}

/* ---- places ---- */

/** A storage to be placed. */
typedef struct candidate {
  const ft_storage *storage;
  ft_planned_storage *planned;
} candidate;

static int larger_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->storage->bytes != y->storage->bytes) return x->storage->bytes < y->storage->bytes ? 1 : -1;
  const int32_t first_x = x->planned->life.first, first_y = y->planned->life.first;
  if (first_x != first_y) return first_x < first_y ? -1 : 1;
  return (x->storage->number > y->storage->number) - (x->storage->number < y->storage->number);
}

/** The storages placed in one block so far, sorted by offset. */
typedef struct block {
  candidate *placed;
  size_t count;
  uint64_t bytes;
} block;

/* Places c at the lowest offset that is free among storages that live at the same time; false: the
 * block has no such offset. */
static bool place(block *b, uint32_t index, const candidate *c, uint64_t limit) {
  const uint64_t bytes = c->storage->bytes;
  uint64_t at = 0;
  for (size_t i = 0; i < b->count; i++) {
    const candidate *other = &b->placed[i];
    const uint64_t begin = other->planned->place.offset;
    if (!live_together(other->planned, c->planned)) continue;
    if (begin >= at + bytes) break;
    uint64_t end = (begin + other->storage->bytes + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    if (end > at) at = end;
  }
  if (at + bytes > limit) return false;
  c->planned->place = (ft_place){.block = index, .offset = at};
  size_t k = b->count++;
  for (; k > 0 && b->placed[k - 1].planned->place.offset > at; k--)
    b->placed[k] = b->placed[k - 1];
  b->placed[k] = *c;
  if (at + bytes > b->bytes) b->bytes = at + bytes;
  return true;
}

static filtra_status place_all(ft_plan *plan, const candidate *list, size_t count, block *blocks,
                               uint64_t limit) {
  for (size_t i = 0; i < count; i++) {
    if (list[i].storage->bytes > limit)
      return ft_fail(FILTRA_ERROR_DEVICE_MEMORY,
                     "one tensor needs %llu bytes, the device allocates at most %llu at once; use "
                     "a smaller batch or length",
                     (unsigned long long)list[i].storage->bytes, (unsigned long long)limit);
    uint32_t b = 0;
    while (b < plan->block_count && !place(&blocks[b], b, &list[i], limit))
      b++;
    if (b < plan->block_count) continue;
    blocks[b].placed = ft_calloc(count, sizeof *blocks[b].placed);
    if (!blocks[b].placed) return FILTRA_ERROR_HOST_MEMORY;
    plan->block_count++;
    place(&blocks[b], b, &list[i], limit);
  }
  return FILTRA_OK;
}

static filtra_status place_storages(ft_plan *plan, candidate *list, block *blocks, uint64_t limit) {
  const struct ft_tape *tape = plan->tape;
  size_t count = 0;
  for (size_t i = 0; i < tape->storage_count; i++)
    if (tape->storages[i]->home == FT_HOME_ARENA && plan->storages[i].life.first >= 0)
      list[count++] = (candidate){tape->storages[i], &plan->storages[i]};
  qsort(list, count, sizeof *list, larger_first);
  FT_TRY(place_all(plan, list, count, blocks, limit));
  plan->blocks = ft_calloc(plan->block_count + 1, sizeof *plan->blocks);
  if (!plan->blocks) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t b = 0; b < plan->block_count; b++) {
    plan->blocks[b] = blocks[b].bytes;
    plan->bytes += blocks[b].bytes;
  }
  return FILTRA_OK;
}

filtra_status ft_plan_memory(ft_plan *plan, uint64_t block_limit) {
  find_lives(plan);
  candidate *list = ft_calloc(plan->tape->storage_count + 1, sizeof *list);
  block *blocks = ft_calloc(plan->tape->storage_count + 1, sizeof *blocks);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  if (list && blocks) status = place_storages(plan, list, blocks, block_limit);
  for (size_t b = 0; b < plan->block_count; b++)
    free(blocks[b].placed);
  free(blocks);
  free(list);
  return status;
}
