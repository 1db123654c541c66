/* Sums over links of the CHORD protocol, for nn/mixer/paramixer.c. */
#ifndef FT_OPS_CHORD_H
#define FT_OPS_CHORD_H

#include "ops/support.h"

/** A sparse factor of Paramixer (Yu et al. 2022): y_i = w_i0 x_i + sum over k = 1 .. K-1 of
 * w_ik x_j with j = (i + 2^(k-1)) mod L, for tokens i < L; zeros from L on, which is not read.
 * x [B,N,C] and w [B,N,K], K at most 32, dense F32; `lengths` L is F32 [B], whole numbers, no
 * gradient; NULL: N. O(N K C). */
filtra_tensor *ft_chord(filtra_graph *g, filtra_tensor *w, filtra_tensor *x,
                        filtra_tensor *lengths);

#endif
