/* A block of the encoder: mixer and feed-forward network with norms and residual sums, or the
 * Converter's block. Called by model/network.c for each layer. */
#include "nn/encoder.h"

#include "graph/graph.h"
#include "nn/contra_norm.h"
#include "nn/converter.h"

#include <string.h>

/* What the mixer returns, if it has the shapes that filtra/mixer.h asks for: sums would broadcast
 * others. */
static filtra_tensor *build_mixer(const ft_scope *scope, const ft_encoder_options *o,
                                  const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  const char *name = o->mixer->kind->name;
  const size_t inputs = ft_graph_input_count(g);
  const bool fine = ft_graph_accept(g, FILTRA_OK);
  filtra_tensor *y = o->mixer->kind->build(scope, o->mixer->options, in, auxiliary), *loss;
  const size_t dot = strlen(scope->prefix);
  if (fine && ft_graph_status(g))
    ft_graph_fail_context(g, "mixer \"%s\", %.*s", name, (int)(dot ? dot - 1 : 0), scope->prefix);
  if (ft_graph_input_count(g) != inputs)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "mixer \"%s\" adds an input to the graph, which nobody would set", name);
  if (!y) ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "mixer \"%s\" returns NULL", name);
  if (!ft_usable(g, y)) return NULL;
  if (y->ndim != in->x->ndim || memcmp(y->shape, in->x->shape, sizeof *y->shape * y->ndim) != 0)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "mixer \"%s\" returns %s; expected is its input's shape, %s", name,
                         ft_shape_text(y), ft_shape_text(in->x));
  loss = *auxiliary;
  if (loss && ft_usable(g, loss) && (loss->ndim != 1 || loss->shape[0] != y->shape[0]))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "the auxiliary loss of mixer \"%s\" is %s; expected is one value per "
                         "sample, [%lld]",
                         name, ft_shape_text(loss), (long long)y->shape[0]);
  return y;
}

/* The mixer on the windows of in->x [B,N,C], one sequence each, without padding. */
static filtra_tensor *mix_windows(const ft_scope *scope, const ft_encoder_options *o,
                                  filtra_mixer_input *in, filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  const ft_windows *w = &o->windows;
  if (!ft_usable(g, in->x)) return NULL;
  in->bias = ft_windows_bias(scope, w, in->x->shape[0], o->heads, o->spread);
  const bool several = ft_windows_several(w);
  if (several) {
    in->x = ft_windows_cut(g, w, in->x);
    if (!ft_usable(g, in->x)) return NULL;
    in->mask = filtra_constant(g, 2, in->x->shape, 1.0f);
    in->max_length = in->x->shape[1];
  }
  filtra_tensor *y = build_mixer(scope, o, in, auxiliary);
  return several ? ft_windows_join(g, w, y) : y;
}

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
                           .bias = o->bias,
                           .context = kind->context};
  if (scope->past && kind->not_decoded)
    return ft_graph_fail(scope->graph, FILTRA_ERROR_UNSUPPORTED,
                         "mixer \"%s\" cannot go on with a text token by token: %s", kind->name,
                         kind->not_decoded);
  if (o->windows.rows) return mix_windows(&inner, o, &in, auxiliary);
  return o->converter ? kind->build_complex(&inner, o->mixer->options, &in, auxiliary)
                      : build_mixer(&inner, o, &in, auxiliary);
}

/* residual + dropout(W2 hidden_dropout(act(W1 x))) */
static filtra_tensor *feed_forward(const ft_scope *scope, const ft_encoder_options *o,
                                   filtra_tensor *x, filtra_tensor *residual) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope inner = ft_scope_enter(scope, "ffn");
  filtra_tensor *h = filtra_scope_linear(&inner, "1", x, o->ffn_width,
                                         &(filtra_linear_options){.activation = o->activation,
                                                                  .dropout = o->hidden_dropout,
                                                                  .dtype = scope->precision});
  return filtra_scope_linear(&inner, "2", h, ft_columns(x),
                             &(filtra_linear_options){.dropout = o->dropout, .residual = residual});
}

/* With FEED_FORWARD, the feed-forward layer is a segment that is recomputed whole. */
static void begin_feed_forward(filtra_graph *g) {
  if (ft_graph_recompute(g) != FT_RECOMPUTE_FEED_FORWARD) return;
  ft_segment_end(g);
  ft_segment_begin(g, FT_RECOMPUTE_BLOCKS);
}

/* z = ScaleNorm(mixer(x) + x), y = ScaleNorm(GFFN(z) + zeta Re z + (1 - zeta) Im z) */
static filtra_tensor *converter_block(const ft_scope *scope, const ft_encoder_options *o,
                                      filtra_tensor *x, filtra_tensor *mask,
                                      filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  ft_scope ffn = ft_scope_enter(scope, "ffn");
  filtra_tensor *z = mix(scope, o, x, NULL, mask, auxiliary);
  z = ft_scale_norm_layer(scope, "norm1", filtra_add(g, z, filtra_complex(g, x, NULL)), true);
  begin_feed_forward(g);
  ft_gffn_options options = {.width = o->ffn_width,
                             .activation = o->activation,
                             .dropout = o->dropout,
                             .residual = ft_blend_layer(scope, z)};
  return ft_scale_norm_layer(scope, "norm2", ft_gffn(&ffn, z, &options), false);
}

static bool drops_paths(const ft_scope *scope, const ft_encoder_options *o) {
  return o->drop_path > 0.0f && ft_graph_training(scope->graph);
}

/* Whether branches are computed apart from x, to which join_branch adds them. */
static bool is_apart(const ft_scope *scope, const ft_encoder_options *o) {
  return o->layer_scale > 0.0f || drops_paths(scope, o) || ft_windows_several(&o->windows);
}

