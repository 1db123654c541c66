/* The network of every task: embedding, blocks around a mixer, norm, pooling and head. Called by
 * model/batch.c and model/generate.c. */
#include "graph/parameters.h"
#include "model/model.h"
#include "nn/contra_norm.h"
#include "nn/converter.h"
#include "nn/past.h"
#include "ops/decoding.h"

#include <math.h>
#include <string.h>

ft_scope ft_network_scope(filtra_graph *graph, filtra_parameters *params,
                          const filtra_model_config *config) {
  return (ft_scope){.graph = graph,
                    .params = params,
                    .precision = ft_precision_dtype(config->precision),
                    .init_std = config->init_std,
                    .norm_epsilon = config->norm_epsilon};
}

/* The activation with its parameters, as ops take it. */
static filtra_activation layer_activation(filtra_activation activation) {
  return activation == FILTRA_ACTIVATION_IDENTITY ? FILTRA_ACTIVATION_NONE : activation;
}

/* The embedding table for lookups: F32 if it exists in F32. A tied head multiplies by the 16-bit
 * copy. */
static filtra_tensor *embedding_table(const ft_scope *scope, const filtra_model_config *o) {
  const char *const name = "embedding.weight";
  const bool narrow = scope->params->narrow;
  const filtra_parameter_options init = {.init = FILTRA_INIT_NORMAL,
                                         .value = o->embedding_init,
                                         .copy = o->tie_embeddings || narrow ? scope->precision
                                                                             : FILTRA_F32};
  if (narrow && scope->params->committed)
    return filtra_graph_parameter_copy(scope->graph, scope->params, name);
  return filtra_scope_parameter(scope, name, 2, (int64_t[]){o->vocabulary, o->width}, &init);
}

/* ---- input: [B,N] ids or [B,N,F] numbers -> [B,N,width] ---- */

/* Cuts images into patches: pixels row by row [B, h w, F] -> patches row by row [B, h w / P^2, P P
 * F], in which pixels are row by row. This is split_heads with rows of patches as batches, rows of
 * pixels as tokens, and the patches of a row as heads. */
static filtra_tensor *cut_patches(filtra_graph *g, const filtra_model_config *o, filtra_tensor *x) {
  if (!ft_usable(g, x)) return NULL;
  int64_t p = o->patch, columns = o->image_width / p, rows = x->shape[0] * (o->image_height / p);
  int64_t band[] = {rows, p, o->image_width * o->features};
  filtra_tensor *view = filtra_split_heads(g, filtra_reshape(g, x, 3, band), columns);
  const int64_t start[4] = {0}, box[] = {rows, columns, p, p * o->features};
  const int64_t patches[] = {x->shape[0], ft_model_tokens(o), p * p * o->features};
  return filtra_reshape(g, filtra_slice(g, view, start, box), 3, patches);
}

/* A learned token [B,1,C] to put before each sequence of x; prepends a 1 to its mask. */
static filtra_tensor *make_token(const ft_scope *scope, const char *name, filtra_tensor *x,
                                 filtra_tensor **mask) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x) || !ft_usable(g, *mask)) return NULL;
  const int64_t one[] = {x->shape[0], 1, x->shape[2]};
  filtra_tensor *token = ft_tensor_new(g, name, FILTRA_F32, 3, one);
  filtra_tensor *real = ft_tensor_new(g, "class token mask", FILTRA_F32, 2, one);
  ft_emit_fill(g, token, 0.0f);
  ft_emit_fill(g, real, 1.0f);
  const ft_scope inner = ft_scope_enter(scope, "%s", name);
  filtra_tensor *table = filtra_scope_parameter(
      &inner, "weight", 2, one + 1,
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL,
                                  .value = scope->init_std > 0.0f ? scope->init_std : 0.02f});
  token = filtra_add_positions(g, token, table);
  *mask = filtra_concat(g, 1, 2, (filtra_tensor *[]){real, *mask});
  return token;
}

static filtra_tensor *put_in_front(const ft_scope *scope, const char *name, filtra_tensor *x,
                                   filtra_tensor **mask) {
  filtra_tensor *token = make_token(scope, name, x, mask);
  return filtra_concat(scope->graph, 1, 2, (filtra_tensor *[]){token, x});
}

