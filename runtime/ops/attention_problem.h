/* The numbers of attention's tuning questions: what the choice of its tiles depends on. */
#ifndef FT_OPS_ATTENTION_PROBLEM_H
#define FT_OPS_ATTENTION_PROBLEM_H

#include "ops/tuning.h"

#include <string.h>

/** Values of `op`: the ops that share these kernels. */
enum { FT_PROBLEM_ATTENTION, FT_PROBLEM_GFSA, FT_PROBLEM_PLAPLACIAN };

typedef struct ft_attention_problem {
  int64_t op, batches, heads, queries, keys, columns, value_columns, causal, masked, biased;
  int64_t dropout; /* millionths */
  int64_t type;    /* of q, k and v */
} ft_attention_problem;

static inline ft_attention_problem ft_attention_problem_of(const ft_tuning_question *q) {
  ft_attention_problem p;
  memcpy(&p, q->number, sizeof p);
  return p;
}

#endif
