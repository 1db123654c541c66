/* Nyströmformer (Xiong et al. 2021): softmax attention approximated from m landmarks, means of
 * segments of queries and keys: softmax(Q K~^T) pinv(softmax(Q~ K~^T)) softmax(Q~ K^T) V
 * (equation 13); O(n m d). */
#include "nn/feature_attention.h"
#include "nn/mixer.h"
#include "ops/pseudoinverse.h"

#include <math.h>

struct nystrom_options {
  int64_t landmarks, iterations;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct nystrom_options, landmarks, "landmarks", 64, 1, 1024,
               "Number of landmarks m."),
    FT_INT_KEY(struct nystrom_options, iterations, "iterations", 6, 1, 12,
               "Iterations of the pseudoinverse. With more of them, gradients in single precision "
               "are wrong.",
               .paper = "Razavi et al. 2014; equation 11"),
};

static filtra_tensor *relu(filtra_graph *g, filtra_tensor *x, float offset) {
  return filtra_activate(g, filtra_affine(g, x, 1.0f, offset), FILTRA_ACTIVATION_RELU);
}

/* Length of a segment, [B,1,1]: an m-th of the real tokens; an empty sequence counts as one token.
 */
static filtra_tensor *segment_length(filtra_graph *g, filtra_tensor *mask, int64_t landmarks) {
  const float share = 1.0f / (float)landmarks;
  filtra_tensor *others = relu(g, filtra_sum(g, mask, 1, FILTRA_DROP_AXIS), -1.0f);
  return filtra_reshape(g, filtra_affine(g, others, share, share), 3,
                        (int64_t[]){mask->shape[0], 1, 1});
}

/* [B,m,N], the weights of means over m segments of equal length of a sequence's real tokens. If a
 * segment ends within a token, both segments get a fraction of it: real token r covers [r, r+1), of
 * which min(max(t - r, 0), 1) lies before t. */
static filtra_tensor *segments(filtra_graph *g, filtra_tensor *mask, int64_t landmarks) {
  if (!ft_usable(g, mask)) return NULL;
  const int64_t batch = mask->shape[0], n = mask->shape[1], m = landmarks;
  const int64_t ends[] = {1, m + 1, 1}, rows[] = {batch, 1, n}, size[] = {batch, m, n};
  filtra_tensor *length = segment_length(g, mask, m);
  filtra_tensor *rank = filtra_subtract(g, filtra_cumulative_sum(g, mask, 1, FILTRA_FORWARD), mask);
  filtra_tensor *number = filtra_affine(g, ft_counting(g, m + 1), 1.0f, -1.0f);
  filtra_tensor *t = filtra_multiply(g, filtra_reshape(g, number, 3, ends), length);
  filtra_tensor *past = filtra_subtract(g, t, filtra_reshape(g, rank, 3, rows));
  filtra_tensor *before = filtra_subtract(g, relu(g, past, 0.0f), relu(g, past, -1.0f));
  filtra_tensor *shares = filtra_subtract(g, filtra_slice(g, before, (int64_t[]){0, 1, 0}, size),
                                          filtra_slice(g, before, (int64_t[]){0, 0, 0}, size));
  filtra_tensor *real = filtra_divide(g, filtra_reshape(g, mask, 3, rows), length);
  return filtra_multiply(g, shares, real);
}

/* residual + scale a b */
static filtra_tensor *add_product(filtra_graph *g, filtra_tensor *residual, float scale,
                                  filtra_tensor *a, filtra_tensor *b) {
  return filtra_matmul(g, a, b, &(filtra_matmul_options){.scale = scale, .residual = residual});
}

/* Pseudoinverse by iteration (Razavi et al. 2014; equation 11): Z (13 I - A Z (15 I - A Z (7 I - A
 * Z))) / 4, starting from A^T / (|A|_1 |A|_inf). Rows of A sum to 1, so |A|_inf is 1. Each bracket
 * is divided by its number before I, which makes it the residual of a product; the factor 13/4 of
 * each iteration is left out. */
static filtra_tensor *iterate(filtra_graph *g, filtra_tensor *a, int64_t iterations) {
  filtra_tensor *norm = filtra_max(g, filtra_sum(g, a, 2, FILTRA_KEEP_AXIS), 3, FILTRA_KEEP_AXIS);
  filtra_tensor *z = filtra_divide(g, filtra_transpose(g, a, 2, 3), norm);
  float scale = 1.0f;
  for (int64_t i = 0; i < iterations; i++) {
    filtra_tensor *az = filtra_matmul(g, a, z, &(filtra_matmul_options){.scale = scale});
    filtra_tensor *seven = add_product(g, az, -1.0f / 7.0f, az, az); /* A Z (7 I - A Z) / 7 */
    filtra_tensor *fifteen = add_product(g, az, -7.0f / 15.0f, az, seven);
    z = add_product(g, z, -15.0f / 13.0f, z, fifteen);
    scale *= 13.0f / 4.0f;
  }
  return z;
}

/* The pseudoinverse is *scale times what is returned. On a GPU one call takes the place of four
 * products an iteration, and of eight in the gradient. */
static filtra_tensor *pseudoinverse(filtra_graph *g, filtra_tensor *a, int64_t iterations,
                                    float *scale) {
  if (!ft_usable(g, a)) return NULL;
  *scale = 1.0f;
  for (int64_t i = 0; i < iterations; i++)
    *scale *= 13.0f / 4.0f;
  return ft_pseudoinverse_pays(g, a) ? ft_pseudoinverse(g, a, iterations)
                                     : iterate(g, a, iterations);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct nystrom_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  const int64_t width = ft_columns(in->x), head_width = width / in->heads;
  const float scale = 1.0f / sqrtf((float)head_width);
  filtra_tensor *qkv[3], *marks[2], *means = segments(g, in->mask, o->landmarks);
  filtra_chunk(g, filtra_scope_linear(scope, "qkv", in->x, 3 * width, NULL), 3, qkv);
  ft_observe(scope, "value", qkv[2]);
  for (int i = 0; i < 2; i++)
    marks[i] = filtra_split_heads(g, filtra_matmul(g, means, qkv[i], NULL), in->heads);
  for (int i = 0; i < 3; i++)
    qkv[i] = filtra_split_heads(g, qkv[i], in->heads);
  filtra_tensor *weights = filtra_matmul(
      g, marks[0], marks[1], &(filtra_matmul_options){.transpose_b = true, .scale = scale});
  float factor = 1.0f;
  filtra_tensor *inverse = pseudoinverse(g, filtra_softmax(g, weights, 3), o->iterations, &factor);
  filtra_tensor *gathered =
      filtra_attention(g, marks[0], qkv[1], qkv[2], &(filtra_attention_options){.mask = in->mask});
  filtra_tensor *values =
      filtra_matmul(g, inverse, gathered, &(filtra_matmul_options){.scale = factor});
  return filtra_mixer_output(scope, in, filtra_attention(g, qkv[0], marks[1], values, NULL));
}

const ft_mixer_class ft_mixer_nystrom = {
    .name = "nystrom",
    .description = "attention by way of landmarks (Xiong et al. 2021)",
    .options_size = sizeof(struct nystrom_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its landmarks are means over all tokens of a sequence",
    .narrow = true,
    .build = build};
