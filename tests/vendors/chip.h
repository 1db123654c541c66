/* What the makers say of the chips that the vendors' compilers are asked for, and what follows for
 * a kernel on them. Sizes in bytes, rates for a second. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

typedef struct chip {
  const char *name; /* as loops.sh has it */
  /* Multiply-adds of 16-bit numbers, summed in F32, that a matrix unit makes for each instruction
   * that its SIMD can issue meanwhile; 0: none. */
  double matrix_rate;
  /* Processors, whose workgroups share memory, and their SIMDs. */
  double processors, simds;
  double subgroups; /* at most, on a processor */
  double shared, cache, bandwidth;
  double flops, matrix_flops;
} chip;

/** NULL: it is not listed. */
const chip *chip_named(const char *name);

/** Whole workgroups that a processor holds at once. occupancy: subgroups that fit by registers, on
 * a SIMD, or of NVIDIA on a processor; shared: bytes of a workgroup; each negative if unknown. */
double chip_workgroups(const chip *c, double occupancy, double subgroups, double shared);

/** A product C = A B in tiles, `down` x `across`, each by a workgroup. */
typedef struct tiled_product {
  uint32_t m, n, k, down, across;
  uint32_t bytes, bytes_of_c; /* of an element of A and B, and of C */
  int across_first;           /* the order of workgroups: by rows of tiles */
} tiled_product;

/** Bytes that pass between memory and a cache of that size which keeps what was used last, if
 * `together` workgroups run side by side, in step along k, and all end before the next ones start.
 */
double product_traffic(const tiled_product *p, double together, double cache);

#endif
