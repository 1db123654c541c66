/* Rows and states that an execution keeps for later ones: keys, values and sums of earlier tokens.
 * Called by nn/past.c and model/generate.c. */
#include "cache/contract.h"
#include "ops/decoding.h"
#include "ops/support.h"

static void refuse_gradient(filtra_graph *g, const void *context) {
  (void)context;
  ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                "cache_write: no gradient leads through tokens of earlier runs; train on whole "
                "sequences");
}

static bool check_rows(filtra_graph *g, const filtra_tensor *t, const char *argument) {
  if (!ft_usable(g, t)) return false;
  if (filtra_tensor_dtype(t) == FILTRA_F32 && t->ndim == 4 &&
      (t->stride[3] == 1 || t->shape[3] == 1))
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "cache_write: %s (%s %s) must be F32 [B,H,N,D] with a dense last axis", argument,
                t->name, ft_shape_text(t));
  return false;
}

static bool check_position(filtra_graph *g, const filtra_tensor *position, const filtra_tensor *x) {
  if (!ft_usable_integers(g, position, 1, "cache_write", "position")) return false;
  if (position->shape[0] == x->shape[0] && x->shape[2] == 1) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "cache_write: position %s must be [B] of x %s, which must have one token",
                ft_shape_text(position), ft_shape_text(x));
  return false;
}

static bool check_cache(filtra_graph *g, const filtra_tensor *cache, const filtra_tensor *x) {
  if (ft_graph_training(g)) {
    ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "cache_write: a training graph takes whole sequences, not tokens of earlier runs");
    return false;
  }
  if (cache->storage->home != FT_HOME_ARENA && cache->shape[0] == x->shape[0] &&
      cache->shape[1] == x->shape[1] && cache->shape[2] >= x->shape[2] &&
      cache->shape[3] == x->shape[3])
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "cache_write: cache %s %s must be external and [B,H,M,D] of x %s, M >= N",
                cache->name, ft_shape_text(cache), ft_shape_text(x));
  return false;
}

filtra_tensor *ft_cache_write(filtra_graph *g, filtra_tensor *cache, filtra_tensor *x,
                              filtra_tensor *position) {
  if (!check_rows(g, cache, "cache") || !check_rows(g, x, "x") || !check_cache(g, cache, x) ||
      (position && !check_position(g, position, x)))
    return NULL;
  struct ft_cache_write_arguments given = {.x = FT_READ(x),
                                           .position = FT_READ(position),
                                           .cache = FT_WRITE(cache),
                                           .count = (uint32_t)filtra_tensor_elements(x),
                                           .heads = (uint32_t)x->shape[1],
                                           .tokens = (uint32_t)x->shape[2],
                                           .rows = (uint32_t)cache->shape[2]};
  for (int i = 0; i < 3; i++) {
    given.x_stride[i] = (uint32_t)x->stride[i];
    given.cache_stride[i] = (uint32_t)cache->stride[i];
  }
  ft_record_call(g, &(ft_kernel_call){.label = "cache_write",
                                      .kernel = "cache/write",
                                      FT_ARGUMENTS_AT(cache_write, &given),
                                      FT_CONSTANTS(cache_write, .columns = (uint32_t)x->shape[3],
                                                   .placed = position != NULL),
                                      FT_FLAT(g, given.count),
                                      .bytes = 8.0 * given.count});
  return ft_record_op(g, "cache_write", refuse_gradient, NULL, 0, 1, &x, 1, &cache);
}

filtra_tensor *ft_state_read(filtra_graph *g, filtra_tensor *state, filtra_tensor *position) {
  if (!ft_usable_dense(g, state, "state_read", "state") ||
      !ft_usable_integers(g, position, 1, "state_read", "position"))
    return NULL;
  filtra_tensor *y = ft_tensor_like(g, state, state->name);
  if (!y) return NULL;
  uint32_t count = (uint32_t)filtra_tensor_elements(y);
  ft_record_call(
      g, &(ft_kernel_call){.label = "state_read",
                           .kernel = "cache/state",
                           FT_ARGUMENTS(cache_state, .state = FT_READ(state),
                                        .position = FT_READ(position), .y = FT_WRITE(y),
                                        .count = count, .width = count / (uint32_t)state->shape[0]),
                           FT_FLAT(g, count),
                           .bytes = 8.0 * count});
  return y;
}

void ft_state_write(filtra_graph *g, filtra_tensor *state, filtra_tensor *x) {
  if (!ft_usable_dense(g, x, "state_write", "state")) return;
  if (ft_graph_training(g))
    ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "state_write: a training graph takes whole sequences, not tokens of earlier runs");
  else
    ft_emit_copy(g, x, state, false);
}

filtra_tensor *ft_cache_mask(filtra_graph *g, filtra_tensor *position, int64_t rows) {
  if (!ft_usable_integers(g, position, 1, "cache_mask", "position")) return NULL;
  filtra_tensor *mask =
      ft_tensor_new(g, "cache mask", FILTRA_F32, 2, (int64_t[]){position->shape[0], rows});
  if (!mask) return NULL;
  const uint32_t count = (uint32_t)filtra_tensor_elements(mask);
  ft_record_call(g, &(ft_kernel_call){.label = "cache_mask",
                                      .kernel = "cache/mask",
                                      FT_ARGUMENTS(cache_mask, .position = FT_READ(position),
                                                   .mask = FT_WRITE(mask), .count = count,
                                                   .rows = (uint32_t)rows),
                                      FT_FLAT(g, count),
                                      .bytes = 4.0 * count});
  return mask;
}
