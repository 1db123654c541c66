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
/** The same for parts of other lengths: rank r has `all` from begin[r] to begin[r + 1] (floats). */
filtra_status ft_ranks_gather_parts(const ft_ranks *ranks, float *all, const uint64_t *begin);
/** Every rank has floats [0, begin[size]). Afterwards rank r has, in its own part, begin[r] to
 * begin[r + 1], the sums over all ranks, added in order of ranks, whatever the transport. `room`
 * holds ft_ranks_room() floats. */
filtra_status ft_ranks_sum_parts(const ft_ranks *ranks, float *all, const uint64_t *begin,
                                 float *room);
size_t ft_ranks_room(const ft_ranks *ranks);
/** Sends rank 0 the parts of all others; the others' `all` stays as it is. */
filtra_status ft_ranks_collect(const ft_ranks *ranks, float *all, const uint64_t *begin);
/** Waits for all. */
filtra_status ft_ranks_barrier(const ft_ranks *ranks);

#endif
