/* Padded lengths of batches. There are few of them, so that few graphs are compiled. */
#ifndef FT_BASE_LENGTHS_H
#define FT_BASE_LENGTHS_H

#include <stdint.h>

enum { FT_SHORTEST_LENGTH = 16 };

/** The smallest of `least`, 2 least, 4 least, .. that is at least `n`; at most `most`. Training and
 * prediction pad sequences with least FT_SHORTEST_LENGTH and most max_length, so a model whose
 * results depend on padding gives the same results in both. */
static inline int64_t ft_graph_length(int64_t n, int64_t least, int64_t most) {
  while (least < n && least < most)
    least *= 2;
  return least < most ? least : most;
}

#endif
