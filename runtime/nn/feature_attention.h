/* Linear attention (Katharopoulos et al. 2020): weights are products of features, phi(q) . phi(k),
 * divided by their sum. The sums over keys are computed once, so time is linear in the length. */
#ifndef FT_NN_FEATURE_ATTENTION_H
#define FT_NN_FEATURE_ATTENTION_H

#include "nn/layers.h"

/** A dense copy of heads [B,H,N,D], which may be a view. */
filtra_tensor *ft_dense_heads(filtra_graph *g, filtra_tensor *heads);
/** Concatenates dense heads [B,H,N,D] to [B,N,H*D]. */
filtra_tensor *ft_join_heads(filtra_graph *g, filtra_tensor *heads);
/** Sets padding of dense x [B,H,N,F] to zero; returns x in a DECODE pass, which has no padding. */
filtra_tensor *ft_mask_heads(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *x);
/** The numbers 1 to `count`, [count]. */
filtra_tensor *ft_counting(filtra_graph *g, int64_t count);
/** [n,n], 1 where column <= row, else 0. */
filtra_tensor *ft_lower_triangle(filtra_graph *g, int64_t n);

/** y_n = sum_m w_nm v_m / (sum_m w_nm + eps), w_nm = q_n . k_m, over real tokens m, in causal
 * models m <= n. q, k [B,H,N,F] are features, dense, k zero at padding; v [B,H,N,D] any view ->
 * [B,H,N,D], dense. Causal sequences are computed in chunks; decoding keeps a state, the sums of
 * k v^T and k. */
filtra_tensor *ft_feature_attention(const ft_scope *scope, const filtra_mixer_input *in,
                                    filtra_tensor *q, filtra_tensor *k, filtra_tensor *v,
                                    float eps);

#endif
