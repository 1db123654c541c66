/* Masks of real tokens, and pooling over tokens and channels. Called by model/network.c, mixers and
 * programs. */
#include "ops/support.h"
#include "pool/contract.h"

#include <filtra/ops.h>

/* ---- masks ---- */

static filtra_tensor *emit_mask(filtra_graph *g, const char *label, filtra_tensor *source,
                                int64_t batch, int64_t n, bool by_length) {
  filtra_tensor *mask = ft_tensor_new(g, label, FILTRA_F32, 2, (int64_t[]){batch, n});
  if (!mask) return NULL;
  ft_record_call(g, &(ft_kernel_call){
                        .label = label,
                        .kernel = "pool/mask",
                        FT_ARGUMENTS(pool_mask, .source = FT_READ(source), .mask = FT_WRITE(mask),
                                     .n = (uint32_t)n, .batch = (uint32_t)batch),
                        .workgroup = FT_FLAT_WORKGROUP,
                        FT_CONSTANTS(pool_mask, .by_length = by_length),
                        .groups = {ft_flat_groups(g, n), ft_batch_groups(g, n, batch)}});
  return ft_record_op(g, label, NULL, NULL, 0, 1, &source, 1, &mask);
}

filtra_tensor *filtra_token_mask(filtra_graph *g, filtra_tensor *tokens) {
  if (!ft_usable_integers(g, tokens, 2, "token_mask", "tokens")) return NULL;
  return emit_mask(g, "token_mask", tokens, tokens->shape[0], tokens->shape[1], false);
}

filtra_tensor *filtra_length_mask(filtra_graph *g, filtra_tensor *lengths, int64_t n) {
  if (!ft_usable_integers(g, lengths, 1, "length_mask", "lengths")) return NULL;
  if (n < 1)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "length_mask: %lld tokens, must be at least 1",
                         (long long)n);
  return emit_mask(g, "length_mask", lengths, lengths->shape[0], n, true);
}

/* ---- mean and masking ---- */

struct pool {
  filtra_tensor *x, *mask, *y, *scale;
};

static void pool_mean_backward(filtra_graph *g, const void *context) {
  const struct pool *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  int64_t batch = dx->shape[0], n = dx->shape[1], columns = dx->shape[2];
  filtra_tensor *dy = ft_grad(g, c->y);
  const ft_row_way way = ft_row_or_flat(g, "pool/mean_gradient", FILTRA_F32, batch * n, columns,
                                        ft_in_pairs(dy) && ft_in_pairs(dx));
  const uint32_t along = ft_flat_groups(g, n * columns);
  const uint32_t across = ft_batch_groups(g, n * columns, batch);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = "pool_mean.backward",
                     .kernel = way.kernel,
                     FT_ARGUMENTS(pool_mean_gradient, .dy = FT_READ(dy), .scale = FT_READ(c->scale),
                                  .mask = FT_READ(c->mask), .dx = FT_TARGET(dx, accumulate),
                                  .n = (uint32_t)n, .batch = (uint32_t)batch),
                     .workgroup = way.workgroup,
                     .subgroup = way.subgroup,
                     FT_CONSTANTS(pool_mean_gradient, .columns = (uint32_t)columns,
                                  .masked = c->mask != NULL, .accumulate = accumulate),
                     .groups = {way.rows ? way.groups : along, way.rows ? 1 : across},
                     .bytes = 4.0 * (double)filtra_tensor_elements(dx)});
}

