/* Liveness and the memory plan: every intermediate gets bytes that no tensor alive at the same time
 * uses. Greedy by size (Pisarchyk & Lee 2020, "Efficient memory management for deep neural net
 * inference", section 5): the largest first, each into the lowest gap that fits. */
#include "graph/internal.h"

#include <stdlib.h>

static const uint64_t TENSOR_ALIGN = 256;

filtra_status filtra_arena_create(filtra_device *device, filtra_arena **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  (*out)->device = device;
  return FILTRA_OK;
}

void filtra_arena_destroy(filtra_arena **arena) {
  if (!arena || !*arena) return;
  filtra_arena *a = *arena;
  for (size_t i = 0; i < a->count; i++) {
    ft_buffer_destroy(a->device, a->blocks[i]);
    free(a->blocks[i]);
  }
  free(a->blocks);
  free(a);
  *arena = NULL;
}

/* A block of at least `bytes` that is not in `taken` (by index), from the arena or new. */
static filtra_status arena_block(filtra_arena *a, uint64_t bytes, const bool *taken,
                                 size_t *index) {
  for (size_t i = 0; i < a->count; i++) {
    if (taken[i] || a->blocks[i]->size < bytes) continue;
    *index = i;
    return FILTRA_OK;
  }
  FT_TRY(FT_GROW(a->blocks, a->count, a->capacity));
  ft_buffer *block = ft_calloc(1, sizeof *block);
  if (!block) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_buffer_create(a->device, bytes, FT_MEMORY_DEVICE, block);
  if (status) {
    free(block);
    return status;
  }
  *index = a->count;
  a->blocks[a->count++] = block;
  return FILTRA_OK;
}

static void touch(ft_storage *s, int32_t stretch, bool makes_again) {
  if (s->first < 0) s->first = stretch;
  if (makes_again && s->remade && s->again < 0) s->again = stretch;
  if (s->again < 0)
    s->last = stretch;
  else
    s->again_last = stretch;
}

static void find_lifetimes(filtra_graph *g) {
  for (size_t i = 0; i < g->call_count; i++) {
    const ft_recorded_call *c = &g->calls[i];
    for (uint32_t k = 0; k < c->arg_count; k++)
      if (c->args[k].tensor)
        touch(c->args[k].tensor->storage, (int32_t)c->stretch,
              c->again && (c->args[k].mode & FT_ACCESS_WRITE));
  }
  /* Inputs are there before the first call, outputs until after the last. */
  for (size_t i = 0; i < g->input_count; i++) {
    ft_storage *s = g->inputs[i].tensor->storage;
    s->first = 0;
    if (s->last < 0) s->last = 0;
  }
  for (size_t i = 0; i < g->storage_count; i++) {
    ft_storage *s = g->storages[i];
    if (!s->pinned) continue;
    if (s->first < 0) s->first = 0;
    s->last = (int32_t)g->call_count;
  }
}

bool ft_life_begins(const filtra_graph *g, size_t call, const ft_storage *s) {
  const uint32_t stretch = g->calls[call].stretch;
  if (!s->planned || (call && g->calls[call - 1].stretch == stretch)) return false;
  for (size_t i = 0; i < g->input_count; i++)
    if (g->inputs[i].tensor->storage == s) return false;
  return s->first == (int32_t)stretch || s->again == (int32_t)stretch;
}

