/* Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): a
 * counter-based generator, the same on host and device (shaders/common/philox.glsl). */
#ifndef FT_BASE_RNG_H
#define FT_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

/** Four 32-bit words of stream `key` at position `counter`. */
void ft_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/** A sequential stream for host code (shuffling, generators, initial values): key = (seed mixed
 * with stream), counter counts up. Copyable; position is part of the state. */
typedef struct ft_rng {
  uint32_t key[2];
  uint64_t position; /* words drawn so far */
  uint32_t words[4];
} ft_rng;

ft_rng ft_rng_make(uint64_t seed, uint64_t stream);
uint32_t ft_rng_u32(ft_rng *rng);
/** Uniform integer in [0, bound), unbiased; bound >= 1. */
uint64_t ft_rng_below(ft_rng *rng, uint64_t bound);
/** Uniform in [0,1), 24 bits. */
float ft_rng_float(ft_rng *rng);
/** Uniform in [0,1), 53 bits. */
double ft_rng_double(ft_rng *rng);
/** N(0,1) by Box-Muller. */
float ft_rng_normal(ft_rng *rng);
/** FNV-1a of a string, for streams named by text. */
uint64_t ft_hash_text(const char *text);
/** FNV-1a of more bytes, continuing from `hash`. */
uint64_t ft_hash_bytes(uint64_t hash, const void *data, size_t size);

#endif
