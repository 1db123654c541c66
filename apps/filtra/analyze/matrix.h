/* The N x N matrices that attention, GFSA and p-LaT apply to a head's values without forming them,
 * formed on the host to be measured. */
#ifndef FILTRA_MATRIX_H
#define FILTRA_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/** What stands between the attention matrix A and the values. */
typedef struct matrix_rule {
  bool formed; /* the mixer has such a matrix */
  bool causal;
  /* H = w0 I + w1 A + wK (A + (K-1) (A^2 - A)); softmax is w1 = 1 */
  double w0, w1, wK;
  double order;
  /* p-LaT: W = A o P, P = (|v_x - v_y|^2 + eps)^((p-2)/2), in place of A */
  bool distances;
  double p, eps;
  const char *diagonal; /* "eps", "zero" or "one" */
  bool euler;           /* H = I + W - diag(row sums of W) */
} matrix_rule;

/** GFSA's approximation of A^K is looked at for K from 2 on. */
enum { MATRIX_ORDERS = 9, MATRIX_FIRST_ORDER = 2 };
/** Longer sequences are not looked at; those longer than the second not for powers of A. */
enum { MATRIX_MOST_TOKENS = 1024, MATRIX_MOST_FOR_POWERS = 256 };

/** Of one head on one sample. */
typedef struct matrix_measures {
  double row_sum, least_row_sum, most_row_sum; /* of H: mean and extremes over tokens */
  double eigenvalue;                           /* largest modulus of H's */
  /** Mean cosine of a token's value and another's, weighted by what the other has in W. */
  double homophily;
  /** max norm over rows of A^K - (A + (K-1) (A^2 - A)); NaN where it was not looked at. */
  double error[MATRIX_ORDERS];
} matrix_measures;

/** The bound of that error, 2 K (Choi et al. 2024). */
double matrix_bound(size_t order_index);

/** A head's columns of queries, keys and values: rows are `stride` numbers apart. */
typedef struct matrix_head {
  const float *q, *k, *v;
  size_t tokens, stride, columns;
} matrix_head;

/** Numbers of scratch that matrix_measure needs. */
size_t matrix_scratch(size_t tokens);
/** `tokens` is at most MATRIX_MOST_TOKENS, and 2 at least. */
void matrix_measure(const matrix_rule *rule, const matrix_head *head, double *scratch,
                    matrix_measures *out);

#endif