/* Sums in two stages, so that many workgroups sum a long sequence, in a fixed order. */
static void emit_mean(filtra_graph *g, const struct pool *c, bool over_all) {
  const int64_t range = 64;
  int64_t batch = c->x->shape[0], n = c->x->shape[1], columns = c->x->shape[2];
  int64_t ranges = (n + range - 1) / range;
  filtra_tensor *sums =
      ft_tensor_new(g, "pool sums", FILTRA_F32, 3, (int64_t[]){batch, ranges, columns + 1});
  if (!sums) return;
  const uint32_t count = (uint32_t)filtra_tensor_elements(sums);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "pool_mean",
             .kernel = "pool/sums",
             FT_ARGUMENTS(pool_sums, .x = FT_READ(c->x), .mask = FT_READ(c->mask),
                          .sums = FT_WRITE(sums), .count = count, .n = (uint32_t)n,
                          .range = (uint32_t)range, .ranges = (uint32_t)ranges),
             FT_CONSTANTS(pool_sums, .columns = (uint32_t)columns, .masked = c->mask != NULL),
             FT_FLAT(g, count),
             .flops = (double)filtra_tensor_elements(c->x),
             .bytes = 4.0 * (double)filtra_tensor_elements(c->x)});
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = "pool_mean",
                     .kernel = "pool/mean",
                     FT_ARGUMENTS(pool_mean, .sums = FT_READ(sums), .y = FT_WRITE(c->y),
                                  .scale = FT_WRITE(c->scale), .count = (uint32_t)(batch * columns),
                                  .ranges = (uint32_t)ranges, .all = over_all ? (uint32_t)n : 0),
                     FT_CONSTANTS(pool_mean, .columns = (uint32_t)columns),
                     FT_FLAT(g, (uint32_t)(batch * columns))});
}

static bool is_sequence(filtra_graph *g, const filtra_tensor *x, const char *op) {
  if (!ft_has_dims(g, x, 3, op, "x")) return false;
  if (x->shape[1] > 0 && x->shape[2] > 0) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s %s has no tokens", op, x->name, ft_shape_text(x));
  return false;
}

static bool usable_sequence(filtra_graph *g, const filtra_tensor *x, const char *op) {
  return ft_usable_dense(g, x, op, "x") && is_sequence(g, x, op);
}

static bool usable_mask(filtra_graph *g, const filtra_tensor *mask, const filtra_tensor *x,
                        const char *op) {
  if (!ft_usable_floats(g, mask, 2, op, "mask")) return false;
  if (mask->shape[0] == x->shape[0] && mask->shape[1] == x->shape[1]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: mask %s does not fit x %s %s", op,
                ft_shape_text(mask), x->name, ft_shape_text(x));
  return false;
}

filtra_tensor *filtra_pool_mean(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                                filtra_mean_over over) {
  if (!ft_known_choice(g, (int)over, FILTRA_OVER_ALL, "pool_mean", "divisor") ||
      !usable_sequence(g, x, "pool_mean"))
    return NULL;
  if (mask && !usable_mask(g, mask, x, "pool_mean")) return NULL;
  struct pool call = {x, mask, NULL, NULL};
  call.y = ft_tensor_new(g, "pool_mean", FILTRA_F32, 2, (int64_t[]){x->shape[0], x->shape[2]});
  call.scale = ft_tensor_new(g, "pool scale", FILTRA_F32, 1, &x->shape[0]);
  if (!call.y || !call.scale) return NULL;
  emit_mean(g, &call, over == FILTRA_OVER_ALL);
  return ft_record_op(g, "pool_mean", pool_mean_backward, &call, sizeof call, 1, &x, 1, &call.y);
}

static void emit_mask_tokens(filtra_graph *g, const char *label, const filtra_tensor *from,
                             const filtra_tensor *mask, const filtra_tensor *to, bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(to);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = label,
             .kernel =
                 ft_kernel_typed(ft_graph_device(g), "pool/mask_tokens", filtra_tensor_dtype(to)),
             FT_ARGUMENTS(pool_mask_tokens, .x = FT_READ(from), .mask = FT_READ(mask),
                          .y = FT_TARGET(to, accumulate), .count = count),
             FT_CONSTANTS(pool_mask_tokens, .columns = (uint32_t)ft_columns(to),
                          .accumulate = accumulate),
             FT_FLAT(g, count),
             .bytes = 2.0 * count * (double)filtra_dtype_bytes(filtra_tensor_dtype(to))});
}

static void mask_tokens_backward(filtra_graph *g, const void *context) {
  const struct pool *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx) emit_mask_tokens(g, "mask_tokens.backward", ft_grad(g, c->y), c->mask, dx, accumulate);
}

