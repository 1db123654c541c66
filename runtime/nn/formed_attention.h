/* Attention weights as a full matrix, for dropout on a filter's elements and for talking heads. */
#ifndef FT_NN_FORMED_ATTENTION_H
#define FT_NN_FORMED_ATTENTION_H

#include "nn/layers.h"

/** A [B,H,Nq,Nk], F32: softmax(scale q k^T + bias) over unmasked keys, zeros for a query without
 * any, then dropout. Options as in filtra_attention; the mask must consist of zeros and ones; if
 * causal, Nq is Nk, or 1 for a last token.
 *
 * `talking` (Shazeer et al. 2020): a linear layer over the heads, "talking_scores", mixes the
 * scaled scores before the bias is added; another, "talking_weights", mixes the weights. Masked
 * keys have weight 0 after it as well. */
filtra_tensor *ft_formed_attention(const ft_scope *scope, filtra_tensor *q, filtra_tensor *k,
                                   const filtra_attention_options *options, bool talking);

#endif
