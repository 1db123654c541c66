#include "base/rng.h"

#include <math.h>
#include <string.h>

/* Philox4x32-10, Salmon et al. 2011, section 3.3: ten rounds of two 32x32 -> 64 bit products, the
 * key bumped by Weyl constants between rounds. */
void ft_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xd2511f53u * x0;
    uint64_t p1 = (uint64_t)0xcd9e8d57u * x2;
    x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
    x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
    x1 = (uint32_t)p1;
    x3 = (uint32_t)p0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  out[0] = x0;
  out[1] = x1;
  out[2] = x2;
  out[3] = x3;
}

/* The finalizer of SplitMix64 (Steele, Lea & Flood 2014): a bijection of 64-bit words. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

ft_rng ft_rng_make(uint64_t seed, uint64_t stream) {
  uint64_t key = mix(mix(seed) + stream); /* no two streams of one seed share a key */
  return (ft_rng){.key = {(uint32_t)key, (uint32_t)(key >> 32)}};
}

uint32_t ft_rng_u32(ft_rng *rng) {
  if (rng->position % 4 == 0) {
    uint64_t block = rng->position / 4;
    ft_philox((uint32_t[4]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, rng->key, rng->words);
  }
  return rng->words[rng->position++ % 4];
}

static uint64_t next_u64(ft_rng *rng) {
  uint64_t low = ft_rng_u32(rng);
  return low | (uint64_t)ft_rng_u32(rng) << 32;
}

uint64_t ft_rng_below(ft_rng *rng, uint64_t bound) {
  uint64_t excess = -bound % bound; /* 2^64 mod bound; draws below it would favour small results */
  uint64_t draw;
  do
    draw = next_u64(rng);
  while (draw < excess);
  return draw % bound;
}

float ft_rng_float(ft_rng *rng) {
  return (float)(ft_rng_u32(rng) >> 8) * 0x1p-24f;
}

double ft_rng_double(ft_rng *rng) {
  return (double)(next_u64(rng) >> 11) * 0x1p-53;
}

float ft_rng_normal(ft_rng *rng) {
  double radius = sqrt(-2 * log(1 - ft_rng_double(rng))); /* 1 - u lies in (0,1] */
  double turn = ft_rng_double(rng);
  return (float)(radius * cos(2 * 3.14159265358979323846 * turn));
}

uint64_t ft_hash_text(const char *text) {
  return ft_hash_bytes(0xcbf29ce484222325u, text, strlen(text));
}

uint64_t ft_hash_bytes(uint64_t hash, const void *data, size_t size) {
  for (const unsigned char *c = data, *end = c + size; c != end; c++)
    hash = (hash ^ *c) * 0x100000001b3u;
  return hash;
}
