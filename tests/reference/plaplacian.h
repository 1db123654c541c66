/* Float64 reference of p-Laplacian attention, one pair of tokens at a time. */
#ifndef TEST_REFERENCE_PLAPLACIAN_H
#define TEST_REFERENCE_PLAPLACIAN_H

#include "reference/attention.h"

#include <filtra/ops.h>

typedef struct reference_norms {
  const float *p; /* [heads] */
  double eps;
  filtra_diagonal diagonal;
  bool euler;
} reference_norms;

/** y [batches,heads,queries,value_columns] = sum_y A_xy P_xy v_y, or with `euler`
 * v_x + sum_y A_xy P_xy (v_y - v_x); everything dense, queries the last of the keys' tokens. */
void reference_plaplacian(const reference_attention_problem *p, const reference_norms *norms,
                          const double *q, const double *k, const double *v, double *y);

#endif
