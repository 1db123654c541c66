/* Measures of oversmoothing on host memory: token features that have become alike carry no
 * information about single tokens (Wang et al. 2022; Choi et al. 2024, GFSA, section 5). */
#ifndef FILTRA_SPECTRA_H
#define FILTRA_SPECTRA_H

#include <stddef.h>

enum { SPECTRA_BANDS = 17 };

/** Mean cosine similarity of all pairs of the `tokens` rows of x [tokens, width]; tokens without
 * length are left out. NaN with fewer than two tokens. `scratch` has `width` numbers. */
double spectra_similarity(const float *x, size_t tokens, size_t width, double *scratch);

/** Adds the energy of x [tokens, width] along the token axis to each band of frequencies: band 0
 * is the mean over tokens (frequency 0), the others cut (0, 1] evenly, where 1 is the highest
 * frequency, alternation from token to token. `scratch` has 2 * (tokens + width) numbers. */
void spectra_add_energy(const float *x, size_t tokens, size_t width, double *scratch,
                        double energy[SPECTRA_BANDS]);
/** The frequency in the middle of a band. */
double spectra_frequency(size_t band);

/** What part of the energy of x [tokens, width] is that of the mean over tokens, frequency 0, and
 * what part is above half of the highest frequency. NaN where x is 0. */
typedef struct spectra_shares {
  double low, high;
} spectra_shares;
/** `scratch` as spectra_add_energy's. */
spectra_shares spectra_divide(const float *x, size_t tokens, size_t width, double *scratch);

/** The effective rank of x [tokens, width]: (sum of its squared singular values)^2 over the sum of
 * their fourth powers, from 1 to the lesser side; 0 where x is. `gram` has width * width numbers of
 * scratch. */
double spectra_effective_rank(const float *x, size_t tokens, size_t width, double *gram);

/** Singular values of x [tokens, width], descending, into values [width]. `gram` has
 * width * width numbers of scratch. Values below 1e-7 of the largest, which
 * are rounding, become 0. */
void spectra_singular_values(const float *x, size_t tokens, size_t width, double *gram,
                             double *values);

#endif
