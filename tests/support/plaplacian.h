/* Helpers for tests of p-Laplacian attention: the op with any of its options, against its float64
 * reference. */
#ifndef TEST_SUPPORT_PLAPLACIAN_H
#define TEST_SUPPORT_PLAPLACIAN_H

#include "reference/plaplacian.h"
#include "support/harness.h"

enum { TEST_NORM_HEADS = 3 };

typedef struct test_norm_shape {
  int64_t batches, queries, keys, columns, value_columns;
} test_norm_shape;

typedef struct test_norms {
  test_norm_shape shape;
  const float *p; /* [TEST_NORM_HEADS]; NULL: the default */
  float eps;
  bool causal, mask, euler;
  bool duplicates; /* every third token has the values of the previous one */
  filtra_diagonal diagonal;
  int bias_dims; /* 0: no bias */
  float dropout;
  filtra_dtype dtype; /* of q, k and v */
} test_norms;

/** Adds q, k, v up to `values`, and mask and bias if the settings have them; valid as long as the
 * settings. */
test_op test_norms_op(const test_norms *s, double values);

filtra_plaplacian_options test_norms_options(const test_norms *s, filtra_tensor *mask,
                                             filtra_tensor *bias);
/** The reference's problem for an op with these settings, without mask and bias. */
reference_attention_problem test_norms_problem(const test_op *op);
reference_norms test_norms_reference(const test_norms *s);

#endif
