/* Exchanges between the ranks of a run, over a transport. All calls but send and receive are
 * collective: every rank makes the same calls in the same order. */
#ifndef FT_TRAIN_RANKS_H
#define FT_TRAIN_RANKS_H

#include "base/status.h"

#include <filtra/transport.h>

typedef struct ft_ranks {
  const filtra_transport *transport;
  double deadline; /* seconds to wait for another rank */
} ft_ranks;

/** Fails with ARGUMENT for a rank outside of the size and, with several ranks, without functions.
 * NULL: one process. */
filtra_status ft_check_transport(const filtra_transport *transport);
/** Gathers `bytes` of every rank in `all`, in order of ranks. The caller has put this rank's
 * there. */
filtra_status ft_ranks_gather(const ft_ranks *ranks, void *all, size_t bytes);
/** Gathers an array of which rank r has floats begin[r] to begin[r + 1]: sends this rank's from
 * `own`, and stores the others' in `others`. Both are as long as the array. */
filtra_status ft_ranks_gather_parts(const ft_ranks *ranks, const float *own, float *others,
                                    const uint64_t *begin);
/** Sums arrays `all`, floats begin[0] to begin[size], over the ranks. Rank r gets the sums of its
 * part, begin[r] to begin[r + 1], at *sums. Every transport adds in order of ranks. `room` holds
 * one part of that length for each rank; *sums points into it. */
filtra_status ft_ranks_sum_parts(const ft_ranks *ranks, const float *all, const uint64_t *begin,
                                 float *room, const float **sums);
filtra_status ft_ranks_send(const ft_ranks *ranks, int to, const void *data, size_t bytes);
filtra_status ft_ranks_receive(const ft_ranks *ranks, int from, void *data, size_t bytes);
/** Waits until all ranks have called it. */
filtra_status ft_ranks_barrier(const ft_ranks *ranks);

#endif
