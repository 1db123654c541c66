/* Tiles of products on matrix units: which fit, and which to choose. Called by ops/gemm.c. */
#include "ops/gemm_matrix.h"

#include "ops/support.h"

#include <math.h>

/* Fields of a row of the table: rows and columns of C of a subgroup, step of k, subgroups of a
 * workgroup, how many of them are adjacent along the columns, parts of K. */
enum { ROWS, COLUMNS, STEP, SUBGROUPS, ACROSS, PARTS };

static ft_matrix_shape shape_of(const filtra_device *dev, filtra_dtype type) {
  return ft_matrix_shape_of(ft_caps_of(dev), type);
}

bool ft_gemm_matrix_there(const filtra_device *dev, filtra_dtype type) {
  return shape_of(dev, type).m != 0 && ft_kernel_typed(dev, "gemm/matrix", type) != NULL;
}

bool ft_gemm_matrix_taken(const ft_configuration *c) {
  return c->value[SUBGROUPS] != 0;
}

/* Shared memory, as in matrix.comp: slices of A and B with 8 numbers of padding per line, or a row
 * of matrices of each subgroup as floats. */
static uint32_t shared_bytes(const uint32_t *v, ft_matrix_shape s) {
  const uint32_t lines = v[SUBGROUPS] / v[ACROSS] * v[ROWS] + v[ACROSS] * v[COLUMNS];
  const uint32_t slices = lines * (v[STEP] / 8 + 1) * 16;
  const uint32_t sums = v[SUBGROUPS] * s.m * v[COLUMNS] * (uint32_t)sizeof(float);
  return slices > sums ? slices : sums;
}

bool ft_gemm_matrix_usable(const filtra_device *dev, filtra_dtype type, const ft_configuration *c) {
  const ft_caps *caps = ft_caps_of(dev);
  const ft_matrix_shape s = shape_of(dev, type);
  const uint32_t *v = c->value, lanes = ft_matrix_lanes(caps);
  if (!ft_gemm_matrix_taken(c)) return v[PARTS] == 1;
  return s.m && v[ROWS] * v[COLUMNS] <= ft_constants_of(caps)->matrix_tile && v[ROWS] % s.m == 0 &&
         v[COLUMNS] % s.n == 0 && v[STEP] % s.k == 0 &&
         v[SUBGROUPS] * lanes <= caps->info.max_workgroup_invocations &&
         ft_caps_runs(caps, lanes, v[SUBGROUPS] * lanes) &&
         shared_bytes(v, s) <= caps->info.shared_memory_bytes;
}

ft_gemm_plan ft_gemm_matrix_plan(const filtra_device *dev, filtra_dtype type,
                                 const ft_configuration *c) {
  const ft_matrix_shape s = shape_of(dev, type);
  const uint32_t *v = c->value, lanes = ft_matrix_lanes(ft_caps_of(dev));
  return (ft_gemm_plan){.kernel = "gemm/matrix",
                        .workgroup = v[SUBGROUPS] * lanes,
                        .subgroup = lanes,
                        .constants.matrix = {.ROWS = v[ROWS] / s.m,
                                             .COLUMNS = v[COLUMNS] / s.n,
                                             .TILE_K = v[STEP],
                                             .ACROSS = v[ACROSS],
                                             .LANES = lanes,
                                             .MATRIX_M = s.m,
                                             .MATRIX_N = s.n,
                                             .MATRIX_K = s.k},
                        .constant_count = FT_CONSTANT_COUNT(gemm_matrix),
                        .tile_m = v[SUBGROUPS] / v[ACROSS] * v[ROWS],
                        .tile_n = v[ACROSS] * v[COLUMNS],
                        .sums_rows = !ft_caps_of(dev)->few_registers,
                        .step = v[STEP],
                        .wide = 8,
                        .parts = v[PARTS]};
}

/* Cost of a row up to a factor: the area of all tiles, including what lies outside C; higher if a
 * subgroup computes fewer sums per matrix loaded, and if workgroups do not fill the device. */
static double cost(const filtra_device *dev, const ft_gemm *p, const ft_gemm_plan *plan,
                   const uint32_t *v) {
  const ft_constants *constants = ft_constants_of(ft_caps_of(dev));
  const double tiles = (double)ft_gemm_tiles(p, plan);
  const double most = ft_gemm_splittable(p) ? (double)p->k / constants->product_chunk : 1;
  const double groups = tiles * (most > 1 ? most : 1), full = ft_busy_groups(ft_caps_of(dev));
  const double loads =
      8 * (1.0 / v[ROWS] + 1.0 / v[COLUMNS]) + 8 * (1.0 / plan->tile_m + 1.0 / plan->tile_n);
  return tiles * plan->tile_m * plan->tile_n * (1 + loads) * (groups < full ? full / groups : 1);
}

ft_configuration ft_gemm_matrix_standard(const filtra_device *dev, const ft_gemm *p) {
  const ft_configuration_table *table = ft_configurations(FT_TUNE_GEMM_MATRIX);
  const filtra_dtype type = ft_gemm_type(p);
  ft_configuration best = ft_configuration_at(FT_TUNE_GEMM_MATRIX, 0);
  double least = INFINITY;
  if (ft_caps_of(dev)->matrix_use != FT_MATRIX_FORCE) return best;
  for (size_t i = 0; i < table->row_count; i++) {
    const ft_configuration c = ft_configuration_at(FT_TUNE_GEMM_MATRIX, i);
    if (!ft_gemm_matrix_taken(&c) || !ft_gemm_matrix_usable(dev, type, &c)) continue;
    const ft_gemm_plan plan = ft_gemm_matrix_plan(dev, type, &c);
    const double this = cost(dev, p, &plan, c.value);
    if (this >= least) continue;
    least = this;
    best = c;
  }
  if (!ft_gemm_matrix_taken(&best)) return best;
  const ft_gemm_plan plan = ft_gemm_matrix_plan(dev, type, &best);
  best.value[PARTS] = (uint32_t)ft_gemm_parts(dev, p, &plan);
  return best;
}
