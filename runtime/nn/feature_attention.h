/* Attention whose weights are products of features, phi(q) . phi(k), divided by their sum
 * (Katharopoulos et al. 2020): linear in the length, as the sums over keys are made once. */
#ifndef FT_NN_FEATURE_ATTENTION_H
#define FT_NN_FEATURE_ATTENTION_H

#include "nn/layers.h"

/** A dense copy of heads [B,H,N,D], which may be a view. */
filtra_tensor *ft_dense_heads(filtra_graph *g, filtra_tensor *heads);
/** Dense heads [B,H,N,D] side by side, [B,N,H*D]. */
filtra_tensor *ft_join_heads(filtra_graph *g, filtra_tensor *heads);
/** x [B,H,N,F] dense, zeros at padding; as it is in a DECODE pass, where no token is padding. */
filtra_tensor *ft_mask_heads(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *x);
/** The numbers 1 to `count`, [count]. */
filtra_tensor *ft_counting(filtra_graph *g, int64_t count);
/** [n,n], 1 where the column is not behind the row, else 0. */
filtra_tensor *ft_lower_triangle(filtra_graph *g, int64_t n);

/** y_n = sum_m w_nm v_m / (sum_m w_nm + eps), w_nm = q_n . k_m, over real tokens m, or those up to
 * n where the input is causal: q, k [B,H,N,F] features, dense; v [B,H,N,D] any view -> [B,H,N,D],
 * dense. In chunks where it is causal; token by token over a state, the sums of k v^T and k. */
filtra_tensor *ft_feature_attention(const ft_scope *scope, const filtra_mixer_input *in,
                                    filtra_tensor *q, filtra_tensor *k, filtra_tensor *v,
                                    float eps);

#endif
