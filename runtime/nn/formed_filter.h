/* GFSA's filter as a matrix, for what needs its elements one by one. */
#ifndef FT_NN_FORMED_FILTER_H
#define FT_NN_FORMED_FILTER_H

#include "nn/layers.h"

/** As filtra_gfsa, with H formed: y = dropout(H) v, each element of H [B,H,N,N] kept or dropped by
 * itself, as the authors do with images and speech (Choi et al. 2024). An element of A^2 sums over
 * all tokens, so that two passes of attention cannot stand for it: O(N^3) time and O(N^2) memory a
 * head. Dropout on A comes before the filter; the mask is of zeros and ones; no bias. w0, w1, wK
 * [H], or NULL: the options' constant. q, k, v F32. */
filtra_tensor *ft_formed_filter(filtra_graph *g, filtra_tensor *const qkv[3],
                                filtra_tensor *const w[3], const filtra_gfsa_options *options,
                                float dropout);

#endif
