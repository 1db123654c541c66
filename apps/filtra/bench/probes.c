#include "probes.h"

#include "ops/support.h"
#include "probe/contract.h"

/* Chains as in shaders/probe/fma.comp. RDNA 3's compiler pairs multiply-adds in subgroups of 32,
 * but chooses 64 unless asked. */
const bench_chains bench_fma_chains[] = {{"14 chains", "probe/fma", 14, 1, false},
                                         {"18 chains", "probe/fma.wide", 18, 1, true}};
const size_t bench_fma_chain_count = FT_COUNT(bench_fma_chains);

/* Chains as in shaders/probe/matrix.comp. Four chains keep units busy with few subgroups; ANV
 * spills four (Mesa 25), but not two. */
const bench_chains bench_matrix_chains[] = {{"2 x 2", "probe/matrix", 2, 2, true},
                                            {"2 x 1", "probe/matrix", 2, 1, true}};
const size_t bench_matrix_chain_count = FT_COUNT(bench_matrix_chains);

/* A CPU driver has overhead per workgroup; the largest GPUs hold 4000 workgroups of 64 invocations
 * at once. */
uint32_t bench_chain_groups(const filtra_device *dev) {
  return ft_caps_of(dev)->cpu ? 1024 : 16384;
}

static double chain_count(const bench_chains *chains) {
  return (double)chains->rows * chains->columns;
}

static filtra_tensor *fma_chains(filtra_graph *g, const bench_chains *chains, uint32_t groups,
                                 uint32_t rounds) {
  enum { WORKGROUP = 64 };
  const ft_caps *caps = ft_caps_of(ft_graph_device(g));
  const uint32_t count = WORKGROUP * groups, least = caps->subgroup_least;
  filtra_tensor *sums = ft_tensor_new(g, "sums", FILTRA_F32, 1, (int64_t[]){count});
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "fma",
             .kernel = chains->kernel,
             FT_ARGUMENTS(probe_fma, .sums = FT_WRITE(sums), .count = count, .rounds = rounds,
                          .a = 1.0f / (BENCH_FMA_LINKS * (float)rounds)),
             .workgroup = WORKGROUP,
             .subgroup = chains->smallest && ft_caps_runs(caps, least, WORKGROUP) ? least : 0,
             .groups = {groups},
             .flops = 2.0 * count * BENCH_FMA_LINKS * chain_count(chains) * rounds,
             .bytes = 4.0 * count});
  return sums;
}

/* CPU drivers run a workgroup's subgroups one by one. */
static uint32_t subgroups_of(const ft_caps *caps, uint32_t lanes) {
  uint32_t subgroups = caps->cpu ? 1 : 4;
  while (subgroups > 1 && (subgroups * lanes > caps->info.max_workgroup_invocations ||
                           !ft_caps_runs(caps, lanes, subgroups * lanes)))
    subgroups /= 2;
  return subgroups;
}

static filtra_tensor *matrix_chains(filtra_graph *g, const bench_chains *chains, filtra_dtype type,
                                    uint32_t groups, uint32_t rounds) {
  const ft_caps *caps = ft_caps_of(ft_graph_device(g));
  const ft_matrix_shape s = ft_matrix_shape_of(caps, type);
  const uint32_t lanes = ft_matrix_lanes(caps), subgroups = subgroups_of(caps, lanes);
  const uint32_t count = lanes * subgroups * groups;
  const double link = 2.0 * s.m * s.n * s.k * chain_count(chains); /* per subgroup */
  const double links = (double)subgroups * groups * BENCH_MATRIX_LINKS * rounds;
  filtra_tensor *sums = ft_tensor_new(g, "sums", FILTRA_F32, 1, (int64_t[]){count});
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "matrix",
             .kernel = ft_kernel_typed(ft_graph_device(g), chains->kernel, type),
             FT_ARGUMENTS(probe_matrix, .sums = FT_WRITE(sums), .count = count, .rounds = rounds),
             .workgroup = lanes * subgroups,
             .subgroup = lanes,
             FT_CONSTANTS(probe_matrix, .ROWS = chains->rows, .COLUMNS = chains->columns,
                          .LANES = lanes, .MATRIX_M = s.m, .MATRIX_N = s.n, .MATRIX_K = s.k),
             .groups = {groups},
             .flops = link * links,
             .bytes = 4.0 * count});
  return sums;
}

filtra_tensor *bench_chains_of(filtra_graph *g, const bench_chains *chains, filtra_dtype type,
                               uint32_t groups, uint32_t rounds) {
  return type == FILTRA_F32 ? fma_chains(g, chains, groups, rounds)
                            : matrix_chains(g, chains, type, groups, rounds);
}

bool bench_chains_usable(const filtra_device *dev, const bench_chains *chains, filtra_dtype type) {
  const ft_caps *caps = ft_caps_of(dev);
  const ft_matrix_shape s = ft_matrix_shape_of(caps, type);
  return chains->rows * s.m * chains->columns * s.n <= ft_constants_of(caps)->matrix_tile;
}