/* x + branch. LayerScale (Touvron et al. 2021, CaiT) multiplies the branch by a learned number for
 * each channel. Stochastic depth (Huang et al. 2016) drops the branch of whole sequences, drawn for
 * each layer and branch, and scales kept branches by 1 / (1 - rate). Without both the branch
 * includes x already. */
static filtra_tensor *join_branch(const ft_scope *scope, const ft_encoder_options *o,
                                  const char *scale, filtra_tensor *x, filtra_tensor *branch) {
  filtra_graph *g = scope->graph;
  if (!is_apart(scope, o) || !ft_usable(g, branch)) return branch;
  if (o->layer_scale > 0.0f) {
    const filtra_parameter_options init = {.init = FILTRA_INIT_CONSTANT, .value = o->layer_scale};
    const int64_t width = ft_columns(x);
    branch = filtra_multiply(g, branch, filtra_scope_parameter(scope, scale, 1, &width, &init));
  }
  if (!drops_paths(scope, o)) return filtra_add(g, x, branch);
  const int64_t one[] = {x->shape[0], 1, 1};
  filtra_tensor *kept = ft_tensor_new(g, "drop path", FILTRA_F32, 3, one);
  ft_emit_fill(g, kept, 1.0f);
  kept = filtra_dropout(g, kept, o->drop_path);
  return filtra_add(g, x, filtra_multiply(g, branch, kept));
}

/* A norm with ContraNorm before it, if the model has that: in pre-norm models each norm, as in its
 * authors' ViT; in post-norm models the one after the mixer, as in their BERT. */
static filtra_tensor *contra_normed(const ft_scope *scope, const ft_encoder_options *o,
                                    const char *name, filtra_tensor *x, filtra_tensor *mask,
                                    filtra_dtype dtype) {
  return ft_norm_layer(scope, name, ft_contra_norm(scope->graph, x, mask, o->contra_norm), dtype);
}

static filtra_tensor *block(const ft_scope *scope, const ft_encoder_options *o, filtra_tensor *x,
                            filtra_tensor *mask, filtra_tensor **auxiliary) {
  if (o->converter) return converter_block(scope, o, x, mask, auxiliary);
  const filtra_dtype narrow = scope->precision,
                     mixed = o->mixer->kind->narrow ? narrow : FILTRA_F32;
  const bool apart = is_apart(scope, o);
  filtra_tensor *in = o->post_norm ? x : contra_normed(scope, o, "norm1", x, mask, mixed);
  x = join_branch(scope, o, "layer_scale1", x,
                  mix(scope, o, in, apart ? NULL : x, mask, auxiliary));
  /* The residual stream is F32. */
  if (o->post_norm) x = contra_normed(scope, o, "norm1", x, mask, FILTRA_F32);
  begin_feed_forward(scope->graph);
  in = o->post_norm ? x : contra_normed(scope, o, "norm2", x, mask, narrow);
  x = join_branch(scope, o, "layer_scale2", x, feed_forward(scope, o, in, apart ? NULL : x));
  return o->post_norm ? ft_norm_layer(scope, "norm2", x, FILTRA_F32) : x;
}

filtra_tensor *ft_encoder_block(const ft_scope *scope, const ft_encoder_options *o,
                                filtra_tensor *x, filtra_tensor *mask, filtra_tensor **auxiliary) {
  *auxiliary = NULL;
  x = block(scope, o, x, mask, auxiliary);
  ft_observe(scope, "x", x);
  return x;
}

/* ---- class layers ---- */

/* Attention of the first token of u [B,1+N,C] to all of them -> [B,1,C]. */
static filtra_tensor *attend_from_first(const ft_scope *scope, const ft_encoder_options *o,
                                        filtra_tensor *u, filtra_tensor *residual,
                                        filtra_tensor *mask) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, u)) return NULL;
  const ft_scope inner = ft_scope_enter(scope, "mixer");
  const filtra_linear_options narrow = {.dtype = scope->precision};
  const int64_t width = ft_columns(u), origin[3] = {0}, first[] = {u->shape[0], 1, width};
  filtra_tensor *kv[2];
  filtra_tensor *q =
      filtra_scope_linear(&inner, "q", filtra_slice(g, u, origin, first), width, &narrow);
  filtra_chunk(g, filtra_scope_linear(&inner, "kv", u, 2 * width, &narrow), 2, kv);
  filtra_tensor *y = filtra_attention(
      g, filtra_split_heads(g, q, o->heads), filtra_split_heads(g, kv[0], o->heads),
      filtra_split_heads(g, kv[1], o->heads), &(filtra_attention_options){.mask = mask});
  return filtra_scope_linear(&inner, "out", filtra_merge_heads(g, y), width,
                             &(filtra_linear_options){.dropout = o->dropout, .residual = residual});
}

filtra_tensor *ft_class_block(const ft_scope *scope, const ft_encoder_options *o,
                              filtra_tensor *token, filtra_tensor *x, filtra_tensor *mask) {
  filtra_graph *g = scope->graph;
  const bool apart = is_apart(scope, o);
  filtra_tensor *u = filtra_concat(g, 1, 2, (filtra_tensor *[]){token, x});
  u = ft_norm_layer(scope, "norm1", u, scope->precision);
  token = join_branch(scope, o, "layer_scale1", token,
                      attend_from_first(scope, o, u, apart ? NULL : token, mask));
  begin_feed_forward(g);
  filtra_tensor *in = ft_norm_layer(scope, "norm2", token, scope->precision);
  return join_branch(scope, o, "layer_scale2", token,
                     feed_forward(scope, o, in, apart ? NULL : token));
}
