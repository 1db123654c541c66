/* Arrays in NumPy's .npy format, versions 1 to 3, in memory. */
#ifndef FT_DATA_NPY_H
#define FT_DATA_NPY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_NPY_DIMENSIONS = 4, FT_NPY_TEXT = 1024 };

typedef struct ft_npy {
  uint64_t shape[FT_NPY_DIMENSIONS]; /* 1 from index `dimensions` on */
  uint32_t dimensions;               /* 1 to 4 */
  char kind;     /* 'b': bool; 'i', 'u': whole numbers; 'f': numbers; 'S', 'U': text */
  uint32_t size; /* bytes of an element */
  bool swapped;  /* elements are big-endian */
  bool fortran;  /* the first index varies fastest */
  const uint8_t *data;
} ft_npy;

/** Reads an array's header; `data` then points into `bytes`. Fails with INPUT for other data, for
 * types that are neither numbers nor text, and if bytes are missing or left over. */
filtra_status ft_npy_read(const uint8_t *bytes, size_t size, ft_npy *npy);
/** Position of an element, for the functions below; index[k] is below shape[k]. */
uint64_t ft_npy_at(const ft_npy *npy, const uint64_t index[FT_NPY_DIMENSIONS]);
/** An element that is a number. */
double ft_npy_number(const ft_npy *npy, uint64_t at);
/** An element that is a bool, a whole number or text, as text in UTF-8. Fails with INPUT for text
 * that is too long. */
filtra_status ft_npy_text(const ft_npy *npy, uint64_t at, char text[FT_NPY_TEXT]);
/** "float32 (10, 3)", for messages. */
void ft_npy_describe(const ft_npy *npy, char text[96]);

#endif
