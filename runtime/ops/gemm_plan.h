/* How a product is computed: shared by gemm.c and the variants in other files. */
#ifndef FT_OPS_GEMM_PLAN_H
#define FT_OPS_GEMM_PLAN_H

#include "gemm/contract.h"
#include "ops/gemm.h"
#include "ops/tuning.h"

/** The constants of any product kernel; each struct begins with the members of `all`. */
typedef union ft_gemm_any_constants {
  struct ft_gemm_constants all;
  struct ft_gemm_tiled_constants tiled;
  struct ft_gemm_s64_constants s64;
  struct ft_gemm_matrix_constants matrix;
} ft_gemm_any_constants;

typedef struct ft_gemm_plan {
  const char *kernel; /* without the suffix of the operands' type */
  uint32_t workgroup, subgroup;
  ft_gemm_any_constants constants; /* without SHAPE and EPILOGUE */
  uint32_t constant_count;
  uint32_t tile_m, tile_n; /* per workgroup */
  uint32_t step;           /* of K per iteration */
  uint32_t wide;           /* elements of an aligned load */
  int64_t parts;           /* number of parts of K, summed separately */
  bool pack_a, pack_b;     /* copy the operand into panels first */
  bool uniform_loads;      /* all lanes share each address of an operand */
  bool sums_rows;          /* the kernel can sum A's rows */
  bool s64;                /* the kernel is s64, which has additional bits of SHAPE */
} ft_gemm_plan;

static inline int64_t ft_ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
/** Bytes of one element. */
static inline int64_t ft_element_bytes(const filtra_tensor *t) {
  return (int64_t)filtra_dtype_bytes(filtra_tensor_dtype(t));
}
/** Number of products. */
static inline int64_t ft_gemm_batches(const ft_gemm *p) {
  return p->outer * p->inner;
}

/** Whether a load of that many elements can begin where t does. */
static inline bool ft_aligned(const filtra_tensor *t, int64_t elements) {
  return ft_begins_at(t, (size_t)(elements * ft_element_bytes(t)));
}

/** Records the copies of operands into panels that the plan asks for, and lets p read them: F32,
 * each panel with its k lines one after the other. kept: B is a parameter, and graphs share its
 * panels. An operand is NULL after an error. */
void ft_gemm_pack(filtra_graph *g, ft_gemm *p, const ft_gemm_plan *plan, bool kept);

filtra_dtype ft_gemm_type(const ft_gemm *p);
/** Number of tiles of C. */
int64_t ft_gemm_tiles(const ft_gemm *p, const ft_gemm_plan *plan);
/** Whether C is just the sums, without epilogue, and one dense range: then parts of K can be summed
 * separately. */
bool ft_gemm_splittable(const ft_gemm *p);
/** Number of parts of K, if the tiles of C alone do not fill the device: enough for all its
 * workgroups, but each with a minimum number of steps. */
int64_t ft_gemm_parts(const filtra_device *dev, const ft_gemm *p, const ft_gemm_plan *plan);

#endif
