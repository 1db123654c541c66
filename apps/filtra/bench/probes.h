/* Kernels that measure peaks of multiply-adds (shaders/probe), each as one call of a graph. */
#ifndef FILTRA_BENCH_PROBES_H
#define FILTRA_BENCH_PROBES_H

#include "graph/graph.h"

/** Rows x columns sums in registers, to which products are added in turn: numbers per invocation,
 * or matrices per subgroup. */
typedef struct bench_chains {
  const char *name, *kernel;
  uint32_t rows, columns;
  bool smallest; /* requires the smallest subgroups; for matrices always */
} bench_chains;

extern const bench_chains bench_fma_chains[], bench_matrix_chains[];
extern const size_t bench_fma_chain_count, bench_matrix_chain_count;

enum { BENCH_FMA_LINKS = 16, BENCH_MATRIX_LINKS = 2 }; /* additions per chain and round */

/** Workgroups that keep the device busy, with little overhead. */
uint32_t bench_chain_groups(const filtra_device *dev);
/** Records the chains with that many workgroups, for `rounds` rounds: in F32, or on matrix units
 * with operands of a 16-bit type. The result has one number per invocation: the sum over its
 * chains, or over its elements of the matrices. NULL after an error. */
filtra_tensor *bench_chains_of(filtra_graph *g, const bench_chains *chains, filtra_dtype type,
                               uint32_t groups, uint32_t rounds);
/** Whether drivers compile that many sums per subgroup within seconds. */
bool bench_chains_usable(const filtra_device *dev, const bench_chains *chains, filtra_dtype type);

#endif
