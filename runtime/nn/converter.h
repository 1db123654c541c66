/* Layers of the Converter (its token mixers are under mixer/). */
#ifndef FT_NN_CONVERTER_H
#define FT_NN_CONVERTER_H

#include "nn/layers.h"

/** ScaleNorm: "NAME.weight" [C] (ones); complex features: x [.., C, 2]. */
filtra_tensor *ft_scale_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                                   bool complex_features);

/** sin(W_2 dropout(ScaleNorm(sin(W_1 x + b_1))) + b_2), square layers "1" and "2" with weights
 * U(+-sqrt(6/C)) and biases 0, ScaleNorm "norm" between them; no omega_0. */
filtra_tensor *ft_siren(const ft_scope *scope, filtra_tensor *x, float dropout);

/** The mean of a SIREN over its features: x [B,N,C] -> [B,N], in [-1,1]. */
filtra_tensor *ft_eigenvalue_phases(const ft_scope *scope, filtra_tensor *x, float dropout);

/** What filtra_dhhp takes. */
typedef struct ft_unitary {
  filtra_tensor *lower, *upper; /* rotations [B,N-1,4,2] */
  filtra_tensor *phases;        /* [B,N,2] */
} ft_unitary;

/** Rotations and phases from a SIREN, FixNorm, and pooling to seven numbers per token. In turns:
 * alpha, beta, gamma of the lower chain (tokens 0..N-2), of the upper chain (tokens 1..N-1), and
 * theta. `flat`: the 7 N numbers of a sequence are cut into seven runs of N instead, as the
 * authors' code does. */
ft_unitary ft_unitary_layer(const ft_scope *scope, filtra_tensor *x, bool flat, float dropout);

/** Layers "0", "1", ... of GRUs as wide as x, with dropout between them; parameters as PyTorch
 * names and initialises them. */
filtra_tensor *ft_recurrent_positions(const ft_scope *scope, filtra_tensor *x, int64_t layers,
                                      float dropout);

typedef struct ft_gffn_options {
  int64_t width;                /* of the hidden layer */
  filtra_activation activation; /* of the real part: FILTRA_ACTIVATION_SOFTPLUS or _SOFTPLUS5 */
  float dropout;                /* on the gated product */
  filtra_tensor *residual;      /* [B,N,C], added to the output; or NULL */
} ft_gffn_options;

/** Gated feed-forward network on complex z [B,N,C,2] -> [B,N,C]: activation(Re z W_re + b_re) *
 * tanh(Im z W_im + b_im), then a linear layer; "re", "im" and "out" are Xavier uniform, biases 0.
 */
filtra_tensor *ft_gffn(const ft_scope *scope, filtra_tensor *z, const ft_gffn_options *options);

#endif
