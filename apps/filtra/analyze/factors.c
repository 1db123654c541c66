/* Forms the factors of AGF's matrix, (rho(U) o g(sigmoid(Sigma))) rho(V)^T, and its singular values
 * without the matrix itself. Called by matrix.c. */
#include "matrix.h"
#include "spectra.h"

#include <math.h>
#include <string.h>

/* ---- the factors ---- */

static double activate(filtra_rho rho, double x) {
  if (rho == FILTRA_RHO_SIGMOID) return 1.0 / (1.0 + exp(-x));
  return rho == FILTRA_RHO_TANH ? tanh(x) : x;
}

/* Softmax of `count` numbers that are `step` apart. */
static void normalize(double *x, size_t count, size_t step) {
  double most = -INFINITY, sum = 0.0;
  for (size_t i = 0; i < count; i++)
    most = fmax(most, x[i * step]);
  for (size_t i = 0; i < count; i++)
    sum += x[i * step] = exp(x[i * step] - most);
  for (size_t i = 0; i < count; i++)
    x[i * step] /= sum;
}

static void take_factor(filtra_rho rho, const matrix_head *h, const float *x, double *out) {
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t c = 0; c < h->columns; c++)
      out[i * h->columns + c] = activate(rho, (double)x[i * h->stride + c]);
}

/* g at sigmoid(s), or the free vector of the ablation svd, or 1 of the ablation uv. */
static double gain(const matrix_rule *r, const matrix_head *h, size_t token, size_t column) {
  const float *theta = r->coefficients[0], *vector = r->coefficients[1];
  if (vector) return (double)vector[(size_t)r->head * h->columns + column];
  if (!theta || !h->s) return 1.0;
  const double x = 1.0 / (1.0 + exp(-(double)h->s[token * h->stride + column]));
  return r->mixer->kind->filter->at(r->mixer->options, r->coefficients, r->heads, r->head, x);
}

void factors_form(const matrix_rule *rule, const matrix_head *h, double *left, double *right) {
  take_factor(rule->rho, h, h->q, left);
  take_factor(rule->rho, h, h->k, right);
  for (size_t i = 0; i < h->tokens && rule->rho == FILTRA_RHO_SOFTMAX; i++)
    normalize(left + i * h->columns, h->columns, 1);
  for (size_t c = 0; c < h->columns && rule->rho == FILTRA_RHO_SOFTMAX; c++)
    normalize(right + c, h->tokens, h->columns);
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t c = 0; c < h->columns; c++)
      left[i * h->columns + c] *= gain(rule, h, i, c);
}

void factors_multiply(const double *left, const double *right, size_t tokens, size_t columns,
                      double *w) {
  for (size_t i = 0; i < tokens; i++)
    for (size_t j = 0; j < tokens; j++) {
      double sum = 0.0;
      for (size_t c = 0; c < columns; c++)
        sum += left[i * columns + c] * right[j * columns + c];
      w[i * tokens + j] = sum;
    }
}

/* ---- singular values ---- */

/* QR decomposition x = Q R by modified Gram-Schmidt (Golub & Van Loan, section 5.2.8), whose R is
 * as accurate as Householder's. Q replaces x [tokens, columns] and has orthonormal columns; R is
 * upper triangular [columns, columns]. */
static void decompose(double *x, size_t tokens, size_t columns, double *r) {
  memset(r, 0, columns * columns * sizeof *r);
  for (size_t k = 0; k < columns; k++) {
    double norm = 0.0;
    for (size_t i = 0; i < tokens; i++)
      norm += x[i * columns + k] * x[i * columns + k];
    r[k * columns + k] = norm = sqrt(norm);
    for (size_t i = 0; i < tokens && norm > 0.0; i++)
      x[i * columns + k] /= norm;
    for (size_t j = k + 1; j < columns; j++) {
      double sum = 0.0;
      for (size_t i = 0; i < tokens; i++)
        sum += x[i * columns + k] * x[i * columns + j];
      r[k * columns + j] = sum;
      for (size_t i = 0; i < tokens; i++)
        x[i * columns + j] -= sum * x[i * columns + k];
    }
  }
}

/* With right = Q R, left right^T has the singular values of left R^T, whose Gram matrix is
 * R (left^T left) R^T. */
void factors_singular(const double *left, double *right, size_t tokens, size_t columns,
                      double *room, double *values) {
  double *r = room, *gram = r + columns * columns, *half = gram + columns * columns;
  decompose(right, tokens, columns, r);
  memset(gram, 0, columns * columns * sizeof *gram);
  for (size_t n = 0; n < tokens; n++)
    for (size_t i = 0; i < columns; i++)
      for (size_t j = 0; j < columns; j++)
        gram[i * columns + j] += left[n * columns + i] * left[n * columns + j];
  factors_multiply(r, gram, columns, columns, half); /* R G; G is symmetric */
  factors_multiply(half, r, columns, columns, gram); /* (R G) R^T */
  spectra_gram_values(gram, columns, values);
}
