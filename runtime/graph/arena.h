/* Device memory that plans get their blocks from. */
#ifndef FT_GRAPH_ARENA_H
#define FT_GRAPH_ARENA_H

#include "graph/graph.h"

struct filtra_arena {
  filtra_device *device;
  ft_buffer **blocks; /* each allocated on its own: programs keep pointers to them */
  size_t count, capacity;
  unsigned users; /* graphs */
};

/** For each of the `count` sizes a block of at least that many bytes, each another one: blocks that
 * other graphs use at other times, or new ones. Nothing new is left in the arena on failure. */
filtra_status ft_arena_take(filtra_arena *arena, const uint64_t *bytes, size_t count,
                            const ft_buffer **out);
/** Destroys all blocks but the first `count`. */
void ft_arena_shrink(filtra_arena *arena, size_t count);

#endif
