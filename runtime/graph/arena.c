/* Arenas: blocks of device memory, shared by graphs that are never executed at the same time. */
#include "graph/arena.h"

#include <stdlib.h>

filtra_status filtra_arena_create(filtra_device *device, filtra_arena **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  (*out)->device = device;
  ft_device_hold(device);
  return FILTRA_OK;
}

void ft_arena_shrink(filtra_arena *a, size_t count) {
  while (a->count > count) {
    ft_buffer *block = a->blocks[--a->count];
    ft_buffer_destroy(a->device, block);
    free(block);
  }
}

filtra_status filtra_arena_destroy(filtra_arena **arena) {
  FT_NEED(arena);
  if (!*arena) return FILTRA_OK;
  FT_TRY(ft_check_unused("the arena", (*arena)->users));
  ft_arena_shrink(*arena, 0);
  ft_device_release((*arena)->device);
  free((*arena)->blocks);
  free(*arena);
  *arena = NULL;
  return FILTRA_OK;
}

static filtra_status add_block(filtra_arena *a, uint64_t bytes) {
  FT_TRY(FT_GROW(a->blocks, a->count, a->capacity));
  ft_buffer *block = ft_calloc(1, sizeof *block);
  if (!block) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_buffer_create(a->device, bytes, FT_MEMORY_DEVICE, block);
  if (status)
    free(block);
  else
    a->blocks[a->count++] = block;
  return status;
}

/* Takes the first free block of at least `bytes`, or creates one. */
static filtra_status take_block(filtra_arena *a, uint64_t bytes, bool *taken,
                                const ft_buffer **out) {
  size_t i = 0;
  while (i < a->count && (taken[i] || a->blocks[i]->size < bytes))
    i++;
  if (i == a->count) FT_TRY(add_block(a, bytes));
  taken[i] = true;
  *out = a->blocks[i];
  return FILTRA_OK;
}

filtra_status ft_arena_take(filtra_arena *a, const uint64_t *bytes, size_t count,
                            const ft_buffer **out) {
  const size_t before = a->count;
  bool *taken = ft_calloc(before + count + 1, sizeof *taken);
  filtra_status status = taken ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count && !status; i++)
    status = take_block(a, bytes[i], taken, &out[i]);
  free(taken);
  if (!status) return FILTRA_OK;
  ft_arena_shrink(a, before);
  return ft_fail_context(status, "the graph's memory plan");
}