/* Largest number of tokens that blocks get, including those in front. */
static int64_t most_tokens(const filtra_model_config *o) {
  return ft_model_tokens(o) + ft_model_front(o);
}

/* The table of positions [rows, width]; if no token gets its first rows, the remaining rows. */
static filtra_tensor *position_table(const ft_scope *scope, const filtra_model_config *o) {
  const filtra_parameter_options init = {.init = FILTRA_INIT_NORMAL, .value = o->embedding_init};
  const int64_t used[] = {most_tokens(o), o->width}, start[] = {o->position_offset, 0},
                all[] = {used[0] + o->position_offset, o->width};
  filtra_tensor *table = filtra_scope_parameter(scope, "positions.weight", 2, all, &init);
  return o->position_offset ? filtra_slice(scope->graph, table, start, used) : table;
}

/* x [B,1,C] plus row position[b] of the table. */
static filtra_tensor *add_position(filtra_graph *g, filtra_tensor *x, filtra_tensor *table,
                                   filtra_tensor *position) {
  if (!ft_usable(g, position)) return NULL;
  position = filtra_reshape(g, position, 2, (int64_t[]){position->shape[0], 1});
  return filtra_add(g, x, filtra_embedding(g, table, position));
}

static filtra_tensor *add_positions(const ft_scope *scope, const filtra_model_config *o,
                                    filtra_tensor *x) {
  filtra_tensor *table, *first = scope->past ? scope->past->position : NULL;
  switch (o->positions) {
  case FILTRA_POSITIONS_LEARNED:
    table = position_table(scope, o);
    return first ? add_position(scope->graph, x, table, first)
                 : filtra_add_positions(scope->graph, x, table);
  case FILTRA_POSITIONS_SINUSOIDAL:
    return ft_add_sinusoids_from(scope->graph, x, first);
  case FILTRA_POSITIONS_RECURRENT: {
    ft_scope inner = ft_scope_enter(scope, "positions");
    filtra_tensor *offset = ft_recurrent_positions(&inner, x, 2, o->dropout);
    return filtra_add(scope->graph, x, offset);
  }
  case FILTRA_POSITIONS_NONE:
  case FILTRA_POSITIONS_RELATIVE: /* added in attention */
    break;
  }
  return x;
}

static filtra_tensor *add_types(const ft_scope *scope, const filtra_model_config *o,
                                filtra_tensor *x, filtra_tensor *types) {
  if (!o->token_types) return x;
  filtra_tensor *table = filtra_scope_parameter(
      scope, "token_types.weight", 2, (int64_t[]){o->token_types, o->width},
      &(filtra_parameter_options){.init = FILTRA_INIT_NORMAL, .value = o->embedding_init});
  return filtra_add(scope->graph, x, filtra_embedding(scope->graph, table, types));
}

static filtra_tensor *embed(const ft_scope *scope, const filtra_model_config *o,
                            const ft_network_input *in, filtra_tensor *table,
                            filtra_tensor **mask) {
  filtra_graph *g = scope->graph;
  filtra_tensor *x = in->features;
  ft_scope input = *scope;
  /* DeiT's patch embedding is a convolution with uniform initial weights */
  if (o->patch) input.init_std = 0.0f;
  if (o->patch) {
    x = cut_patches(g, o, x);
    *mask = x ? ft_tensor_new(g, "patch mask", FILTRA_F32, 2, x->shape) : NULL;
    ft_emit_fill(g, *mask, 1.0f); /* images have no padding */
  }
  x = o->features ? filtra_scope_linear(&input, "embedding", x, o->width, NULL)
                  : filtra_embedding(g, table, in->tokens);
  if (in->edges.degrees) x = ft_edges_add_degrees(scope, o, &in->edges, x);
  if (o->scale_embeddings) x = filtra_affine(g, x, sqrtf((float)o->width), 0.0f);
  if (o->distillation) x = put_in_front(scope, "distillation_token", x, mask);
  if (o->pooling == FILTRA_POOLING_CLASS_TOKEN && !o->class_layers)
    x = put_in_front(scope, "class_token", x, mask);
  ft_scope inner = ft_scope_enter(scope, "embedding");
  x = add_types(scope, o, x, in->types);
  x = add_positions(scope, o, x);
  if (o->embedding_norm) x = ft_norm_layer(&inner, "norm", x, FILTRA_F32);
  if (o->block == FILTRA_BLOCK_CONVERTER) x = ft_scale_norm_layer(&inner, "norm", x, false);
  x = filtra_dropout(g, x, o->dropout);
  ft_observe(&inner, "x", x);
  return x;
}

