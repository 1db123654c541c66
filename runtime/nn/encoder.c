#include "nn/encoder.h"

#include "nn/converter.h"

static filtra_tensor *mix(const ft_scope *scope, const ft_encoder_options *o, filtra_tensor *x,
                          filtra_tensor *residual, filtra_tensor *mask, filtra_tensor **auxiliary) {
  ft_scope inner = ft_scope_enter(scope, "mixer");
  const ft_mixer_class *kind = o->mixer->kind;
  filtra_mixer_input in = {.x = x,
                           .mask = mask,
                           .residual = residual,
                           .heads = o->heads,
                           .dropout = o->dropout,
                           .causal = o->causal,
                           .max_length = o->max_length,
                           .context = kind->context};
  if (scope->past && kind->not_decoded)
    return ft_graph_fail(scope->graph, FILTRA_ERROR_UNSUPPORTED,
                         "mixer \"%s\" cannot go on with a text token by token: %s", kind->name,
                         kind->not_decoded);
  return (o->converter ? kind->build_complex : kind->build)(&inner, o->mixer->options, &in,
                                                            auxiliary);
}

/* residual + dropout(W2 dropout(act(W1 x))) */
static filtra_tensor *feed_forward(const ft_scope *scope, const ft_encoder_options *o,
                                   filtra_tensor *x, filtra_tensor *residual) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope inner = ft_scope_enter(scope, "ffn");
  filtra_tensor *h = filtra_scope_linear(&inner, "1", x, o->ffn_width,
                                         &(filtra_linear_options){.activation = o->activation,
                                                                  .dropout = o->dropout,
                                                                  .dtype = scope->precision});
  return filtra_scope_linear(&inner, "2", h, ft_columns(x),
                             &(filtra_linear_options){.dropout = o->dropout, .residual = residual});
}

/* z = ScaleNorm(mixer(x) + x), y = ScaleNorm(GFFN(z) + zeta Re z + (1 - zeta) Im z) */
static filtra_tensor *converter_block(const ft_scope *scope, const ft_encoder_options *o,
                                      filtra_tensor *x, filtra_tensor *mask,
                                      filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  ft_scope ffn = ft_scope_enter(scope, "ffn");
  filtra_tensor *z = mix(scope, o, x, NULL, mask, auxiliary);
  z = ft_scale_norm_layer(scope, "norm1", filtra_add(g, z, filtra_complex(g, x, NULL)), true);
  ft_gffn_options options = {.width = o->ffn_width,
                             .activation = o->activation,
                             .dropout = o->dropout,
                             .residual = ft_blend_layer(scope, z)};
  return ft_scale_norm_layer(scope, "norm2", ft_gffn(&ffn, z, &options), false);
}

static filtra_tensor *block(const ft_scope *scope, const ft_encoder_options *o, filtra_tensor *x,
                            filtra_tensor *mask, filtra_tensor **auxiliary) {
  if (o->converter) return converter_block(scope, o, x, mask, auxiliary);
  const filtra_dtype narrow = scope->precision,
                     mixed = o->mixer->kind->narrow ? narrow : FILTRA_F32;
  if (o->post_norm) { /* the norms' results are the residual stream */
    x = ft_norm_layer(scope, "norm1", mix(scope, o, x, x, mask, auxiliary), FILTRA_F32);
    return ft_norm_layer(scope, "norm2", feed_forward(scope, o, x, x), FILTRA_F32);
  }
  x = mix(scope, o, ft_norm_layer(scope, "norm1", x, mixed), x, mask, auxiliary);
  return feed_forward(scope, o, ft_norm_layer(scope, "norm2", x, narrow), x);
}

filtra_tensor *ft_encoder_block(const ft_scope *scope, const ft_encoder_options *o,
                                filtra_tensor *x, filtra_tensor *mask, filtra_tensor **auxiliary) {
  *auxiliary = NULL;
  x = block(scope, o, x, mask, auxiliary);
  ft_observe(scope, "x", x);
  return x;
}
