/* Layers of the Converter. Its token mixers are in mixer/. */
#ifndef FT_NN_CONVERTER_H
#define FT_NN_CONVERTER_H

#include "nn/mixer.h"
#include "nn/token_order.h"

/** filtra_scale_norm with the parameter "NAME.weight" [C], initially ones. With complex_features, x
 * is [.., C, 2]. */
filtra_tensor *ft_scale_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                                   bool complex_features);

/** A SIREN of two layers: sin(W_2 dropout(ScaleNorm(sin(W_1 x + b_1))) + b_2). The square layers
 * "1" and "2" start with weights U(+-sqrt(6/C)) and biases 0; the ScaleNorm is "norm"; no omega_0.
 */
filtra_tensor *ft_siren(const ft_scope *scope, filtra_tensor *x, float dropout);

/** The mean of ft_siren over the features of each head: x [B,N,C] -> [B H,N], in [-1,1]; row b H +
 * h is head h of sequence b. */
filtra_tensor *ft_eigenvalue_phases(const ft_scope *scope, filtra_tensor *x, int64_t heads,
                                    float dropout);

/** Arguments of filtra_dhhp for all heads; B is batch times heads. */
typedef struct ft_unitary {
  filtra_tensor *lower, *upper; /* rotations [B,N-1,4,2] */
  filtra_tensor *phases;        /* [B,N,2] */
} ft_unitary;

typedef struct ft_unitary_options {
  /* Cut a sequence's 7 N numbers into seven runs of N, as the authors' code does, instead of taking
   * seven numbers per token. */
  bool flat;
  bool no_phases; /* D = I */
  float dropout;
  filtra_tensor *mask; /* [B H,N] of filtra_givens, or NULL */
  int64_t heads;       /* divides C; 0: 1 */
} ft_unitary_options;

/** Rotations and phases from ft_siren, FixNorm, and pooling to seven numbers per token and head, in
 * turns: alpha, beta and gamma of the lower chain (tokens 0..N-2), of the upper chain (tokens
 * 1..N-1), and theta. */
ft_unitary ft_unitary_layer(const ft_scope *scope, filtra_tensor *x,
                            const ft_unitary_options *options);

enum { FT_MOST_FACTORS = 16 };

/** Mixers' options for the transform Phi. */
typedef struct ft_transform_options {
  int64_t heads; /* each has its own Phi and phases, computed from and applied to C/H channels */
  int64_t order; /* number of transforms whose product is Phi, parameters "vectors.M" */
  int64_t permutation;
  int layout;
  bool triangular; /* transform m, from 0, does not touch the first m tokens */
  bool sorted;     /* apply Phi to the tokens in a learned order */
  float sort_temperature;
} ft_transform_options;
/** Rows for these options in a mixer's table of keys; its option struct `type` has them as
 * `transform`. */
#define FT_TRANSFORM_KEYS(type)                                                                    \
  FT_INT_KEY(type, transform.heads, "heads", 1, 1, 256,                                            \
             "Number of the mixer's own heads, each with a Phi and phases of its own. It divides " \
             "`width`."),                                                                          \
      FT_INT_KEY(type, transform.order, "order", 1, 1, FT_MOST_FACTORS,                            \
                 "Phi is a product of so many transforms with parameters of their own (L-DHHP)."), \
      FT_INT_KEY(type, transform.permutation, "permutation", 0, 0, 1 << 20,                        \
                 "Stride m of a permutation before each transform: tokens 0, m, 2m, .., then 1, "  \
                 "m + 1, .. and so on. 0: none."),                                                 \
      FT_ENUM_KEY(type, transform.layout, "layout", 0, ft_transform_layouts,                       \
                  "Where a token's angles come from. token: that token. flat: the seven numbers "  \
                  "of all tokens in one run, cut into seven parts, as in the authors' code."),     \
      FT_BOOL_KEY(                                                                                 \
          type, transform.triangular, "triangular", false,                                         \
          "With `order` above 1: factor m, from 0, leaves the first m tokens alone. These "        \
          "are the triangles of QR factorization by Givens rotations; N - 1 of them can "          \
          "be any unitary matrix.",                                                                \
          .paper = "Reck et al. 1994"),                                                            \
      FT_BOOL_KEY(type, transform.sorted, "sort_tokens", false,                                    \
                  "A learned permutation: Phi acts on the tokens by falling score w . x - "        \
                  "(t + 1) / 10, t a token's place from 0, padding last, and Phi^-1 gives them "   \
                  "their places back. w is 0 at first, when the order is the sequence's own."),    \
      FT_FLOAT_KEY(type, transform.sort_temperature, "sort_temperature", 0.1, 1e-3, 1e3,           \
                   "tau of the score's gradient, which is that of SoftSort: tokens whose scores "  \
                   "are within about sqrt(tau) compete for a place.",                              \
                   .paper = "Prillo & Eisenschlos 2020")
extern const char *const ft_transform_layouts[];
/** ft_mixer_class.idle for these options. */
const char *ft_transform_idle(const ft_transform_options *options, const char *name);

/** A mixer's input; with `sorted`, its tokens and mask are in a learned order. */
typedef struct ft_transform_input {
  filtra_mixer_input in;
  ft_token_order order; /* all NULL: the sequence's own order */
} ft_transform_input;
ft_transform_input ft_ordered_input(const ft_scope *scope, const ft_transform_options *options,
                                    const filtra_mixer_input *in);

/** Phi^-1 diag(e^(i phase)) Phi applied to the value; phase [B H,N] -> [B,N,C,2]. The value is X
 * times the complex matrix "value.weight" [2C, C], whose rows 2c and 2c + 1 are the real and
 * imaginary part of channel c. The matrix starts normal, with the authors' deviation sqrt(1/2) if X
 * has `unit_rows`, as after a ScaleNorm; after a LayerNorm with sqrt(1/2C), so that values are as
 * large as X. The result is in the sequence's own order. */
filtra_tensor *ft_spectral_filter(const ft_scope *scope, const ft_transform_options *options,
                                  const ft_transform_input *input, filtra_tensor *phase,
                                  bool unit_rows);

/** zeta Re z + (1 - zeta) Im z with the parameter "zeta" [1], initially 1, clamped to [0,1]. */
filtra_tensor *ft_blend_layer(const ft_scope *scope, filtra_tensor *z);
/** The last step of a mixer in a block of real features: blend, dropout, residual. */
filtra_tensor *ft_blend_mixed(const ft_scope *scope, const filtra_mixer_input *in,
                              filtra_tensor *z);

/** GRU layers "0", "1", ... of x's width with dropout between them. Parameters are named and
 * initialised as in PyTorch. */
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
