/* Ops for graphs that compute one new token at a time: rows that stay from execution to execution,
 * and positions that change between them. Positions are I32 [B], set before each execution. */
#ifndef FT_OPS_DECODING_H
#define FT_OPS_DECODING_H

#include "graph/graph.h"

#include <filtra/ops.h>

/** Writes rows of x [B,H,N,D] into cache [B,H,M,D] and returns the cache, for later ops to read.
 * Without position: rows 0 .. N-1. With position, for one token (N = 1): row position[b], if there
 * is one, where later executions find it, and also the last row, so that in this execution the
 * token comes last, as queries do among keys. Views need dense last axes. The cache is an external
 * tensor: rows not written keep what earlier executions left. There is no gradient; training graphs
 * are refused. */
filtra_tensor *ft_cache_write(filtra_graph *g, filtra_tensor *cache, filtra_tensor *x,
                              filtra_tensor *position);
/** F32 [B,rows]: 1 for rows before position[b], which earlier executions have written, and for the
 * last row; else 0. */
filtra_tensor *ft_cache_mask(filtra_graph *g, filtra_tensor *position, int64_t rows);

/** A state [B,..], an external tensor, as earlier executions left it; zeros if position[b] is 0,
 * before the first token. There is no gradient. */
filtra_tensor *ft_state_read(filtra_graph *g, filtra_tensor *state, filtra_tensor *position);
/** Writes dense x to the state of the same shape. Training graphs are refused. */
void ft_state_write(filtra_graph *g, filtra_tensor *state, filtra_tensor *x);

/** The last step of filtra_gfsa, for new tokens: v, u = A v and au = A u are [B,H,N,D]; u and au in
 * token-major order. There is no gradient. */
filtra_tensor *ft_gfsa_combine(filtra_graph *g, filtra_tensor *v, filtra_tensor *u,
                               filtra_tensor *au, filtra_tensor *w0, filtra_tensor *w1,
                               filtra_tensor *wK, const filtra_gfsa_options *options);

/** filtra_add_sinusoids for sequences whose first token has position first[b]; NULL: 0. */
filtra_tensor *ft_add_sinusoids_from(filtra_graph *g, filtra_tensor *x, filtra_tensor *first);

#endif
