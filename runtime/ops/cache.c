/* Rows that graphs leave for later runs: keys and values of tokens past. */
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
  if (t->dtype == FILTRA_F32 && t->ndim == 4 && (t->stride[3] == 1 || t->shape[3] == 1))
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "cache_write: %s (%s %s) must be F32 [B,H,N,D] with a dense last axis", argument,
                t->name, ft_shape_text(t));
  return false;
}

static bool check_position(filtra_graph *g, const filtra_tensor *position, int64_t batch) {
  if (!ft_usable_integers(g, position, 1, "cache_write", "position")) return false;
  if (position->shape[0] == batch) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "cache_write: position %s must be [%lld]",
                ft_shape_text(position), (long long)batch);
  return false;
}

filtra_tensor *ft_cache_write(filtra_graph *g, filtra_tensor *cache, filtra_tensor *x,
                              filtra_tensor *position) {
  if (!check_rows(g, cache, "cache") || !check_rows(g, x, "x")) return NULL;
  if (position && !check_position(g, position, x->shape[0])) return NULL;
  if (ft_graph_training(g))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "cache_write: a training graph takes whole sequences, not tokens of "
                         "earlier runs");
  if (cache->storage->planned || cache->shape[0] != x->shape[0] || cache->shape[1] != x->shape[1] ||
      cache->shape[3] != x->shape[3])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "cache_write: cache %s %s must be external and [B,H,M,D] of x %s",
                         cache->name, ft_shape_text(cache), ft_shape_text(x));
  struct {
    uint32_t count, heads, tokens, rows, x_stride[3], cache_stride[3];
  } push = {(uint32_t)filtra_tensor_elements(x),
            (uint32_t)x->shape[1],
            (uint32_t)x->shape[2],
            (uint32_t)cache->shape[2],
            {0},
            {0}};
  for (int i = 0; i < 3; i++) {
    push.x_stride[i] = (uint32_t)x->stride[i];
    push.cache_stride[i] = (uint32_t)cache->stride[i];
  }
  ft_call(g, &(ft_kernel_call){.label = "cache_write",
                               .kernel = "cache/write",
                               .args = {FT_READ(x), FT_READ(position), FT_WRITE(cache)},
                               .push = &push,
                               .push_size = sizeof push,
                               .workgroup = FT_FLAT_WORKGROUP,
                               .spec = {(uint32_t)x->shape[3]},
                               .spec_count = 1,
                               .groups = {ft_flat_groups(g, push.count)},
                               .bytes = 8.0 * push.count});
  if (!ft_tape(g, "cache_write", refuse_gradient, 0, 1, &x, 1, &cache)) return NULL;
  return cache;
}
