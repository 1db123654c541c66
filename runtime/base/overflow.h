/* Sums and products that may be too large, in plain C. */
#ifndef FT_BASE_OVERFLOW_H
#define FT_BASE_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

/** Whether `*out`, a + b, is less than that. */
static inline bool ft_add_overflows(uint64_t a, uint64_t b, uint64_t *out) {
  *out = a + b;
  return *out < a;
}

/** Whether `*out`, a * b, is less than that. */
static inline bool ft_multiply_overflows(uint64_t a, uint64_t b, uint64_t *out) {
  *out = a * b;
  return a && *out / a != b;
}

#endif
