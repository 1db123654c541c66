/* The kernels of the peaks of multiply-adds (shaders/probe), each as one call of a graph. */
#ifndef FILTRA_BENCH_PROBES_H
#define FILTRA_BENCH_PROBES_H

#include "graph/graph.h"

/** Rows x columns sums in registers to which products are added, link by link: an invocation's
 * numbers, or a subgroup's matrices. */
typedef struct bench_chains {
  const char *name, *kernel;
  uint32_t rows, columns;
  bool smallest; /* asks for the smallest subgroups; of matrices all do */
} bench_chains;

extern const bench_chains bench_fma_chains[], bench_matrix_chains[];
extern const size_t bench_fma_chain_count, bench_matrix_chain_count;

enum { BENCH_FMA_LINKS = 16, BENCH_MATRIX_LINKS = 2 }; /* of each chain in a round */

/** Workgroups that keep the device busy, and of which it has little to start. */
uint32_t bench_chain_groups(const filtra_device *dev);
/** Records the chains in so many workgroups, `rounds` times around; of F32, or on the device's
 * matrix units of operands of a 16-bit type. The result has a number of each invocation: the sum
 * over its chains, of matrices over what the invocation has of them. NULL after an error. */
filtra_tensor *bench_chains_of(filtra_graph *g, const bench_chains *chains, filtra_dtype type,
                               uint32_t groups, uint32_t rounds);
/** Whether compilers take so many sums of a subgroup within seconds. */
bool bench_chains_usable(const filtra_device *dev, const bench_chains *chains, filtra_dtype type);

#endif
