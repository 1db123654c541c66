/* How a product is computed: what gemm.c and the variants in files of their own share. */
#ifndef FT_OPS_GEMM_PLAN_H
#define FT_OPS_GEMM_PLAN_H

#include "gemm/contract.h"
#include "ops/gemm.h"
#include "ops/tuning.h"

/** The constants of a product's kernel, whichever it is; those of `all` come first in each. */
typedef union ft_gemm_any_constants {
  struct ft_gemm_constants all;
  struct ft_gemm_tiled_constants tiled;
  struct ft_gemm_s64_constants s64;
  struct ft_gemm_matrix_constants matrix;
} ft_gemm_any_constants;

typedef struct ft_gemm_plan {
  const char *kernel; /* without the operands' type */
  uint32_t workgroup, subgroup;
  ft_gemm_any_constants constants; /* without SHAPE and EPILOGUE */
  uint32_t constant_count;
  uint32_t tile_m, tile_n; /* per workgroup */
  uint32_t step;           /* of K per iteration */
  uint32_t wide;           /* elements of an aligned load */
  int64_t parts;           /* of K */
  bool pack_a, pack_b;     /* copy it into panels first */
  bool s64;                /* the kernel knows the bits of SHAPE that are s64's own */
} ft_gemm_plan;

filtra_dtype ft_gemm_type(const ft_gemm *p);
/** Tiles of C. */
int64_t ft_gemm_tiles(const ft_gemm *p, const ft_gemm_plan *plan);
/** Whether C is nothing but the sums, in one dense piece: then parts of K can be summed apart. */
bool ft_gemm_splittable(const ft_gemm *p);
/** Cuts K where the tiles of C alone do not fill the device: parts of at least so many steps of k
 * that there are enough workgroups. */
int64_t ft_gemm_parts(const filtra_device *dev, const ft_gemm *p, const ft_gemm_plan *plan);

#endif
