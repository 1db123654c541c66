/* Exchanges between ranks by point-to-point messages. In each round every rank has one partner, as
 * in a tournament, and the lower rank of a pair sends first: no order of blocking calls locks. */
#include "train/ranks.h"

#include <string.h>

enum { BUCKET = 1 << 18 }; /* floats of one owner that travel at a time: 1 MiB */

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

static filtra_status send_to(const ft_ranks *r, int to, const void *data, size_t bytes) {
  const filtra_transport *t = r->transport;
  int result = bytes ? t->send(t->user, to, data, bytes, r->deadline) : 0;
  return result ? fail(r, to, result) : FILTRA_OK;
}

static filtra_status receive(const ft_ranks *r, int from, void *data, size_t bytes) {
  const filtra_transport *t = r->transport;
  int result = bytes ? t->receive(t->user, from, data, bytes, r->deadline) : 0;
  return result ? fail(r, from, result) : FILTRA_OK;
}

/* This rank's partner of a round, or itself: the circle method, by which each pair meets once in
 * `rounds` rounds. */
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
  void *data;
  size_t bytes;
} message;

static filtra_status exchange(const ft_ranks *r, int peer, message out, message in) {
  if (r->transport->rank < peer) {
    FT_TRY(send_to(r, peer, out.data, out.bytes));
    return receive(r, peer, in.data, in.bytes);
  }
  FT_TRY(receive(r, peer, in.data, in.bytes));
  return send_to(r, peer, out.data, out.bytes);
}

filtra_status ft_ranks_gather(const ft_ranks *ranks, void *all, size_t bytes) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  for (int round = 0; round < rounds(size); round++) {
    int peer = partner(rank, size, round);
    message out = {(char *)all + (size_t)rank * bytes, bytes};
    message in = {(char *)all + (size_t)peer * bytes, bytes};
    if (peer != rank) FT_TRY(exchange(ranks, peer, out, in));
  }
  return FILTRA_OK;
}

static message part(float *all, const uint64_t *begin, int rank) {
  return (message){all + begin[rank], (size_t)(begin[rank + 1] - begin[rank]) * sizeof *all};
}

filtra_status ft_ranks_gather_parts(const ft_ranks *ranks, float *all, const uint64_t *begin) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  for (int round = 0; round < rounds(size); round++) {
    int peer = partner(rank, size, round);
    if (peer != rank) FT_TRY(exchange(ranks, peer, part(all, begin, rank), part(all, begin, peer)));
  }
  return FILTRA_OK;
}

filtra_status ft_ranks_collect(const ft_ranks *ranks, float *all, const uint64_t *begin) {
  message own = part(all, begin, ranks->transport->rank);
  if (ranks->transport->rank) return send_to(ranks, 0, own.data, own.bytes);
  for (int i = 1; i < ranks->transport->size; i++) {
    message in = part(all, begin, i);
    FT_TRY(receive(ranks, i, in.data, in.bytes));
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

size_t ft_ranks_room(const ft_ranks *ranks) {
  return (size_t)ranks->transport->size * BUCKET;
}

/* An owner's part of a bucket. */
static message slice(float *all, const uint64_t *begin, int owner, uint64_t bucket) {
  uint64_t from = begin[owner] + bucket * BUCKET, end = begin[owner + 1];
  if (from >= end) return (message){all, 0};
  return (message){all + from, (size_t)(end - from < BUCKET ? end - from : BUCKET) * sizeof *all};
}

/* ((g0 + g1) + g2) + ..: each addition is rounded to a float, and so the same on every machine. */
static void add_in_order(int rank, int size, float *own, const float *room, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float sum = rank == 0 ? own[i] : room[i];
    for (int k = 1; k < size; k++)
      sum += k == rank ? own[i] : room[(size_t)k * BUCKET + i];
    own[i] = sum;
  }
}

static uint64_t buckets_of(const uint64_t *begin, int size) {
  uint64_t most = 0;
  for (int i = 0; i < size; i++)
    if (begin[i + 1] - begin[i] > most) most = begin[i + 1] - begin[i];
  return (most + BUCKET - 1) / BUCKET;
}

filtra_status ft_ranks_sum_parts(const ft_ranks *ranks, float *all, const uint64_t *begin,
                                 float *room) {
  int rank = ranks->transport->rank, size = ranks->transport->size;
  for (uint64_t b = 0; b < buckets_of(begin, size); b++) {
    message own = slice(all, begin, rank, b);
    for (int round = 0; round < rounds(size); round++) {
      int peer = partner(rank, size, round);
      message in = {room + (size_t)peer * BUCKET, own.bytes};
      if (peer != rank) FT_TRY(exchange(ranks, peer, slice(all, begin, peer, b), in));
    }
    add_in_order(rank, size, own.data, room, own.bytes / sizeof *all);
  }
  return FILTRA_OK;
}
