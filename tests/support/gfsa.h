/* A case of graph-filter self-attention for test_check_op, whichever way it is computed. */
#ifndef TEST_SUPPORT_GFSA_H
#define TEST_SUPPORT_GFSA_H

#include "support/attention.h"

typedef struct test_gfsa {
  int64_t batches, heads, tokens, columns, value_columns;
  int order; /* 0: 3 */
  bool causal, mask;
  int bias_dims; /* 0: no bias */
  float dropout;
  bool fixed; /* w0, w1 and wK are constants, not operands */
  float filter_dropout;
  filtra_dtype dtype; /* of q, k and v */
} test_gfsa;

/** The op with its operands and reference_gfsa; `build` reads them by test_gfsa_operands. */
test_op test_gfsa_op(const test_gfsa *s, const char *name,
                     void (*build)(filtra_graph *g, filtra_tensor **in, filtra_tensor **out,
                                   const test_op *op));
/** Returns the operands after q, k and v: w0, w1 and wK (NULL if they are constants), and the
 * options. */
filtra_gfsa_options test_gfsa_operands(const test_gfsa *s, filtra_tensor **in, filtra_tensor *w[3]);

#endif
