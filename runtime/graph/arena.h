/* Device memory: the source of plans' blocks. */
#ifndef FT_GRAPH_ARENA_H
#define FT_GRAPH_ARENA_H

#include "graph/graph.h"

struct filtra_arena {
  filtra_device *device;
  ft_buffer **blocks; /* each allocated on its own: programs keep pointers to them */
  size_t count, capacity;
  unsigned users; /* graphs */
};

/** Takes one block for each of the `count` sizes, at least that large and all distinct: existing
 * blocks, which other graphs use at other times, or new ones. On failure the arena keeps none of
 * the new blocks. */
filtra_status ft_arena_take(filtra_arena *arena, const uint64_t *bytes, size_t count,
                            const ft_buffer **out);
/** Destroys all blocks but the first `count`. */
void ft_arena_shrink(filtra_arena *arena, size_t count);

#endif