/* ---- blocks ---- */

/* Class layers: the class token attends to x, which stays as it is. Returns the token followed by
 * x. */
static filtra_tensor *add_class_token(const ft_scope *scope, const filtra_model_config *o,
                                      ft_encoder_options *encoder, filtra_tensor *x,
                                      filtra_tensor **mask) {
  filtra_graph *g = scope->graph;
  filtra_tensor *token = make_token(scope, "class_token", x, mask);
  encoder->drop_path = 0.0f;
  encoder->windows = (ft_windows){0};
  for (int64_t i = 0; i < o->class_layers; i++) {
    const ft_scope layer = ft_scope_enter(scope, "layers.%lld", (long long)o->layers + i);
    ft_segment_begin(g, ft_graph_recompute(g));
    token = ft_class_block(&layer, encoder, token, x, *mask);
    ft_segment_end(g);
  }
  return filtra_concat(g, 1, 2, (filtra_tensor *[]){token, x});
}

/* Sets the encoder's options for layer i; `place` counts within the stage. */
static void enter_layer(const ft_model_options *options, ft_encoder_options *encoder, int64_t i,
                        int64_t place) {
  const filtra_model_config *o = &options->config;
  const int stage = ft_model_stage_of(o, i);
  encoder->mixer = ft_mixers_at(&options->mixers, i);
  encoder->heads = o->heads << stage;
  encoder->ffn_width = o->ffn_width << stage;
  if (o->even_drop_path)
    encoder->drop_path = o->drop_path;
  else if (o->layers > 1)
    encoder->drop_path = o->drop_path * (float)i / (float)(o->layers - 1);
  if (!o->window && o->positions != FILTRA_POSITIONS_RELATIVE) return;
  int64_t grid[2];
  ft_model_grid(o, stage, grid);
  encoder->windows = ft_windows_of(grid[0], grid[1], o->window, place % 2 == 1);
  encoder->windows.relative = o->positions == FILTRA_POSITIONS_RELATIVE;
  encoder->spread = o->embedding_init;
}

/* Merges the previous stage's patches; images have no padding. */
static filtra_tensor *enter_stage(const ft_scope *layer, const filtra_model_config *o, int stage,
                                  filtra_tensor *x, filtra_tensor **mask) {
  int64_t grid[2];
  const ft_scope inner = ft_scope_enter(layer, "merge");
  ft_model_grid(o, stage - 1, grid);
  x = ft_merge_patches(&inner, x, grid[0], grid[1]);
  if (x) *mask = filtra_constant(layer->graph, 2, x->shape, 1.0f);
  return x;
}

/* Adds the layers; *count receives the number of auxiliary losses in the sum. */
static filtra_tensor *add_layers(const ft_scope *scope, const ft_model_options *options,
                                 ft_encoder_options *encoder, filtra_tensor *x,
                                 filtra_tensor **mask, filtra_tensor **auxiliary, int64_t *count) {
  filtra_graph *g = scope->graph;
  filtra_tensor *carried[FT_MOST_MIXERS] = {0};
  int64_t place = 0;
  for (int64_t i = 0; i < options->config.layers; i++, place++) {
    ft_scope layer = ft_scope_enter(scope, "layers.%lld", (long long)i);
    const int stage = ft_model_stage_of(&options->config, i);
    filtra_tensor *loss;
    const bool enters = i > 0 && stage > ft_model_stage_of(&options->config, i - 1);
    if (enters) place = 0;
    if (enters) memset(carried, 0, sizeof carried); /* the next stage has another width */
    enter_layer(options, encoder, i, place);
    layer.carried = &carried[encoder->mixer - options->mixers.list];
    ft_segment_begin(g, ft_graph_recompute(g));
    if (enters) x = enter_stage(&layer, &options->config, stage, x, mask);
    x = ft_encoder_block(&layer, encoder, x, *mask, &loss);
    ft_segment_end(g);
    if (loss) *auxiliary = *auxiliary ? filtra_add(g, *auxiliary, loss) : loss;
    *count += loss != NULL;
  }
  return x;
}

