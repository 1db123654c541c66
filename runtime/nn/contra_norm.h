/* ContraNorm (Guo et al. 2023), which moves tokens apart before a norm. */
#ifndef FT_NN_CONTRA_NORM_H
#define FT_NN_CONTRA_NORM_H

#include <filtra/filtra.h>

/** x - scale softmax(u u^T) x, where u is the rows of x divided by their lengths; x [B,N,C].
 * Padding, where mask [B,N] is 0, has weight 0. scale 0: x itself. A LayerNorm must follow. */
filtra_tensor *ft_contra_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask, float scale);

#endif
