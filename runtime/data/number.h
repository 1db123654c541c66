/* Reading numbers from text files. */
#ifndef FT_DATA_NUMBER_H
#define FT_DATA_NUMBER_H

#include "base/status.h"

/** Reads `length` bytes as one decimal number, whatever the program's locale. Fails with INPUT on
 * anything else, infinities and NaN included, and on what no float can hold. A number too small
 * for a float becomes 0. */
filtra_status ft_read_number(const char *text, size_t length, float *value);

#endif