static int larger_first(const void *a, const void *b) {
  const ft_storage *x = *(ft_storage *const *)a, *y = *(ft_storage *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static bool overlap(int32_t a, int32_t a_last, int32_t b, int32_t b_last) {
  return a >= 0 && b >= 0 && a <= b_last && b <= a_last;
}

/* What is made again lives twice. */
static bool live_together(const ft_storage *a, const ft_storage *b) {
  return overlap(a->first, a->last, b->first, b->last) ||
         overlap(a->again, a->again_last, b->first, b->last) ||
         overlap(a->first, a->last, b->again, b->again_last) ||
         overlap(a->again, a->again_last, b->again, b->again_last);
}

typedef struct block_plan {
  ft_storage **placed; /* sorted by offset */
  size_t count;
  uint64_t bytes;
} block_plan;

/* The lowest offset in the block where s fits between the placed ones that live when s does. */
static bool place(block_plan *b, ft_storage *s, uint64_t limit) {
  uint64_t at = 0;
  for (size_t i = 0; i < b->count; i++) {
    const ft_storage *o = b->placed[i];
    if (!live_together(o, s)) continue;
    if (o->offset >= at + s->bytes) break;
    uint64_t end = (o->offset + o->bytes + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    if (end > at) at = end;
  }
  if (at + s->bytes > limit) return false;
  s->offset = at;
  size_t k = b->count++;
  for (; k > 0 && b->placed[k - 1]->offset > at; k--)
    b->placed[k] = b->placed[k - 1];
  b->placed[k] = s;
  if (at + s->bytes > b->bytes) b->bytes = at + s->bytes;
  return true;
}

/* Assigns offsets block by block; block_of[i] says where order[i] went. */
static filtra_status place_all(filtra_graph *g, ft_storage **order, size_t count,
                               block_plan *blocks, size_t *block_count, size_t *block_of) {
  uint64_t limit = ft_buffer_limit(g->device);
  for (size_t i = 0; i < count; i++) {
    if (order[i]->bytes > limit)
      return ft_fail(FILTRA_ERROR_DEVICE_MEMORY,
                     "one tensor needs %llu bytes, the device allocates at most %llu at once; use "
                     "a smaller batch or length",
                     (unsigned long long)order[i]->bytes, (unsigned long long)limit);
    size_t b = 0;
    while (b < *block_count && !place(&blocks[b], order[i], limit))
      b++;
    if (b == *block_count) {
      blocks[b].placed = ft_calloc(count, sizeof(ft_storage *));
      if (!blocks[b].placed) return FILTRA_ERROR_HOST_MEMORY;
      (*block_count)++;
      place(&blocks[b], order[i], limit);
    }
    block_of[i] = b;
  }
  return FILTRA_OK;
}

static filtra_status bind_blocks(filtra_graph *g, ft_storage **order, size_t count,
                                 const block_plan *blocks, size_t block_count,
                                 const size_t *block_of) {
  filtra_arena *a = g->arena;
  bool *taken = ft_calloc(a->count + block_count + 1, sizeof *taken);
  size_t *index = ft_calloc(block_count + 1, sizeof *index);
  filtra_status status = taken && index ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t b = 0; b < block_count && !status; b++) {
    status = arena_block(a, blocks[b].bytes, taken, &index[b]);
    if (!status) taken[index[b]] = true;
  }
  for (size_t i = 0; i < count && !status; i++)
    order[i]->buffer = a->blocks[index[block_of[i]]];
  free(taken);
  free(index);
  return status ? ft_fail_context(status, "the graph's memory plan") : FILTRA_OK;
}

filtra_status ft_plan_memory(filtra_graph *g, bool bind) {
  find_lifetimes(g);
  if (bind && !g->arena) {
    FT_TRY(filtra_arena_create(g->device, &g->arena));
    g->own_arena = true;
  }
  size_t count = 0, block_count = 0;
  ft_storage **order = ft_calloc(g->storage_count + 1, sizeof *order);
  size_t *block_of = ft_calloc(g->storage_count + 1, sizeof *block_of);
  block_plan *blocks = ft_calloc(g->storage_count + 1, sizeof *blocks);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  if (order && block_of && blocks) {
    for (size_t i = 0; i < g->storage_count; i++)
      if (g->storages[i]->planned && g->storages[i]->first >= 0) order[count++] = g->storages[i];
    qsort(order, count, sizeof *order, larger_first);
    status = place_all(g, order, count, blocks, &block_count, block_of);
    for (size_t b = 0; b < block_count; b++)
      g->plan_bytes += blocks[b].bytes;
    if (!status && bind) status = bind_blocks(g, order, count, blocks, block_count, block_of);
  }
  for (size_t b = 0; b < block_count; b++)
    free(blocks[b].placed);
  free(blocks);
  free(block_of);
  free(order);
  return status;
}
