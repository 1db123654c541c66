/* Encoder blocks around a token mixer: the Transformer's, and the Converter's. */
#ifndef FT_NN_ENCODER_H
#define FT_NN_ENCODER_H

#include "nn/mixer.h"
#include "nn/windows.h"

typedef struct ft_encoder_options {
  const ft_mixer *mixer;
  int64_t heads, ffn_width;
  int64_t max_length;           /* longest sequence, in tokens */
  filtra_activation activation; /* of the feed-forward layer */
  float dropout;                /* after the mixer and the feed-forward layer */
  float hidden_dropout;         /* on the feed-forward layer's hidden units */
  float drop_path;   /* stochastic depth: probability of dropping a branch of a sequence */
  float contra_norm; /* s of ContraNorm, before the LayerNorms; 0: none */
  float layer_scale; /* initial factor of each channel of both branches; 0: none */
  bool post_norm;    /* x = LN(x + f(x)) instead of x = x + f(LN(x)) */
  /* The Converter's block: complex features, ScaleNorm, gated feed-forward network. The mixer needs
   * build_complex; `activation` applies to the gate's real part. */
  bool converter;
  bool causal;
  filtra_tensor *bias; /* of attention, as filtra_mixer_input.bias; NULL: none */
  ft_windows windows;  /* windows of the mixer, with their own bias in place of `bias` */
  float spread;        /* initial deviation of the windows' bias */
} ft_encoder_options;

/** One block: x [B,N,C], mask [B,N] -> [B,N,C]. *auxiliary as in ft_mixer_class.build. */
filtra_tensor *ft_encoder_block(const ft_scope *scope, const ft_encoder_options *options,
                                filtra_tensor *x, filtra_tensor *mask, filtra_tensor **auxiliary);

/** A class layer (Touvron et al. 2021, CaiT): pre-norm attention in which the only query is `token`
 * [B,1,C] and keys are the token and x [B,N,C], then a feed-forward layer -> [B,1,C]. mask [B,1+N].
 * Ignores the options' mixer, bias and ContraNorm. */
filtra_tensor *ft_class_block(const ft_scope *scope, const ft_encoder_options *options,
                              filtra_tensor *token, filtra_tensor *x, filtra_tensor *mask);

#endif
