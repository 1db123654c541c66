#include "support/gfsa.h"

#include "reference/gfsa.h"

#include <math.h>

enum { MOST_HEADS = 8 };

static const float CONSTANTS[] = {-0.3f, 0.8f, 0.25f};

filtra_gfsa_options test_gfsa_operands(const test_gfsa *s, filtra_tensor **in,
                                       filtra_tensor *w[3]) {
  int next = 3;
  for (int i = 0; i < 3; i++)
    w[i] = s->fixed ? NULL : in[next++];
  filtra_gfsa_options o = {.attention = {.causal = s->causal, .dropout = s->dropout},
                           .order = s->order,
                           .w0 = CONSTANTS[0],
                           .w1 = CONSTANTS[1],
                           .wK = CONSTANTS[2]};
  if (s->mask) o.attention.mask = in[next++];
  if (s->bias_dims) o.attention.bias = in[next];
  return o;
}

TEST_REFERENCE(reference) {
  const test_gfsa *s = op->settings;
  double constants[3][MOST_HEADS];
  const double *w[3];
  int next = 3;
  reference_attention_problem p = {s->batches,
                                   s->heads,
                                   s->tokens,
                                   s->tokens,
                                   s->columns,
                                   s->value_columns,
                                   .causal = s->causal,
                                   .scale = 1 / sqrt((double)s->columns),
                                   .bias_dims = s->bias_dims,
                                   .dropout = op->training ? s->dropout : 0,
                                   .seed = op->seed,
                                   .step = op->step,
                                   .filter_dropout = s->filter_dropout};
  for (int i = 0; i < 3; i++) {
    for (int h = 0; h < MOST_HEADS; h++)
      constants[i][h] = (double)CONSTANTS[i];
    w[i] = s->fixed ? constants[i] : in[next++];
  }
  if (s->mask) p.mask = in[next++];
  if (s->bias_dims) p.bias = in[next];
  reference_gfsa(&p, s->order ? s->order : 3, in[0], in[1], in[2], w[0], w[1], w[2], out[0]);
}

test_op test_gfsa_op(const test_gfsa *s, const char *name,
                     void (*build)(filtra_graph *g, filtra_tensor **in, filtra_tensor **out,
                                   const test_op *op)) {
  static const char *const names[] = {"w0", "w1", "wK"};
  const test_attention_shape n = {s->batches, s->heads,   s->tokens,
                                  s->tokens,  s->columns, s->value_columns};
  test_op op = {.name = name,
                .build = build,
                .reference = reference,
                .out_elements = {s->batches * s->heads * s->tokens * s->value_columns},
                .settings = s,
                .training = s->dropout > 0 || s->filter_dropout > 0,
                .seed = UINT64_C(0x9876543210fedcba) + (uint64_t)s->tokens,
                .step = UINT64_C(0x200000007)};
  test_add_qkv(&op, &n, s->dtype);
  for (int i = 0; i < 3 && !s->fixed; i++)
    op.in[op.inputs++] = (test_tensor){names[i], FILTRA_F32, 1, {s->heads}, .gradient = true};
  test_add_mask_and_bias(&op, &n, s->mask, s->bias_dims);
  return op;
}
