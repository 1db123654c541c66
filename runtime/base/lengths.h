/* The lengths that graphs are made for and batches padded to: few, so that few graphs serve all. */
#ifndef FT_BASE_LENGTHS_H
#define FT_BASE_LENGTHS_H

#include <stdint.h>

enum { FT_SHORTEST_LENGTH = 16 };

/** The first of `least`, twice that, four times that and so on that holds `n`, or `most` where that
 * is less. For tokens of a sequence `least` is FT_SHORTEST_LENGTH and `most` max_length, in
 * training and in prediction: a model whose padding takes part has the same answers in both. */
static inline int64_t ft_graph_length(int64_t n, int64_t least, int64_t most) {
  while (least < n && least < most)
    least *= 2;
  return least < most ? least : most;
}

#endif
