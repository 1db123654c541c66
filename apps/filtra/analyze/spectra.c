/* Measures token features: cosine similarity, spectra along the tokens, effective rank and singular
 * values. Called by measure.c. */
#include "spectra.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- similarity ---- */

static double row_norm(const float *row, size_t width) {
  double sum = 0.0;
  for (size_t c = 0; c < width; c++)
    sum += (double)row[c] * (double)row[c];
  return sqrt(sum);
}

/* The sum of <u_i, u_j> over all pairs i != j of n unit rows u is |sum u|^2 - n. */
double spectra_similarity(const float *x, size_t tokens, size_t width, double *scratch) {
  double squares = 0.0, rows = 0.0;
  memset(scratch, 0, width * sizeof *scratch);
  for (size_t n = 0; n < tokens; n++) {
    const float *row = x + n * width;
    double norm = row_norm(row, width);
    rows += norm > 0.0;
    for (size_t c = 0; c < width && norm > 0.0; c++)
      scratch[c] += (double)row[c] / norm;
  }
  for (size_t c = 0; c < width; c++)
    squares += scratch[c] * scratch[c];
  return rows < 2.0 ? (double)NAN : (squares - rows) / (rows * (rows - 1.0));
}

/* ---- frequencies ---- */

/* Most frequencies computed for long sequences, evenly spread. */
enum { MOST_FREQUENCIES = 256 };

static size_t band_of(size_t k, size_t highest) {
  return k == 0 ? 0 : (k * (SPECTRA_BANDS - 1) + highest - 1) / highest;
}

double spectra_frequency(size_t band) {
  return band == 0 ? 0.0 : ((double)band - 0.5) / (SPECTRA_BANDS - 1);
}

/* Energy of Fourier coefficient k over all columns; `turn` holds cos and sin of 2 pi t / tokens. */
static double coefficient_energy(const float *x, size_t tokens, size_t width, size_t k,
                                 const double *turn, double *sums) {
  memset(sums, 0, 2 * width * sizeof *sums);
  for (size_t n = 0; n < tokens; n++) {
    const double *w = turn + 2 * (k * n % tokens);
    for (size_t c = 0; c < width; c++) {
      sums[2 * c] += w[0] * (double)x[n * width + c];
      sums[2 * c + 1] += w[1] * (double)x[n * width + c];
    }
  }
  double energy = 0.0;
  for (size_t c = 0; c < 2 * width; c++)
    energy += sums[c] * sums[c];
  return energy;
}

/* Fills `scratch` with `turn`; coefficient_energy's sums follow it. */
static void make_turn(size_t tokens, double *scratch) {
  for (size_t n = 0; n < tokens; n++) {
    scratch[2 * n] = cos(2.0 * PI * (double)n / (double)tokens);
    scratch[2 * n + 1] = sin(2.0 * PI * (double)n / (double)tokens);
  }
}

void spectra_add_energy(const float *x, size_t tokens, size_t width, double *scratch,
                        double energy[SPECTRA_BANDS]) {
  size_t highest = tokens / 2, step = highest / MOST_FREQUENCIES + 1;
  double *turn = scratch, *sums = scratch + 2 * tokens;
  make_turn(tokens, turn);
  energy[0] += coefficient_energy(x, tokens, width, 0, turn, sums);
  for (size_t k = 1; k <= highest; k += step)
    energy[band_of(k, highest)] += coefficient_energy(x, tokens, width, k, turn, sums);
}

/* The total energy is exact (Parseval); if frequencies of long sequences are skipped, its division
 * is an estimate. Every frequency counts twice, except 0 and the highest of an even length. */
