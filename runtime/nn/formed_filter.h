/* GFSA's filter as a full matrix, for dropout on its elements. */
#ifndef FT_NN_FORMED_FILTER_H
#define FT_NN_FORMED_FILTER_H

#include "nn/layers.h"

/** As filtra_gfsa, but y = dropout(H) v, with dropout on each element of H [B,H,N,N], as the
 * authors do for images and speech (Choi et al. 2024). So A^2 is formed: O(N^3) time and O(N^2)
 * memory per head. Dropout on A is applied before the filter. The mask must be zeros and ones; a
 * bias is [B,H,N,N]. w0, w1, wK [H], or NULL: the options' constant. q, k, v F32. */
filtra_tensor *ft_formed_filter(filtra_graph *g, filtra_tensor *const qkv[3],
                                filtra_tensor *const w[3], const filtra_gfsa_options *options,
                                float dropout);

#endif
