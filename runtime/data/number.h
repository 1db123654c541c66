/* Reading numbers from text files. */
#ifndef FT_DATA_NUMBER_H
#define FT_DATA_NUMBER_H

#include "base/status.h"

/** Reads `length` bytes as one decimal number, independent of the program's locale. Fails with
 * INPUT for anything else, including infinities and NaN, and for numbers that overflow a float. A
 * number too small for a double becomes 0. */
filtra_status ft_read_double(const char *text, size_t length, double *value);
/** The same, as a float. */
filtra_status ft_read_number(const char *text, size_t length, float *value);

#endif
