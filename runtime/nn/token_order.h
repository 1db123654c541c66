/* A learned order of tokens: a permutation that depends on what the tokens are. */
#ifndef FT_NN_TOKEN_ORDER_H
#define FT_NN_TOKEN_ORDER_H

#include "nn/mixer.h"

typedef struct ft_token_order {
  filtra_tensor *score;        /* [B,N,1] */
  filtra_tensor *mask;         /* [B,N] or NULL */
  filtra_tensor *there, *back; /* I32 [B N], of filtra_argsort */
  float temperature;
} ft_token_order;

/** Tokens by falling score <w, x> - (t + 1) / 10, t the token's place, padding last; w is the
 * parameter "order.weight" [1,C], 0 at first, when the order is the sequence's own. */
ft_token_order ft_learn_order(const ft_scope *scope, const filtra_mixer_input *in,
                              float temperature);

/** x [B,N,C] with its tokens in that order or, `back`, out of it. For the score's gradient, and for
 * it alone, the permutation is SoftSort's matrix (Prillo and Eisenschlos 2020), straight through:
 * row r is softmax_t -(s_(r) - s_t)^2 / temperature, with s_(r) the r-th largest score. That takes
 * O(N^2 C) in the backward pass; forward it is N^2 comparisons. */
filtra_tensor *ft_sort_tokens(filtra_graph *g, const ft_token_order *order, filtra_tensor *x,
                              bool back);
/** The tokens `rows` [B N] of x [B,N,C]. */
filtra_tensor *ft_take_tokens(filtra_graph *g, filtra_tensor *x, filtra_tensor *rows);

#endif