static filtra_tensor *encode(const ft_scope *scope, const ft_model_options *options,
                             const ft_network_input *in, filtra_tensor *x, filtra_tensor **mask,
                             filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  const filtra_model_config *o = &options->config;
  int64_t count = 0; /* of auxiliary losses */
  ft_encoder_options encoder = {.activation = layer_activation(o->activation),
                                .dropout = o->dropout,
                                .hidden_dropout = o->no_hidden_dropout ? 0.0f : o->dropout,
                                .contra_norm = o->contra_norm,
                                .layer_scale = o->layer_scale,
                                .converter = o->block == FILTRA_BLOCK_CONVERTER,
                                .post_norm = o->norm == FILTRA_NORM_POST,
                                .causal = o->task == FILTRA_TASK_LANGUAGE_MODEL,
                                .max_length = most_tokens(o)};
  if (in->edges.distances) encoder.bias = ft_edges_bias(scope, o, &in->edges);
  x = add_layers(scope, options, &encoder, x, mask, auxiliary, &count);
  if (*auxiliary) *auxiliary = filtra_affine(g, *auxiliary, 1.0f / (float)count, 0.0f);
  if (o->class_layers) x = add_class_token(scope, o, &encoder, x, mask);
  if (encoder.converter || o->no_last_norm) return x;
  if (!encoder.post_norm) x = ft_contra_norm(g, x, *mask, o->contra_norm);
  return ft_norm_layer(scope, "norm", x, FILTRA_F32);
}

/* ---- output ---- */

/* Concatenates all tokens of a sequence, padding as zeros: [B,N,C] -> [B, N C] (Zerveas et al.
 * 2021). */
static filtra_tensor *flatten(filtra_graph *g, const filtra_model_config *o, filtra_tensor *x,
                              filtra_tensor *mask) {
  int64_t batch = x->shape[0], n = x->shape[1], width = x->shape[2];
  x = filtra_activate(g, x, layer_activation(o->activation));
  x = filtra_dropout(g, x, o->dropout);
  x = filtra_mask_tokens(g, x, mask);
  return filtra_reshape(g, x, 2, (int64_t[]){batch, n * width});
}

static filtra_tensor *pool(filtra_graph *g, const filtra_model_config *o, filtra_tensor *x,
                           filtra_tensor *mask) {
  if (!ft_usable(g, x)) return NULL;
  switch (o->pooling) {
  case FILTRA_POOLING_MEAN:
    return filtra_pool_mean(g, x, mask, FILTRA_OVER_MASK);
  case FILTRA_POOLING_MEAN_ALL: /* the divisor must not depend on the batch's padding */
    return filtra_affine(g, filtra_pool_mean(g, x, mask, FILTRA_OVER_ALL),
                         (float)x->shape[1] / (float)ft_model_last_tokens(o), 0.0f);
  case FILTRA_POOLING_FIRST:
  case FILTRA_POOLING_CLASS_TOKEN:
    return filtra_pool_first(g, x);
  case FILTRA_POOLING_FLATTEN:
    return flatten(g, o, x, mask);
  }
  return NULL;
}

/* Declares a linear layer with normal weights; ft_linear_prefix then finds it declared. */
static void declare_normal(const ft_scope *scope, const char *name, int64_t in, int64_t out,
                           float spread) {
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  const filtra_parameter_options weight = {
      .init = FILTRA_INIT_NORMAL, .value = spread, .decay = true};
  ft_scope_weight(&inner, "weight", (int64_t[]){out, in}, &weight);
  filtra_scope_parameter(&inner, "bias", 1, &out, NULL);
}

/* Applies the named head to x [B,..]. x has fewer than `inputs` columns if tokens were concatenated
 * and the batch is padded to less than max_length. */
