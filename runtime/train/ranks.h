/* What the ranks of a run do together, over a transport. All of it is collective: every rank makes
 * the same calls in the same order. */
#ifndef FT_TRAIN_RANKS_H
#define FT_TRAIN_RANKS_H

#include "base/status.h"

#include <filtra/transport.h>

typedef struct ft_ranks {
  const filtra_transport *transport;
  double deadline; /* seconds that a rank waits for another */
} ft_ranks;

/** `all` has room for `bytes` of every rank, in order of ranks; this rank's are there. */
filtra_status ft_ranks_gather(const ft_ranks *ranks, void *all, size_t bytes);
/** Rank r has floats begin[r] to begin[r + 1] of an array that all are to have: this one's are sent
 * from `own`, the others' put into `others`, both as long as the array. */
filtra_status ft_ranks_gather_parts(const ft_ranks *ranks, const float *own, float *others,
                                    const uint64_t *begin);
/** Every rank has floats begin[0] to begin[size] of `all`. Rank r gets the sums over all ranks of
 * its part, begin[r] to begin[r + 1], added in order of ranks, whatever the transport. They lie in
 * `room`, which holds one such part of each rank, at *sums. */
filtra_status ft_ranks_sum_parts(const ft_ranks *ranks, const float *all, const uint64_t *begin,
                                 float *room, const float **sums);
filtra_status ft_ranks_send(const ft_ranks *ranks, int to, const void *data, size_t bytes);
filtra_status ft_ranks_receive(const ft_ranks *ranks, int from, void *data, size_t bytes);
/** Waits for all. */
filtra_status ft_ranks_barrier(const ft_ranks *ranks);

#endif
