/* Linear attention over any features, whole or causal, and its decoding state. Called by the mixers
 * linear, cosformer and performer; others use the helpers. */
#include "nn/feature_attention.h"

#include "graph/graph.h"

/* Tokens per chunk: weights within a chunk are computed singly; sums represent earlier chunks. */
enum { CHUNK = 64 };

filtra_tensor *ft_dense_heads(filtra_graph *g, filtra_tensor *heads) {
  return filtra_permute(g, heads, (int[]){0, 1, 2, 3});
}

filtra_tensor *ft_join_heads(filtra_graph *g, filtra_tensor *heads) {
  filtra_tensor *y = filtra_transpose(g, heads, 1, 2);
  if (!ft_usable(g, y)) return NULL;
  const int64_t *s = y->shape;
  return filtra_reshape(g, y, 3, (int64_t[]){s[0], s[1], s[2] * s[3]});
}

filtra_tensor *ft_mask_heads(const ft_scope *scope, const filtra_mixer_input *in,
                             filtra_tensor *x) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x) || filtra_scope_pass(scope) == FILTRA_PASS_DECODE) return x;
  const int64_t shape[] = {x->shape[0], 1, x->shape[2], 1};
  return filtra_multiply(g, x, filtra_reshape(g, in->mask, 4, shape));
}

filtra_tensor *ft_counting(filtra_graph *g, int64_t count) {
  return filtra_cumulative_sum(g, filtra_constant(g, 1, &count, 1.0f), 0, FILTRA_FORWARD);
}

/* max(d + 1, 0) - max(d, 0) with the integer d = row - column. */
filtra_tensor *ft_lower_triangle(filtra_graph *g, int64_t n) {
  filtra_tensor *number = ft_counting(g, n);
  filtra_tensor *d = filtra_subtract(g, filtra_reshape(g, number, 2, (int64_t[]){n, 1}),
                                     filtra_reshape(g, number, 2, (int64_t[]){1, n}));
  filtra_tensor *next = filtra_activate(g, filtra_affine(g, d, 1, 1), FILTRA_ACTIVATION_RELU);
  return filtra_subtract(g, next, filtra_activate(g, d, FILTRA_ACTIVATION_RELU));
}

/* Appends a column of ones to v: the last column of the sums of k v^T is then the sum of k. */
static filtra_tensor *with_ones(filtra_graph *g, filtra_tensor *v) {
  if (!ft_usable(g, v)) return NULL;
  const int64_t column[] = {v->shape[0], v->shape[1], v->shape[2], 1};
  return filtra_concat(g, 3, 2, (filtra_tensor *[]){v, filtra_constant(g, 4, column, 1.0f)});
}

static filtra_tensor *products(filtra_graph *g, filtra_tensor *k, filtra_tensor *v) {
  return filtra_matmul(g, k, v, &(filtra_matmul_options){.transpose_a = true});
}

/* [B,H,N,F] -> [B H, chunks, tokens, F], zeros after the last token. */
static filtra_tensor *cut(filtra_graph *g, filtra_tensor *x, int64_t chunks, int64_t tokens) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t heads = x->shape[0] * x->shape[1], n = x->shape[2], columns = x->shape[3];
  const int64_t rest[] = {heads, chunks * tokens - n, columns};
  x = filtra_reshape(g, x, 3, (int64_t[]){heads, n, columns});
  if (rest[1])
    x = filtra_concat(g, 1, 2, (filtra_tensor *[]){x, filtra_constant(g, 3, rest, 0.0f)});
  return filtra_reshape(g, x, 4, (int64_t[]){heads, chunks, tokens, columns});
}

/* Sums of all chunks before each one: zeros, then prefix sums of all but the last. Subtracting a
 * chunk's own sum from prefix sums would let its rounding affect earlier tokens. */
static filtra_tensor *sums_before(filtra_graph *g, filtra_tensor *own) {
  if (!ft_usable(g, own)) return NULL;
  const int64_t *s = own->shape, origin[4] = {0};
  const int64_t first[] = {s[0], 1, s[2], s[3]}, others[] = {s[0], s[1] - 1, s[2], s[3]};
  filtra_tensor *sums =
      filtra_cumulative_sum(g, filtra_slice(g, own, origin, others), 1, FILTRA_FORWARD);
  return filtra_concat(g, 1, 2, (filtra_tensor *[]){filtra_constant(g, 4, first, 0.0f), sums});
}

