/* The encoder classifier: embedding and positions, blocks, norm, pooling, two-layer head. */
#include "model/model.h"

static filtra_tensor *embed(const ft_scope *scope, const ft_model_options *o,
                            filtra_tensor *tokens) {
  filtra_graph *g = scope->graph;
  const filtra_parameter_options init = {.init = FILTRA_INIT_NORMAL, .value = 0.02f};
  filtra_tensor *table = ft_parameter_tensor(scope, "embedding.weight", 2,
                                             (int64_t[]){o->vocabulary, o->width}, &init);
  filtra_tensor *x = filtra_embedding(g, table, tokens);
  switch ((filtra_positions)o->positions) {
  case FILTRA_POSITIONS_LEARNED:
    x = filtra_add_positions(g, x,
                             ft_parameter_tensor(scope, "positions.weight", 2,
                                                 (int64_t[]){o->max_length, o->width}, &init));
    break;
  case FILTRA_POSITIONS_SINUSOIDAL:
    x = filtra_add_sinusoids(g, x);
    break;
  case FILTRA_POSITIONS_NONE:
    break;
  }
  return filtra_dropout(g, x, o->dropout);
}

static filtra_tensor *pool(filtra_graph *g, const ft_model_options *o, filtra_tensor *x,
                           filtra_tensor *mask) {
  if (!ft_usable(g, x)) return NULL;
  switch ((filtra_pooling)o->pooling) {
  case FILTRA_POOLING_MEAN:
    return filtra_pool_mean(g, x, mask, false);
  case FILTRA_POOLING_MEAN_ALL: /* the divisor must not depend on how far a batch is padded */
    return filtra_affine(g, filtra_pool_mean(g, x, mask, true),
                         (float)x->shape[1] / (float)o->max_length, 0.0f);
  case FILTRA_POOLING_FIRST:
    return filtra_pool_first(g, x);
  }
  return NULL;
}

filtra_tensor *ft_classifier_build(const ft_scope *scope, const ft_model_options *o,
                                   filtra_tensor *tokens, filtra_tensor *mask,
                                   filtra_tensor **auxiliary) {
  filtra_graph *g = scope->graph;
  *auxiliary = NULL;
  if (!ft_usable(g, tokens) || !ft_usable(g, mask)) return NULL;
  if (o->mask_zero) mask = filtra_multiply(g, mask, filtra_token_mask(g, tokens));
  ft_encoder_options encoder = {.mixer = &o->mixer,
                                .heads = o->heads,
                                .ffn_width = o->ffn_width,
                                .activation = (filtra_activation)o->activation,
                                .dropout = o->dropout,
                                .post_norm = o->norm != 0};
  ft_scope embedding = ft_scope_enter(scope, "embedding");
  filtra_tensor *x = embed(scope, o, tokens);
  ft_observe(&embedding, "x", x);
  for (int64_t i = 0; i < o->layers; i++) {
    ft_scope layer = ft_scope_enter(scope, "layers.%lld", (long long)i);
    filtra_tensor *loss;
    x = ft_encoder_block(&layer, &encoder, x, mask, &loss);
    if (loss) *auxiliary = *auxiliary ? filtra_add(g, *auxiliary, loss) : loss;
  }
  if (*auxiliary) *auxiliary = filtra_affine(g, *auxiliary, 1.0f / (float)o->layers, 0.0f);
  x = pool(g, o, ft_norm_layer(scope, "norm", x), mask);
  ft_scope head = ft_scope_enter(scope, "head");
  filtra_linear_options hidden = {.activation = FILTRA_ACTIVATION_RELU};
  x = ft_linear_layer(&head, "1", x, o->head_width, &hidden);
  return ft_linear_layer(&head, "2", x, o->classes, NULL);
}
