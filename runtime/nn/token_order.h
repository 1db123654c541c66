/* A learned order of tokens: a permutation that depends on their features. */
#ifndef FT_NN_TOKEN_ORDER_H
#define FT_NN_TOKEN_ORDER_H

#include "nn/mixer.h"

typedef struct ft_token_order {
  filtra_tensor *score;        /* [B,N,1] */
  filtra_tensor *mask;         /* [B,N] or NULL */
  filtra_tensor *there, *back; /* I32 [B N], of filtra_argsort */
  float temperature;
} ft_token_order;

/** Orders tokens by descending score <w, x> - (t + 1) / 10, t the token's position; padding comes
 * last. w is the parameter "order.weight" [1,C], initially 0, which gives the sequence's own
 * order. */
ft_token_order ft_learn_order(const ft_scope *scope, const filtra_mixer_input *in,
                              float temperature);

/** Puts the tokens of x [B,N,C] into the learned order, or with `back` into the sequence's own
 * order. The score gets the straight-through gradient of SoftSort (Prillo and Eisenschlos 2020), in
 * which row r of the permutation is softmax_t -(s_(r) - s_t)^2 / temperature, s_(r) the r-th
 * largest score. Forward N^2 comparisons, backward O(N^2 C). */
filtra_tensor *ft_sort_tokens(filtra_graph *g, const ft_token_order *order, filtra_tensor *x,
                              bool back);
/** The tokens `rows` [B N] of x [B,N,C]. */
filtra_tensor *ft_take_tokens(filtra_graph *g, filtra_tensor *x, filtra_tensor *rows);

#endif
