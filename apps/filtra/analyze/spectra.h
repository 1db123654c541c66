/* Measures of oversmoothing, on host memory: tokens whose features have become alike carry no
 * information about single tokens (Wang et al. 2022; Choi et al. 2024, GFSA, section 5). */
#ifndef FILTRA_SPECTRA_H
#define FILTRA_SPECTRA_H

#include <stddef.h>

enum { SPECTRA_BANDS = 17 };

/** Mean cosine similarity of all pairs of rows of x [tokens, width]; ignores zero rows. NaN with
 * fewer than two tokens. `scratch` has `width` numbers. */
double spectra_similarity(const float *x, size_t tokens, size_t width, double *scratch);

/** Adds the energy of x [tokens, width] along the tokens to each frequency band. Band 0 is the mean
 * over tokens (frequency 0); the others divide (0, 1] evenly, where 1 is the highest frequency,
 * alternation from token to token. `scratch` has 2 * (tokens + width) numbers. */
void spectra_add_energy(const float *x, size_t tokens, size_t width, double *scratch,
                        double energy[SPECTRA_BANDS]);
/** The centre frequency of a band. */
double spectra_frequency(size_t band);

/** Fractions of the energy of x [tokens, width]: at frequency 0 (the mean over tokens), and above
 * half of the highest frequency. NaN if x is 0. */
typedef struct spectra_shares {
  double low, high;
} spectra_shares;
/** `scratch` as in spectra_add_energy. */
spectra_shares spectra_divide(const float *x, size_t tokens, size_t width, double *scratch);

/** The effective rank of x [tokens, width]: (sum of squared singular values)^2 over the sum of
 * their fourth powers. It is from 1 to the smaller dimension; 0 if x is 0. `gram` is scratch of
 * width * width numbers. */
double spectra_effective_rank(const float *x, size_t tokens, size_t width, double *gram);

/** Computes singular values of x [tokens, width] into values [width], descending. Those below 1e-7
 * of the largest are rounding errors and become 0. `gram` is scratch of width * width numbers. */
void spectra_singular_values(const float *x, size_t tokens, size_t width, double *gram,
                             double *values);
/** As spectra_singular_values, from a Gram matrix [width, width], which is overwritten. */
void spectra_gram_values(double *gram, size_t width, double *values);

#endif
