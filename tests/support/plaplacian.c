#include "support/plaplacian.h"

#include "support/attention.h"

#include <math.h>
#include <string.h>

filtra_plaplacian_options test_norms_options(const test_norms *s, filtra_tensor *mask,
                                             filtra_tensor *bias) {
  return (filtra_plaplacian_options){
      .attention = {.causal = s->causal, .mask = mask, .bias = bias, .dropout = s->dropout},
      .p = s->p,
      .eps = s->eps,
      .diagonal = s->diagonal,
      .euler = s->euler};
}

TEST_BUILD(build) {
  const test_norms *s = op->settings;
  filtra_plaplacian_options o =
      test_norms_options(s, s->mask ? in[3] : NULL, s->bias_dims ? in[3 + s->mask] : NULL);
  out[0] = test_heads_as_floats(g, filtra_plaplacian(g, in[0], in[1], in[2], &o));
}

reference_attention_problem test_norms_problem(const test_op *op) {
  const test_norms *s = op->settings;
  const test_norm_shape *n = &s->shape;
  return (reference_attention_problem){n->batches,
                                       TEST_NORM_HEADS,
                                       n->queries,
                                       n->keys,
                                       n->columns,
                                       n->value_columns,
                                       .causal = s->causal,
                                       .scale = 1 / sqrt((double)n->columns),
                                       .bias_dims = s->bias_dims,
                                       .dropout = op->training ? s->dropout : 0,
                                       .seed = op->seed,
                                       .step = op->step};
}

reference_norms test_norms_reference(const test_norms *s) {
  static const float usual[TEST_NORM_HEADS] = {1.5f, 1.5f, 2.5f};
  return (reference_norms){s->p ? s->p : usual, s->eps != 0 ? (double)s->eps : 1e-3, s->diagonal,
                           s->euler};
}

TEST_REFERENCE(reference) {
  const test_norms *s = op->settings;
  reference_attention_problem p = test_norms_problem(op);
  reference_norms norms = test_norms_reference(s);
  p.mask = s->mask ? in[3] : NULL;
  p.bias = s->bias_dims ? in[3 + s->mask] : NULL;
  reference_plaplacian(&p, &norms, in[0], in[1], in[2], out[0]);
}

/* Makes every third token's values equal the previous token's. */
static const float *duplicated(const test_norm_shape *n, double largest) {
  static float v[4096];
  int64_t width = n->value_columns, count = n->batches * TEST_NORM_HEADS * n->keys * width;
  assert_between(count, 1, FT_COUNT(v));
  test_random(17, -largest, largest, v, (size_t)count);
  for (int64_t t = 1; t < count / width; t += 3)
    memcpy(v + t * width, v + (t - 1) * width, (size_t)width * sizeof *v);
  return v;
}

test_op test_norms_op(const test_norms *s, double values) {
  const test_norm_shape *n = &s->shape;
  test_op op = {.name = "plaplacian",
                .build = build,
                .reference = reference,
                .out_elements = {n->batches * TEST_NORM_HEADS * n->queries * n->value_columns},
                .settings = s,
                .training = s->dropout > 0,
                .seed = UINT64_C(0x123456789abcdef0) + (uint64_t)n->queries,
                .step = UINT64_C(0x300000005)};
  const test_attention_shape all = {n->batches, TEST_NORM_HEADS, n->queries,
                                    n->keys,    n->columns,      n->value_columns};
  test_add_qkv(&op, &all, s->dtype);
  op.in[2].low = -values;
  op.in[2].high = values;
  if (s->duplicates) op.in[2].fixed = duplicated(n, values);
  test_add_mask_and_bias(&op, &all, s->mask, s->bias_dims);
  return op;
}
