/* Requests of several threads in batches, for predictors. */
#ifndef FT_TRAIN_BATCHER_H
#define FT_TRAIN_BATCHER_H

#include "base/thread.h"
#include "train/requests.h"

enum { FT_BATCHES_IN_FLIGHT = 2 };

/** Where a caller wants a request's answer; NULL: nowhere. */
typedef struct ft_room {
  float *logits, *probabilities, *vector;
} ft_room;

/** A submission. */
typedef struct ft_job {
  struct ft_job *next, *next_waiting;
  uint64_t ticket;
  ft_request_sample *samples;      /* [count], until all are submitted */
  size_t count, waiting, computed; /* requests; not submitted yet; in flight */
  float *results;                  /* [count, outputs] */
  ft_room *rooms;                  /* [count] */
  ft_word_count read;              /* the words of its texts */
  filtra_status status;
  char *message; /* error message from another thread; NULL: out of memory */
} ft_job;

struct ft_item;
/** A batch in flight. */
typedef struct ft_flying {
  ft_pending_batch pending;
  struct ft_item *items; /* [count] */
  int32_t *lengths;      /* [sequences, count] */
  size_t count;
} ft_flying;

/** Zero it, then set the first three. All but the waiting jobs is used under the device's lock. */
typedef struct ft_batcher {
  const ft_reader *reader;
  size_t batch_size;
  bool gathers; /* requests of several submissions are computed together */
  ft_flying flying[FT_BATCHES_IN_FLIGHT]; /* oldest first */
  size_t flying_count;
  ft_job *jobs;              /* submitted and not collected */
  uint64_t tickets, batches; /* given out; submitted */
  ft_word_count read;        /* the words of all texts */
  ft_mutex mutex;
  ft_job *waiting; /* first come first; under `mutex` */
} ft_batcher;

/** Makes a job of requests and takes `samples`, on failure, too. */
filtra_status ft_job_new(const ft_reader *reader, size_t count, const filtra_request *requests,
                         ft_request_sample *samples, ft_job **out);
void ft_job_free(ft_job *job);

/** Submits all requests of the job, with those that other threads wait to submit meanwhile. On
 * failure the job is the caller's again. */
filtra_status ft_batcher_submit(ft_batcher *b, ft_job *job);
/** Takes a job out and waits for its batches; NULL if the ticket is unknown. */
ft_job *ft_batcher_take(ft_batcher *b, uint64_t ticket);
/** Waits until another batch may be in flight. Under the device's lock. */
void ft_batcher_make_room(ft_batcher *b);
/** For tests: jobs whose threads wait for the device's lock. */
size_t ft_batcher_waiting(ft_batcher *b);
/** Waits for all batches and frees what was not collected. */
void ft_batcher_close(ft_batcher *b);

/** For tests: the batcher of a predictor. */
ft_batcher *ft_predictor_batcher(filtra_predictor *predictor);

#endif
