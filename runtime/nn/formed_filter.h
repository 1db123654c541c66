/* GFSA's filter of a matrix A that is stored, for dropout on the filter's elements and for talking
 * heads. */
#ifndef FT_NN_FORMED_FILTER_H
#define FT_NN_FORMED_FILTER_H

#include "nn/layers.h"

/** As filtra_gfsa, with A [B,H,N,N], F32 (nn/formed_attention.h), and v [B,H,N,D], any view: y = H
 * v, F32. dropout > 0: y = dropout(H) v, with dropout on each element of H, as the authors do for
 * images and speech (Choi et al. 2024). This forms A^2: O(N^3) time and O(N^2) memory per head.
 * Without dropout A is applied twice, and A v is kept for later tokens as "u", beside "v"; in a
 * DECODE pass A is [B,H,1,M]. w0, w1, wK [H], or NULL: the options' constant. */
filtra_tensor *ft_formed_filter(const ft_scope *scope, filtra_tensor *a, filtra_tensor *v,
                                filtra_tensor *const w[3], const filtra_gfsa_options *options,
                                float dropout);

#endif
