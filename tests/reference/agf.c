#include "reference/agf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Generalised binomial coefficient: z (z-1) .. (z-k+1) / k!. */
static double binomial(double z, int k) {
  double product = 1;
  for (int i = 0; i < k; i++)
    product *= (z - i) / (i + 1);
  return product;
}

/* The C library's pow knows no small whole exponents, and takes a third of the op's test. */
static double power(double x, int n) {
  double product = 1;
  for (; n > 0; n--)
    product *= x;
  return product;
}

/* DLMF 18.5.8: sum over l of C(n+a, n-l) C(n+b, l) ((x-1)/2)^l ((x+1)/2)^(n-l). */
static double jacobi(double a, double b, int n, double x) {
  double sum = 0;
  for (int l = 0; l <= n; l++)
    sum += binomial(n + a, n - l) * binomial(n + b, l) * power((x - 1) / 2, l) *
           power((x + 1) / 2, n - l);
  return sum;
}

double ref_basis(filtra_basis basis, double a, double b, int order, double x) {
  switch (basis) {
  case FILTRA_BASIS_LEGENDRE:
    return jacobi(0, 0, order, x);
  case FILTRA_BASIS_CHEBYSHEV:
    return jacobi(-0.5, -0.5, order, x);
  case FILTRA_BASIS_CHEBYSHEV_T:
    return cos(order * acos(x));
  case FILTRA_BASIS_MONOMIAL:
    return power(x, order);
  case FILTRA_BASIS_JACOBI:
    break;
  }
  return jacobi(a, b, order, x);
}

static double theta(const ref_agf_settings *t, const double *raw, int k) {
  if (t->theta_mode == FILTRA_THETA_RAW) return raw[k];
  if (t->theta_mode == FILTRA_THETA_TANH_FIX0 && k == 0) return 1;
  return tanh(raw[k]);
}

static double singular_value(const ref_agf_settings *t, const double *coefficients, double s,
                             int64_t head, int64_t d) {
  if (t->variant == FILTRA_AGF_UV) return 1;
  if (t->variant == FILTRA_AGF_SVD) return coefficients[head * t->width + d];
  double x = 1 / (1 + exp(-s)), g = 0;
  if (t->symmetric) x = 2 * x - 1;
  for (int k = 0; k <= t->order; k++)
    g += theta(t, coefficients, k) * ref_basis(t->basis, t->a, t->b, k, x);
  return g;
}

static double elementwise(filtra_rho rho, double x) {
  return rho == FILTRA_RHO_SIGMOID ? 1 / (1 + exp(-x)) : rho == FILTRA_RHO_TANH ? tanh(x) : x;
}

/* Softmax of `count` numbers `stride` apart, those without `keep` left out; all zero if none. */
static void softmax(const double *x, const double *keep, int64_t count, int64_t stride, double *y) {
  double largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; i++)
    if (!keep || keep[i] > 0) largest = fmax(largest, x[i * stride]);
  for (int64_t i = 0; i < count; i++)
    if (!keep || keep[i] > 0) sum += exp(x[i * stride] - largest);
  for (int64_t i = 0; i < count; i++)
    y[i * stride] = (!keep || keep[i] > 0) ? exp(x[i * stride] - largest) / sum : 0;
}

/* U and V of one head, [N,D]. */
static void factors(const ref_agf_settings *t, const double *u, const double *vv,
                    const double *keep, double *out_u, double *out_v) {
  for (int64_t i = 0; i < t->tokens * t->width; i++) {
    out_u[i] = elementwise(t->rho, u[i]);
    out_v[i] = !keep || keep[i / t->width] > 0 ? elementwise(t->rho, vv[i]) : 0;
  }
  if (t->rho != FILTRA_RHO_SOFTMAX) return;
  for (int64_t n = 0; n < t->tokens; n++)
    softmax(u + n * t->width, NULL, t->width, 1, out_u + n * t->width);
  for (int64_t d = 0; d < t->width; d++)
    softmax(vv + d, keep, t->tokens, t->width, out_v + d);
}

/* a^T b of [N,D] matrices. */
static void product(const ref_agf_settings *t, const double *a, const double *b, double *out) {
  const int64_t width = t->width;
  memset(out, 0, (size_t)(width * width) * sizeof *out);
  for (int64_t n = 0; n < t->tokens; n++)
    for (int64_t i = 0; i < width; i++)
      for (int64_t j = 0; j < width; j++)
        out[i * width + j] += a[n * width + i] * b[n * width + j];
}

/* Over the rows that `keep` has, or all. */
static double distance_from_identity(const ref_agf_settings *t, const double *x, const double *keep,
                                     double *gram) {
  double sum = 0;
  product(t, x, x, gram);
  for (int64_t n = 0; n < t->tokens; n++)
    for (int64_t i = 0; i < t->width * t->width && keep && !(keep[n] > 0); i++)
      gram[i] -= x[n * t->width + i / t->width] * x[n * t->width + i % t->width];
  for (int64_t i = 0; i < t->width * t->width; i++)
    sum += fabs(gram[i] - (i / t->width == i % t->width));
  return sum / (double)(t->heads * t->width * t->width);
}

void ref_agf(const ref_agf_settings *t, const double *u, const double *s, const double *vv,
             const double *value, const double *coefficients, const double *mask, double *y,
             double *ortho) {
  const int64_t width = t->width, area = t->tokens * width;
  double *scratch = calloc((size_t)(2 * area + width * width), sizeof *scratch);
  if (!scratch) abort();
  double *fu = scratch, *fv = fu + area, *matrix = fv + area;
  for (int64_t b = 0; b < t->batch; b++) {
    const double *keep = mask ? mask + b * t->tokens : NULL;
    if (ortho) ortho[b] = 0;
    for (int64_t h = 0; h < t->heads; h++) {
      int64_t at = (b * t->heads + h) * area;
      factors(t, u + at, vv + at, keep, fu, fv);
      if (ortho)
        ortho[b] += distance_from_identity(t, fu, t->ortho_padding ? NULL : keep, matrix) +
                    distance_from_identity(t, fv, NULL, matrix);
      product(t, fv, value + at, matrix);
      for (int64_t n = 0; n < t->tokens; n++) {
        double *row = y + ((b * t->tokens + n) * t->heads + h) * width;
        memset(row, 0, (size_t)width * sizeof *row);
        for (int64_t i = 0; i < width; i++) {
          double w = fu[n * width + i] *
                     singular_value(t, coefficients, s ? s[at + n * width + i] : 0, h, i);
          for (int64_t j = 0; j < width; j++)
            row[j] += w * matrix[i * width + j];
        }
      }
    }
  }
  free(scratch);
}