filtra_tensor *filtra_mask_tokens(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask) {
  if (!ft_usable_elements(g, x, "mask_tokens", "x") || !is_sequence(g, x, "mask_tokens") ||
      !usable_mask(g, mask, x, "mask_tokens"))
    return NULL;
  if (!ft_dense(x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "mask_tokens: x (%s %s) must be dense", x->name,
                         ft_shape_text(x));
  filtra_tensor *y = ft_tensor_like(g, x, "mask_tokens");
  if (!y) return NULL;
  emit_mask_tokens(g, "mask_tokens", x, mask, y, false);
  const struct pool call = {.x = x, .mask = mask, .y = y};
  return ft_record_op(g, "mask_tokens", mask_tokens_backward, &call, sizeof call, 1, &x, 1, &y);
}

/* ---- first token ---- */

/* A view [B,C] of the first token of each sample of t [B,N,C]. */
static filtra_tensor *first_token(filtra_graph *g, filtra_tensor *t) {
  return ft_tensor_view(g, t, 2, (int64_t[]){t->shape[0], t->shape[2]},
                        (int64_t[]){t->stride[0], t->stride[2]});
}

static void pool_first_backward(filtra_graph *g, const void *context) {
  const struct pool *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (!dx) return;
  if (!accumulate) ft_emit_fill(g, dx, 0);
  ft_emit_copy(g, ft_grad(g, c->y), first_token(g, dx), true);
}

filtra_tensor *filtra_pool_first(filtra_graph *g, filtra_tensor *x) {
  if (!usable_sequence(g, x, "pool_first")) return NULL;
  filtra_tensor *y =
      ft_tensor_new(g, "pool_first", FILTRA_F32, 2, (int64_t[]){x->shape[0], x->shape[2]});
  if (!y) return NULL;
  ft_emit_copy(g, first_token(g, x), y, false);
  const struct pool call = {.x = x, .y = y};
  return ft_record_op(g, "pool_first", pool_first_backward, &call, sizeof call, 1, &x, 1, &y);
}

/* ---- channels ---- */

static void emit_channels(filtra_graph *g, const char *label, const char *kernel,
                          const filtra_tensor *from, const filtra_tensor *to, uint32_t channels,
                          uint32_t bins, bool accumulate) {
  uint32_t count = (uint32_t)filtra_tensor_elements(to);
  double elements = (double)ft_rows(to) * (channels + bins);
  ft_record_call(g, &(ft_kernel_call){.label = label,
                                      .kernel = kernel,
                                      FT_ARGUMENTS(pool_bins, .from = FT_READ(from),
                                                   .to = FT_TARGET(to, accumulate), .count = count),
                                      FT_CONSTANTS(pool_bins, .channels = channels, .bins = bins,
                                                   .accumulate = accumulate),
                                      FT_FLAT(g, count),
                                      .flops = elements,
                                      .bytes = 4 * elements});
}

static void pool_channels_backward(filtra_graph *g, const void *context) {
  const struct pool *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  if (dx)
    emit_channels(g, "pool_channels.backward", "pool/channels_gradient", ft_grad(g, c->y), dx,
                  (uint32_t)ft_columns(dx), (uint32_t)ft_columns(c->y), accumulate);
}

filtra_tensor *filtra_pool_channels(filtra_graph *g, filtra_tensor *x, int64_t bins) {
  const int64_t most = 32768; /* products of channels and bins stay below 2^32 */
  if (!ft_usable_dense(g, x, "pool_channels", "x")) return NULL;
  if (!filtra_tensor_elements(x) || ft_columns(x) > most || bins < 1 || bins > most)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "pool_channels: %lld bins of x %s %s; both axes must have 1 to %lld",
                         (long long)bins, x->name, ft_shape_text(x), (long long)most);
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_tensor_shape(x, shape);
  shape[ndim - 1] = bins;
  filtra_tensor *y = ft_tensor_new(g, "pool_channels", FILTRA_F32, ndim, shape);
  if (!y) return NULL;
  emit_channels(g, "pool_channels", "pool/channels", x, y, (uint32_t)ft_columns(x), (uint32_t)bins,
                false);
  const struct pool call = {.x = x, .y = y};
  return ft_record_op(g, "pool_channels", pool_channels_backward, &call, sizeof call, 1, &x, 1, &y);
}