static filtra_tensor *apply_head(const ft_scope *scope, const filtra_model_config *o,
                                 const char *name, filtra_tensor *x, int64_t inputs) {
  int64_t out = ft_model_outputs(o);
  if (o->head == FILTRA_HEAD_LINEAR)
    return ft_linear_prefix(scope, name, filtra_dropout(scope->graph, x, o->head_dropout), inputs,
                            out, NULL);
  ft_scope head = ft_scope_enter(scope, "%s", name);
  filtra_linear_options hidden = {.activation = layer_activation(o->head_activation),
                                  .dropout = o->head_dropout};
  if (o->block == FILTRA_BLOCK_CONVERTER) { /* He et al. 2015; Glorot & Bengio 2010 */
    declare_normal(&head, "1", inputs, o->head_width, sqrtf(2.0f / (float)inputs));
    declare_normal(&head, "2", o->head_width, out, sqrtf(2.0f / (float)(o->head_width + out)));
  }
  x = ft_linear_prefix(&head, "1", x, inputs, o->head_width, &hidden);
  return filtra_scope_linear(&head, "2", x, out, NULL);
}

/* The mean of two heads; the second one reads the second token of x [B,N,C]. */
static filtra_tensor *join_heads(const ft_scope *scope, const filtra_model_config *o,
                                 filtra_tensor *x, filtra_tensor *logits) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x)) return NULL;
  const int64_t start[] = {0, 1, 0}, box[] = {x->shape[0], 1, x->shape[2]},
                row[] = {x->shape[0], x->shape[2]};
  x = filtra_reshape(g, filtra_slice(g, x, start, box), 2, row);
  filtra_tensor *other = apply_head(scope, o, "distilled_head", x, row[1]);
  return filtra_affine(g, filtra_add(g, logits, other), 0.5f, 0.0f);
}

/* Rows [from, from + count) of t [R,..]. */
static filtra_tensor *rows(filtra_graph *g, filtra_tensor *t, int64_t from, int64_t count) {
  if (!ft_usable(g, t)) return NULL;
  const int64_t start[2] = {from, 0}, box[2] = {count, t->ndim > 1 ? t->shape[1] : 0};
  return filtra_slice(g, t, start, box);
}

/* Joins both sequences of a pair: [2B,C] -> [B,4C] as [a, b, a b, a - b] (Tay et al. 2021). The
 * auxiliary loss becomes the mean of both. */
static filtra_tensor *join_pair(filtra_graph *g, filtra_tensor *x, filtra_tensor **auxiliary) {
  if (!ft_usable(g, x)) return NULL;
  int64_t batch = x->shape[0] / 2;
  filtra_tensor *a = rows(g, x, 0, batch), *b = rows(g, x, batch, batch);
  if (*auxiliary)
    *auxiliary = filtra_affine(
        g, filtra_add(g, rows(g, *auxiliary, 0, batch), rows(g, *auxiliary, batch, batch)), 0.5f,
        0.0f);
  filtra_tensor *difference = filtra_add(g, a, filtra_affine(g, b, -1.0f, 0.0f));
  return filtra_concat(g, 1, 4, (filtra_tensor *[]){a, b, filtra_multiply(g, a, b), difference});
}

/* The embedding table as an operand of a product. */
static filtra_tensor *tied_weight(const ft_scope *scope, const filtra_model_config *config) {
  filtra_tensor *table = embedding_table(scope, config);
  if (scope->precision != FILTRA_F32 && filtra_tensor_dtype(table) == FILTRA_F32)
    table = filtra_graph_parameter_copy(scope->graph, scope->params, "embedding.weight");
  return table;
}

filtra_tensor *ft_network_predict(const ft_scope *scope, const filtra_model_config *config,
                                  filtra_tensor *x) {
  if (!config->tie_embeddings && !config->no_head_bias)
    return filtra_scope_linear(scope, "head", x, config->vocabulary, NULL);
  filtra_tensor *weight = config->tie_embeddings ? tied_weight(scope, config) : NULL, *bias = NULL;
  if (!config->tie_embeddings) {
    const filtra_parameter_options init = ft_scope_matrix(scope, config->width);
    const ft_scope head = ft_scope_enter(scope, "head");
    weight =
        ft_scope_weight(&head, "weight", (int64_t[]){config->vocabulary, config->width}, &init);
  }
  if (!config->no_head_bias)
    bias = filtra_scope_parameter(scope, "head.bias", 1, &config->vocabulary, NULL);
  return filtra_linear(scope->graph, x, weight, bias, NULL);
}