spectra_shares spectra_divide(const float *x, size_t tokens, size_t width, double *scratch) {
  size_t highest = tokens / 2, step = highest / MOST_FREQUENCIES + 1;
  double *turn = scratch, *sums = scratch + 2 * tokens, all = 0.0, above = 0.0, high = 0.0;
  for (size_t i = 0; i < tokens * width; i++)
    all += (double)x[i] * (double)x[i] * (double)tokens;
  if (!(all > 0.0)) return (spectra_shares){(double)NAN, (double)NAN};
  make_turn(tokens, turn);
  double low = coefficient_energy(x, tokens, width, 0, turn, sums) / all;
  for (size_t k = 1; k <= highest; k += step) {
    double energy = coefficient_energy(x, tokens, width, k, turn, sums);
    if (2 * k < tokens) energy *= 2.0;
    above += energy;
    if (2 * k > highest) high += energy;
  }
  return (spectra_shares){low, above > 0.0 ? (1.0 - low) * high / above : 0.0};
}

/* ---- singular values ---- */

static void make_gram(const float *x, size_t tokens, size_t width, double *gram) {
  memset(gram, 0, width * width * sizeof *gram);
  for (size_t n = 0; n < tokens; n++)
    for (size_t i = 0; i < width; i++)
      for (size_t j = i; j < width; j++)
        gram[i * width + j] += (double)x[n * width + i] * (double)x[n * width + j];
  for (size_t i = 0; i < width; i++)
    for (size_t j = 0; j < i; j++)
      gram[i * width + j] = gram[j * width + i];
}

/* Needs no singular values, only the traces of the Gram matrix and its square. */
double spectra_effective_rank(const float *x, size_t tokens, size_t width, double *gram) {
  double trace = 0.0, squares = 0.0;
  make_gram(x, tokens, width, gram);
  for (size_t i = 0; i < width; i++)
    trace += gram[i * width + i];
  for (size_t i = 0; i < width * width; i++)
    squares += gram[i] * gram[i];
  return squares > 0.0 ? trace * trace / squares : 0.0;
}

/* Zeroes entry (p, q) of a symmetric matrix by a Jacobi rotation (Golub & Van Loan, section
 * 8.5.2). */
static void rotate(double *a, size_t width, size_t p, size_t q) {
  double apq = a[p * width + q];
  double tau = (a[q * width + q] - a[p * width + p]) / (2.0 * apq);
  double t = (tau >= 0.0 ? 1.0 : -1.0) / (fabs(tau) + sqrt(1.0 + tau * tau));
  double cosine = 1.0 / sqrt(1.0 + t * t), sine = t * cosine;
  for (size_t i = 0; i < width; i++) {
    double x = a[i * width + p], y = a[i * width + q];
    a[i * width + p] = cosine * x - sine * y;
    a[i * width + q] = sine * x + cosine * y;
  }
  for (size_t i = 0; i < width; i++) {
    double x = a[p * width + i], y = a[q * width + i];
    a[p * width + i] = cosine * x - sine * y;
    a[q * width + i] = sine * x + cosine * y;
  }
}

/* Rotates once for each entry above the diagonal. False: all were negligible. */
static bool sweep(double *a, size_t width, double negligible) {
  bool rotated = false;
  for (size_t p = 0; p + 1 < width; p++)
    for (size_t q = p + 1; q < width; q++) {
      if (!(fabs(a[p * width + q]) > negligible)) continue;
      rotate(a, width, p, q);
      rotated = true;
    }
  return rotated;
}

static int descending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

void spectra_gram_values(double *gram, size_t width, double *values) {
  enum { MOST_SWEEPS = 30 };
  double trace = 0.0;
  for (size_t i = 0; i < width; i++)
    trace += gram[i * width + i];
  for (int i = 0; i < MOST_SWEEPS && sweep(gram, width, 1e-16 * trace); i++) {
  }
  for (size_t i = 0; i < width; i++)
    values[i] = sqrt(fmax(gram[i * width + i], 0.0));
  qsort(values, width, sizeof *values, descending);
  for (size_t i = 0; i < width; i++)
    if (values[i] < 1e-7 * values[0]) values[i] = 0.0;
}

void spectra_singular_values(const float *x, size_t tokens, size_t width, double *gram,
                             double *values) {
  make_gram(x, tokens, width, gram);
  spectra_gram_values(gram, width, values);
}
