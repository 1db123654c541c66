/* Exchanges between ranks by point-to-point messages, for train/shards.c, shares.c, evaluate.c and
 * run.c. In each round every rank has one partner, as in a tournament, and the lower rank of a pair
 * sends first: blocking calls cannot deadlock. */
#include "train/ranks.h"

filtra_status ft_check_transport(const filtra_transport *t) {
  if (!t) return FILTRA_OK;
  FT_TRY(FT_CHECK_RESERVED(filtra_transport, t));
  if (t->size < 0 || t->rank < 0 || t->rank >= (t->size ? t->size : 1))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the transport has rank %d of %d; ranks count from 0 to size - 1", t->rank,
                   t->size);
  if (t->size > 1 && (!t->send || !t->receive || !t->barrier || !t->abort))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "a transport of %d ranks needs send, receive, barrier and abort", t->size);
  return FILTRA_OK;
}

static filtra_status fail(const ft_ranks *r, int peer, int result) {
  const filtra_transport *t = r->transport;
  if (result == FILTRA_TRANSPORT_LATE)
    return ft_fail(FILTRA_ERROR_RANK,
                   "rank %d waited %g seconds for rank %d, which hangs or is far slower; the last "
                   "checkpoint is whole",
                   t->rank, r->deadline, peer);
  return ft_fail(FILTRA_ERROR_RANK,
                 "rank %d cannot reach rank %d any more (%s); the last checkpoint is whole",
                 t->rank, peer, t->name ? t->name : "transport");
}

filtra_status ft_ranks_send(const ft_ranks *r, int to, const void *data, size_t bytes) {
  const filtra_transport *t = r->transport;
  int result = bytes ? t->send(t->user, to, data, bytes, r->deadline) : 0;
  return result ? fail(r, to, result) : FILTRA_OK;
}

filtra_status ft_ranks_receive(const ft_ranks *r, int from, void *data, size_t bytes) {
  const filtra_transport *t = r->transport;
  int result = bytes ? t->receive(t->user, from, data, bytes, r->deadline) : 0;
  return result ? fail(r, from, result) : FILTRA_OK;
}

/* Rounds of the circle method, in which each pair of ranks meets once. */
static int rounds(int size) {
  return size % 2 ? size : size - 1;
}

static int partner(int rank, int size, int round) {
  int circle = rounds(size), last = size - 1;
  if (size % 2 == 0 && rank == last) {
    for (int i = 0; i < circle; i++)
      if ((2 * i) % circle == round) return i;
  }
  int other = ((round - rank) % circle + circle) % circle;
  return other == rank && size % 2 == 0 ? last : other;
}

typedef struct message {
  const void *data;
  size_t bytes;
} message;

static filtra_status exchange(const ft_ranks *r, int peer, message out, void *in, size_t bytes) {
  if (r->transport->rank < peer) {
    FT_TRY(ft_ranks_send(r, peer, out.data, out.bytes));
    return ft_ranks_receive(r, peer, in, bytes);
  }
  FT_TRY(ft_ranks_receive(r, peer, in, bytes));
  return ft_ranks_send(r, peer, out.data, out.bytes);
}

filtra_status ft_ranks_gather(const ft_ranks *ranks, void *all, size_t bytes) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  message out = {(char *)all + (size_t)rank * bytes, bytes};
  for (int round = 0; round < rounds(size); round++) {
    int peer = partner(rank, size, round);
    if (peer != rank) FT_TRY(exchange(ranks, peer, out, (char *)all + (size_t)peer * bytes, bytes));
  }
  return FILTRA_OK;
}

static message part(const float *all, const uint64_t *begin, int rank) {
  return (message){all + begin[rank], (size_t)(begin[rank + 1] - begin[rank]) * sizeof *all};
}

filtra_status ft_ranks_gather_parts(const ft_ranks *ranks, const float *own, float *others,
                                    const uint64_t *begin) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  for (int round = 0; round < rounds(size); round++) {
    int peer = partner(rank, size, round);
    if (peer != rank)
      FT_TRY(exchange(ranks, peer, part(own, begin, rank), others + begin[peer],
                      part(others, begin, peer).bytes));
  }
  return FILTRA_OK;
}

filtra_status ft_ranks_barrier(const ft_ranks *ranks) {
  const filtra_transport *t = ranks->transport;
  int result = t->barrier(t->user, ranks->deadline);
  if (!result) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_RANK, "rank %d waited %g seconds for the others", t->rank,
                 ranks->deadline);
}

/* ---- sums ---- */

/* ((g0 + g1) + g2) + ...: each addition rounds to a float, so every machine has the same sum. */
static void add_in_order(int rank, int size, const float *own, float *room, size_t count) {
  float *sums = room + (size_t)rank * count;
  for (size_t i = 0; i < count; i++) {
    float sum = rank == 0 ? own[i] : room[i];
    for (int k = 1; k < size; k++)
      sum += k == rank ? own[i] : room[(size_t)k * count + i];
    sums[i] = sum;
  }
}

filtra_status ft_ranks_sum_parts(const ft_ranks *ranks, const float *all, const uint64_t *begin,
                                 float *room, const float **sums) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  size_t count = (size_t)(begin[rank + 1] - begin[rank]);
  for (int round = 0; round < rounds(size); round++) {
    int peer = partner(rank, size, round);
    if (peer != rank)
      FT_TRY(exchange(ranks, peer, part(all, begin, peer), room + (size_t)peer * count,
                      count * sizeof *room));
  }
  add_in_order(rank, size, all + begin[rank], room, count);
  *sums = room + (size_t)rank * count;
  return FILTRA_OK;
}
