/* Overflow checks for unsigned sums and products, in plain C. */
#ifndef FT_BASE_OVERFLOW_H
#define FT_BASE_OVERFLOW_H

#include <stdbool.h>
#include <stdint.h>

/** Sets *out to a + b modulo 2^64; returns whether the sum overflowed. */
static inline bool ft_add_overflows(uint64_t a, uint64_t b, uint64_t *out) {
  *out = a + b;
  return *out < a;
}

/** Sets *out to a * b modulo 2^64; returns whether the product overflowed. */
static inline bool ft_multiply_overflows(uint64_t a, uint64_t b, uint64_t *out) {
  *out = a * b;
  return a && *out / a != b;
}

#endif
