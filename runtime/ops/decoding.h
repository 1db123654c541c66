/* What graphs of one new token at a time need of ops: rows that stay from run to run, and positions
 * that change from run to run. Positions are I32 [B], set before each run. */
#ifndef FT_OPS_DECODING_H
#define FT_OPS_DECODING_H

#include "graph/graph.h"

#include <filtra/ops.h>

/** Writes rows of x [B,H,N,D] into cache [B,H,M,D] and returns the cache, to be read by later ops:
 * rows 0 .. N-1 without a position. With one, for one token (N = 1), row position[b] if there is
 * such a row, where later runs find it, and the last row, so that in this run the token comes last,
 * as queries do among keys. Any views with dense last axes. The cache is an external tensor: what
 * this run does not write is what the runs before left. There is no gradient, and a training graph
 * is refused. */
filtra_tensor *ft_cache_write(filtra_graph *g, filtra_tensor *cache, filtra_tensor *x,
                              filtra_tensor *position);
/** F32 [B,rows]: 1 for the rows before position[b], which earlier runs have written, and for the
 * last; else 0. */
filtra_tensor *ft_cache_mask(filtra_graph *g, filtra_tensor *position, int64_t rows);

/** A state [B,..], an external tensor, as the runs before left it; zeros where position[b] is 0,
 * since there was no token yet. There is no gradient. */
filtra_tensor *ft_state_read(filtra_graph *g, filtra_tensor *state, filtra_tensor *position);
/** Leaves dense x in the state of the same shape. A training graph is refused. */
void ft_state_write(filtra_graph *g, filtra_tensor *state, filtra_tensor *x);

/** The last step of filtra_gfsa, for new tokens: v, u = A v and au = A u are [B,H,N,D], u and au
 * stored token by token. There is no gradient. */
filtra_tensor *ft_gfsa_combine(filtra_graph *g, filtra_tensor *v, filtra_tensor *u,
                               filtra_tensor *au, filtra_tensor *w0, filtra_tensor *w1,
                               filtra_tensor *wK, const filtra_gfsa_options *options);

/** filtra_add_sinusoids for sequences whose first token stands at first[b]; NULL: at 0. */
filtra_tensor *ft_add_sinusoids_from(filtra_graph *g, filtra_tensor *x, filtra_tensor *first);

#endif
