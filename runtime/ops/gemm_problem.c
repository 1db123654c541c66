/* Properties of a matrix product that choose its kernel and tiles: gemm.c and gemm_matrix.c. */
#include "ops/gemm_plan.h"
#include "ops/support.h"

filtra_dtype ft_gemm_type(const ft_gemm *p) {
  return filtra_tensor_dtype(p->a.tensor);
}

int64_t ft_gemm_tiles(const ft_gemm *p, const ft_gemm_plan *plan) {
  return ft_ceil_div(p->m, plan->tile_m) * ft_ceil_div(p->n, plan->tile_n) * ft_gemm_batches(p);
}

bool ft_gemm_splittable(const ft_gemm *p) {
  const ft_matrix *c = &p->c;
  return !p->bias && !p->z && !p->residual && !p->activation && p->dropout == 0 &&
         ft_dense(c->tensor) &&
         filtra_tensor_elements(c->tensor) == ft_gemm_batches(p) * p->m * p->n && c->column == 1 &&
         c->row == p->n && (p->inner == 1 || c->inner == p->m * p->n) &&
         (p->outer == 1 || c->outer == p->inner * p->m * p->n);
}

/* Number of parts of K, each so short that a processor's cache keeps what all tiles read of it.
 * Otherwise tiles that go through long operands line by line fetch each line from memory again. A
 * part's sums are written and read once: at most half of what it reads. */
static int64_t cached_parts(const ft_constants *constants, const ft_gemm *p) {
  if (!constants->product_cache || p->a.column == 1 || p->b.column != 1) return 1;
  const int64_t cached = constants->product_cache / ((p->m + p->n) * ft_element_bytes(p->a.tensor));
  const int64_t least = 4 * p->m * p->n / (p->m + p->n);
  return p->k / (cached > least ? cached : least);
}

int64_t ft_gemm_parts(const filtra_device *dev, const ft_gemm *p, const ft_gemm_plan *plan) {
  const ft_constants *constants = ft_constants_of(ft_caps_of(dev));
  const int64_t tiles = ft_gemm_tiles(p, plan);
  int64_t parts = ft_ceil_div(ft_busy_groups(ft_caps_of(dev)), tiles);
  int64_t most = p->k / constants->product_chunk;
  if (parts > most) parts = most;
  const int64_t cached = tiles > ft_gemm_batches(p) ? cached_parts(constants, p) : 1;
  if (parts < cached) parts = cached;
  return parts < 2 || !ft_gemm_splittable(p) ? 1 : parts;
}
