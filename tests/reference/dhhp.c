#include "reference/dhhp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static double complex unit(double angle) {
  return cos(angle) + sin(angle) * I;
}

void reference_givens(double alpha, double beta, double gamma, double complex rotation[4]) {
  double a = pi * (alpha + beta), b = pi * (alpha - beta), c = cos(pi * gamma), s = sin(pi * gamma);
  rotation[0] = unit(-a) * c;
  rotation[1] = -unit(b) * s;
  rotation[2] = unit(-b) * s;
  rotation[3] = unit(a) * c;
}

/* Applies G_k, or its conjugate transpose, to rows k and k + 1. */
static void rotate(const double *const angle[3], int64_t k, bool adjoint, int64_t features,
                   double complex *x) {
  double complex g[4], kept;
  reference_givens(angle[0][k], angle[1][k], angle[2][k], g);
  if (adjoint) {
    kept = g[1];
    g[1] = conj(g[2]);
    g[2] = conj(kept);
    g[0] = conj(g[0]);
    g[3] = conj(g[3]);
  }
  double complex *top = x + k * features, *bottom = top + features;
  for (int64_t f = 0; f < features; f++) {
    double complex t = top[f], u = bottom[f];
    top[f] = g[0] * t + g[1] * u;
    bottom[f] = g[2] * t + g[3] * u;
  }
}

/* P x has the rows 0, m, 2m, .. of x, then 1, m + 1, .. */
static void permute(const reference_dhhp *phi, bool inverse, double complex *x) {
  const int64_t n = phi->tokens, f = phi->features, m = phi->permutation;
  if (!m) return;
  size_t row = (size_t)f * sizeof *x;
  double complex *copy = malloc((size_t)n * row);
  if (!copy) abort();
  memcpy(copy, x, (size_t)n * row);
  int64_t to = 0;
  for (int64_t j = 0; j < m; j++)
    for (int64_t from = j; from < n; from += m, to++)
      memcpy(x + (inverse ? from : to) * f, copy + (inverse ? to : from) * f, row);
  free(copy);
}

static void phase(const reference_dhhp *phi, double sign, double complex *x) {
  for (int64_t t = 0; phi->theta && t < phi->tokens; t++)
    for (int64_t f = 0; f < phi->features; f++)
      x[t * phi->features + f] *= unit(sign * 2 * pi * phi->theta[t]);
}

void reference_dhhp_apply(const reference_dhhp *phi, bool inverse, double complex *x) {
  const int64_t last = phi->tokens - 2;
  if (!inverse) {
    permute(phi, false, x);
    for (int64_t k = last; k >= 0; k--)
      rotate(phi->upper, k, false, phi->features, x);
    for (int64_t k = 0; k <= last; k++)
      rotate(phi->lower, k, false, phi->features, x);
    phase(phi, 1, x);
    return;
  }
  phase(phi, -1, x);
  for (int64_t k = last; k >= 0; k--)
    rotate(phi->lower, k, true, phi->features, x);
  for (int64_t k = 0; k <= last; k++)
    rotate(phi->upper, k, true, phi->features, x);
  permute(phi, true, x);
}

void reference_affine_scan(const double complex *c, const double complex *d, double complex *h,
                           int64_t tokens, int64_t features, bool reverse) {
  for (int64_t i = 0; i < tokens; i++) {
    int64_t t = reverse ? tokens - 1 - i : i, before = reverse ? t + 1 : t - 1;
    for (int64_t f = 0; f < features; f++)
      h[t * features + f] = d[t * features + f] + (i ? c[t] * h[before * features + f] : 0);
  }
}
