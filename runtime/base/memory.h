/* Host memory: allocation with error messages and overflow checks, and growable arrays. */
#ifndef FT_BASE_MEMORY_H
#define FT_BASE_MEMORY_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** Zeroed memory or NULL with the error message set; checks count * size for overflow. */
void *ft_calloc(size_t count, size_t size);
/** As realloc, with an overflow check; on failure the old block stays valid and NULL is
 * returned. */
void *ft_realloc(void *pointer, size_t count, size_t size);
/** Copies a string; NULL on failure (message set). */
char *ft_strdup(const char *text);
/** printf into new memory, which the caller frees; NULL on failure. */
char *ft_format(const char *format, ...) FT_PRINTF(1, 2);

/** Frees an array of texts and the texts; `names` may be NULL if `count` is 0. */
void ft_free_names(char **names, size_t count);

/** Makes room for one more element in a growable array: `data` points to the array's pointer;
 * `count` of `capacity` elements are in use. */
filtra_status ft_grow(void *data, size_t count, size_t *capacity, size_t element_size);
#define FT_GROW(data, count, capacity) ft_grow(&(data), (count), &(capacity), sizeof(*(data)))

/** A limit on the memory that a file can make Filtra allocate: the environment variable's value if
 * it is a whole number above 0, else `usual`. */
uint64_t ft_limit(const char *variable, uint64_t usual);

/** Test hook: makes the n-th allocation from now fail; 0: none fails. */
void ft_memory_fail_after(long n);

#endif