static filtra_tensor *causal(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                             filtra_tensor *v) {
  if (!ft_usable(g, q) || !ft_usable(g, v)) return NULL;
  const int64_t n = q->shape[2], tokens = n < CHUNK ? n : CHUNK;
  const int64_t chunks = (n + tokens - 1) / tokens, columns = v->shape[3];
  const int64_t heads[] = {q->shape[0], q->shape[1], n, columns};
  const int64_t origin[3] = {0}, rows[] = {heads[0] * heads[1], n, columns};
  q = cut(g, q, chunks, tokens);
  k = cut(g, k, chunks, tokens);
  v = cut(g, v, chunks, tokens);
  filtra_tensor *weights = filtra_matmul(g, q, k, &(filtra_matmul_options){.transpose_b = true});
  weights = filtra_multiply(g, weights, ft_lower_triangle(g, tokens));
  filtra_tensor *y = filtra_matmul(g, weights, v, NULL);
  if (chunks > 1)
    y = filtra_add(g, y, filtra_matmul(g, q, sums_before(g, products(g, k, v)), NULL));
  y = filtra_reshape(g, y, 3, (int64_t[]){rows[0], chunks * tokens, columns});
  if (chunks * tokens > n) y = filtra_slice(g, y, origin, rows);
  return filtra_reshape(g, y, 4, heads);
}

/* Numerators and, in the last column, denominators. */
static filtra_tensor *weighed(const ft_scope *scope, const filtra_mixer_input *in, filtra_tensor *q,
                              filtra_tensor *k, filtra_tensor *v) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, k) || !ft_usable(g, v)) return NULL;
  const int64_t state[] = {k->shape[0], k->shape[1], k->shape[3], v->shape[3]};
  filtra_tensor *sums = NULL;
  if (filtra_scope_pass(scope) != FILTRA_PASS_WHOLE) sums = products(g, k, v);
  if (filtra_scope_pass(scope) == FILTRA_PASS_DECODE)
    sums = filtra_add(g, sums, filtra_scope_state(scope, "sums", 4, state));
  filtra_scope_set_state(scope, "sums", sums);
  if (in->causal && filtra_scope_pass(scope) != FILTRA_PASS_DECODE) return causal(g, q, k, v);
  return filtra_matmul(g, q, sums, NULL);
}

/* Of whole sequences that are not causal: rows keep their widths, which are often powers of two,
 * where one more column would not be read in pairs or blocks. */
static filtra_tensor *whole(filtra_graph *g, filtra_tensor *q, filtra_tensor *k, filtra_tensor *v,
                            float eps) {
  filtra_tensor *of_k = filtra_sum(g, k, 2, FILTRA_KEEP_AXIS);
  filtra_tensor *below = filtra_sum(g, filtra_multiply(g, q, of_k), 3, FILTRA_KEEP_AXIS);
  filtra_tensor *y = filtra_matmul(g, q, products(g, k, v), NULL);
  return filtra_divide(g, y, filtra_affine(g, below, 1.0f, eps));
}

filtra_tensor *ft_feature_attention(const ft_scope *scope, const filtra_mixer_input *in,
                                    filtra_tensor *q, filtra_tensor *k, filtra_tensor *v,
                                    float eps) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, q) || !ft_usable(g, k) || !ft_usable(g, v)) return NULL;
  if (!in->causal && filtra_scope_pass(scope) == FILTRA_PASS_WHOLE) return whole(g, q, k, v, eps);
  filtra_tensor *y = weighed(scope, in, q, k, with_ones(g, v)), *parts[2];
  ft_cut(g, y, v->shape[3], parts);
  /* The denominators first: their gradient comes after that of the numerators, which so follows the
   * division's and is fused with it. */
  filtra_tensor *below = filtra_affine(g, ft_dense_heads(g, parts[1]), 1.0f, eps);
  return filtra_divide(g, ft_dense_heads(g, parts[0]), below);
}
