/* Float64 reference of softmax attention, one score at a time. */
#ifndef TEST_REFERENCE_ATTENTION_H
#define TEST_REFERENCE_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

typedef struct reference_attention_problem {
  int64_t batches, heads, queries, keys, columns, value_columns;
  bool causal;
  double scale;
  const double *mask; /* [batches,keys] or NULL */
  const double *bias; /* its last bias_dims axes of [batches,heads,queries,keys], or NULL */
  int bias_dims;
  float dropout; /* weights of random op 0 at `seed` and `step`; 0: none */
  uint64_t seed, step;
  float filter_dropout; /* of GFSA's H, random op 0, or 1 behind that of the weights; 0: none */
} reference_attention_problem;

/** y [batches,heads,queries,value_columns] = softmax(scale q k^T + bias) v; everything dense. A
 * query without an admissible key gives zeros. */
void reference_attention(const reference_attention_problem *p, const double *q, const double *k,
                         const double *v, double *y);

/** Row i of head `head` of the weights A, dropout applied: weight [keys], zeros without an
 * admissible key. q is the query's row, k the head's [keys,columns]. */
void reference_attention_row(const reference_attention_problem *p, int64_t head, int64_t i,
                             const double *q, const double *k, double *weight);

#endif
