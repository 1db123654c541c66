/* The N x N matrices that attention, GFSA and p-LaT apply to a head's values. Kernels do not form
 * them; here they are formed on the host and measured. */
#ifndef FILTRA_MATRIX_H
#define FILTRA_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/** How the matrix H is made from the attention matrix A. */
typedef struct matrix_rule {
  bool formed; /* false: the mixer has no such matrix */
  bool causal;
  /* H = w0 I + w1 A + wK (A + (K-1) (A^2 - A)); for softmax w1 = 1, others 0 */
  double w0, w1, wK;
  double order;
  /* p-LaT replaces A by W = A o P, P = (|v_x - v_y|^2 + eps)^((p-2)/2) */
  bool distances;
  double p, eps;
  const char *diagonal; /* "eps", "zero" or "one" */
  bool euler;           /* H = I + W - diag(row sums of W) */
} matrix_rule;

/** GFSA's approximation of A^K is measured for K from 2 on. */
enum { MATRIX_ORDERS = 9, MATRIX_FIRST_ORDER = 2 };
/** Longest sequences that are measured, and for which powers of A are. */
enum { MATRIX_MOST_TOKENS = 1024, MATRIX_MOST_FOR_POWERS = 256 };

/** Measures of one head on one sample. */
typedef struct matrix_measures {
  double row_sum, least_row_sum, most_row_sum; /* of H: mean and extremes over tokens */
  double eigenvalue;                           /* largest modulus of H's */
  /** Mean cosine of the values of two tokens, weighted by W. */
  double value_cosine;
  /** Share of pairs of tokens whose values are less than 1 apart, as p-LaT defines it. */
  double homophily;
  /** max norm over rows of A^K - (A + (K-1) (A^2 - A)); NaN: not measured */
  double error[MATRIX_ORDERS];
} matrix_measures;

/** The bound of `error`, 2 K (Choi et al. 2024). */
double matrix_bound(size_t order_index);

/** A head's queries, keys and values; their rows are `stride` numbers apart. */
typedef struct matrix_head {
  const float *q, *k, *v;
  size_t tokens, stride, columns;
} matrix_head;

/** Forms A [tokens, tokens], the softmax of a head's scores. */
void matrix_attention(const matrix_head *head, bool causal, double *a);
/** Size of matrix_measure's scratch, in numbers. */
size_t matrix_scratch(size_t tokens);
/** Measures a head with 2 to MATRIX_MOST_TOKENS tokens. */
void matrix_measure(const matrix_rule *rule, const matrix_head *head, double *scratch,
                    matrix_measures *out);

#endif
