/* What graphs of one new token at a time need of ops: rows that stay from run to run, and positions
 * that change from run to run. Positions are I32 [B], set before each run. */
#ifndef FT_OPS_DECODING_H
#define FT_OPS_DECODING_H

#include "graph/graph.h"

/** Writes the rows of x [B,H,N,D] into cache [B,H,M,D] from row position[b] on (NULL: from row 0)
 * and returns the cache, to be read by later ops. Any views with dense last axes; rows outside of
 * [0,M) are dropped. The cache is an external tensor: what this run does not write is what the runs
 * before left. There is no gradient, and a training graph is refused. */
filtra_tensor *ft_cache_write(filtra_graph *g, filtra_tensor *cache, filtra_tensor *x,
                              filtra_tensor *position);

/** filtra_add_sinusoids for sequences whose first token stands at first[b]; NULL: at 0. */
filtra_tensor *ft_add_sinusoids_from(filtra_graph *g, filtra_tensor *x, filtra_tensor *first);

#endif
