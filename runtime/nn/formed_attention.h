/* Attention's weights as a full matrix, for filters of its elements and for heads that talk. */
#ifndef FT_NN_FORMED_ATTENTION_H
#define FT_NN_FORMED_ATTENTION_H

#include "nn/layers.h"

/** A [B,H,Nq,Nk], F32: softmax(scale q k^T + bias) over the keys that count, zeros for a query
 * without any, then dropout. Options as of filtra_attention; the mask must be zeros and ones, and a
 * causal Nq is Nk, or 1 for a last token.
 *
 * `talking` (Shazeer et al. 2020): a linear layer over the heads, "talking_scores", mixes the
 * scaled scores, to which the bias is then added, and another, "talking_weights", mixes the
 * weights; keys that do not count weigh 0 after it, too. */
filtra_tensor *ft_formed_attention(const ft_scope *scope, filtra_tensor *q, filtra_tensor *k,
                                   const filtra_attention_options *options, bool talking);

#endif