/* Logits of all tokens, [B,N,C] -> [B N, vocabulary], or of in->rows only. */
static filtra_tensor *predict_tokens(const ft_scope *scope, const filtra_model_config *o,
                                     const ft_network_input *in, filtra_tensor *x) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x)) return NULL;
  const int64_t width = x->shape[2];
  x = filtra_reshape(g, x, 2, (int64_t[]){x->shape[0] * x->shape[1], width});
  if (in->rows) {
    x = filtra_embedding(g, x, in->rows);
    x = filtra_reshape(g, x, 2, (int64_t[]){filtra_tensor_elements(in->rows), width});
  }
  return in->headless ? x : ft_network_predict(scope, o, x);
}

/* The vector that represents each sequence of x [B,N,C]. */
static filtra_tensor *embed_sequence(const ft_scope *scope, const filtra_model_config *o,
                                     filtra_vector kind, filtra_tensor *x, filtra_tensor *mask) {
  const filtra_linear_options hidden = {.activation = layer_activation(o->head_activation)};
  if (kind == FILTRA_VECTOR_MEAN) return filtra_pool_mean(scope->graph, x, mask, FILTRA_OVER_MASK);
  if (kind == FILTRA_VECTOR_FIRST) return filtra_pool_first(scope->graph, x);
  x = pool(scope->graph, o, x, mask);
  const ft_scope head = ft_scope_enter(scope, "head");
  return filtra_scope_linear(&head, "1", x, o->head_width, &hidden);
}

filtra_tensor *ft_network_build(const ft_scope *scope, const ft_model_options *options,
                                const ft_network_input *in, filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  const filtra_model_config *o = &options->config;
  filtra_tensor *mask = in->mask, *table = o->features ? NULL : embedding_table(scope, o);
  *auxiliary = NULL;
  if (!ft_usable(g, o->features ? in->features : in->tokens) || !ft_usable(g, mask)) return NULL;
  if (o->mask_zero && in->tokens && !scope->past) /* generators have no padding */
    mask = filtra_multiply(g, mask, filtra_token_mask(g, in->tokens));
  filtra_tensor *x = embed(scope, o, in, table, &mask);
  x = encode(scope, options, in, x, &mask, auxiliary);
  if (in->vector) return embed_sequence(scope, o, in->vector, x, mask);
  if (o->task == FILTRA_TASK_LANGUAGE_MODEL) return predict_tokens(scope, o, in, x);
  filtra_tensor *tokens = x;
  x = pool(g, o, x, mask);
  if (o->task == FILTRA_TASK_PAIR_CLASSIFICATION) x = join_pair(g, x, auxiliary);
  if (!ft_usable(g, x)) return NULL;
  const bool flat = o->pooling == FILTRA_POOLING_FLATTEN;
  x = apply_head(scope, o, "head", x,
                 flat ? ft_model_last_tokens(o) * ft_model_last_width(o) : ft_columns(x));
  return o->distillation == FILTRA_DISTILLATION_MEAN ? join_heads(scope, o, tokens, x) : x;
}

filtra_tensor *ft_total_loss(filtra_graph *g, const ft_model_options *o, filtra_tensor *loss,
                             filtra_tensor *auxiliary) {
  float share = 0.0f;
  int64_t count = 0;
  if (!auxiliary) return loss;
  for (int64_t i = 0; i < o->config.layers; i++) {
    const ft_mixer *mixer = ft_mixers_at(&o->mixers, i);
    if (!mixer->kind->auxiliary_share) continue;
    share += mixer->kind->auxiliary_share(mixer->options);
    count++;
  }
  if (count) share /= (float)count;
  return filtra_add(g, share > 0.0f ? filtra_affine(g, loss, 1.0f - share, 0.0f) : loss, auxiliary);
}
