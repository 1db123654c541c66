/* The N x N matrices that attention, GFSA, p-LaT and AGF apply to a head's values. Kernels do not
 * form them; here they are formed on the host and measured. */
#ifndef FILTRA_MATRIX_H
#define FILTRA_MATRIX_H

#include "nn/mixer.h"

/** How the matrix H is made from the attention matrix A, or from AGF's factors. */
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
  /* AGF: H = (rho(q) o g(sigmoid(s))) rho(k)^T */
  bool factored;
  filtra_rho rho;
  const ft_mixer *mixer; /* the mixer with g and its coefficients, in the class's order */
  const float *coefficients[FT_MIXER_COEFFICIENTS];
  int64_t heads, head;
} matrix_rule;

/** Orders K of GFSA's approximation of A^K, from 2 on; exponents of the powers of H applied to
 * values, from 0 on. */
enum { MATRIX_ORDERS = 9, MATRIX_FIRST_ORDER = 2, MATRIX_EXPONENTS = 9 };
/** Longest sequences that are measured, and longest ones for powers of A. */
enum { MATRIX_MOST_TOKENS = 1024, MATRIX_MOST_FOR_POWERS = 256 };

/** Measures of one head on one sample. */
typedef struct matrix_measures {
  double row_sum, least_row_sum, most_row_sum; /* of H: mean and extremes over tokens */
  double eigenvalue;                           /* largest modulus of H's */
  /** Mean cosine of the values of two tokens, weighted by W. */
  double value_cosine;
  /** Share of pairs of tokens whose values are less than 1 apart, as p-LaT defines it. */
  double homophily;
  /** J(U) = sum over pairs x, y of A_xy |v_x - v_y|^p / (2 p), which p-LaT's attention descends; p
   * is 2 except in p-LaT. NaN: AGF, which has no A */
  double energy;
  /** log10 of |HC[H^t V]| / |LC[H^t V]| for each exponent t; LC is the mean over tokens and HC the
   * rest. NaN: not measured, or a part is 0 */
  double high_over_low[MATRIX_EXPONENTS];
  /** max norm over rows of A^K - (A + (K-1) (A^2 - A)); NaN: not measured */
  double error[MATRIX_ORDERS];
  /** [columns] singular values of AGF's matrix in the scratch, descending; NULL: others */
  const double *singular;
} matrix_measures;

/** The bound of `error`, 2 K (Choi et al. 2024). */
double matrix_bound(size_t order_index);

/** A head's queries, keys and values, or AGF's U, V, values and Sigma before their functions; rows
 * are `stride` numbers apart. */
typedef struct matrix_head {
  const float *q, *k, *v;
  size_t tokens, stride, columns;
  const float *s; /* NULL: the mixer has no Sigma */
} matrix_head;

/** Forms A [tokens, tokens], the softmax of a head's scores. */
void matrix_attention(const matrix_head *head, bool causal, double *a);
/** Size of matrix_measure's scratch, in numbers. */
size_t matrix_scratch(size_t tokens, size_t columns);
/** Measures a head with 2 to MATRIX_MOST_TOKENS tokens. */
void matrix_measure(const matrix_rule *rule, const matrix_head *head, double *scratch,
                    matrix_measures *out);

/* ---- AGF's factors (factors.c) ---- */

/** Forms the factors rho(q) o g(sigmoid(s)) and rho(k), [tokens, columns] each. */
void factors_form(const matrix_rule *rule, const matrix_head *head, double *left, double *right);
/** w [tokens, tokens] = left right^T. */
void factors_multiply(const double *left, const double *right, size_t tokens, size_t columns,
                      double *w);
/** Singular values [columns] of left right^T, descending, as spectra_singular_values. Overwrites
 * `right`; `room` holds 3 columns^2 numbers. */
void factors_singular(const double *left, double *right, size_t tokens, size_t columns,
                      double *room, double *values);

#endif
