/* Batches of requests. A thread that waits for the device's lock leaves its requests in a list,
 * from which the thread that has the lock fills batches of one padded length. At most two batches
 * are in flight; whoever needs room or an answer waits for the oldest and hands out its results.
 * Called by predictor.c. */
#include "train/batcher.h"

#include "base/element.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* A request in a batch. */
typedef struct ft_item {
  ft_job *job;
  size_t index;                    /* in the job */
  const ft_request_sample *sample; /* while the batch is submitted */
} item;

static void add_words(ft_word_count *sum, const ft_word_count *read) {
  sum->words += read->words;
  sum->unknown += read->unknown;
}

filtra_status ft_job_new(const ft_reader *reader, size_t count, const filtra_request *requests,
                         ft_request_sample *samples, ft_job **out) {
  ft_job *j = *out = ft_calloc(1, sizeof *j);
  if (!j) {
    ft_requests_free(samples, count);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  j->count = j->waiting = count;
  j->samples = samples;
  j->results = ft_calloc(count * (size_t)reader->info.outputs, sizeof *j->results);
  j->rooms = ft_calloc(count, sizeof *j->rooms);
  for (size_t i = 0; j->rooms && i < count; i++)
    j->rooms[i] = (ft_room){requests[i].logits, requests[i].probabilities, requests[i].vector};
  for (size_t i = 0; i < count; i++)
    add_words(&j->read, &samples[i].read);
  if (j->results && j->rooms) return FILTRA_OK;
  ft_job_free(j);
  return FILTRA_ERROR_HOST_MEMORY;
}

void ft_job_free(ft_job *job) {
  if (!job) return;
  ft_requests_free(job->samples, job->count);
  free(job->results);
  free(job->rooms);
  free(job->message);
  free(job);
}

static void fail_job(ft_job *j, filtra_status status) {
  if (j->status) return;
  j->status = status;
  j->message = ft_strdup(filtra_error_message());
}

/* ---- results ---- */

/* Waits for the oldest batch and copies its results to their jobs. A result that is not finite
 * fails its own job alone. */
static void finish_oldest(ft_batcher *b) {
  ft_flying done = b->flying[0];
  memmove(b->flying, b->flying + 1, --b->flying_count * sizeof *b->flying);
  const size_t outputs = (size_t)b->reader->info.outputs;
  float *rows = ft_calloc(done.count * outputs, sizeof *rows);
  filtra_status status =
      rows ? ft_model_rows(b->reader->model, &done.pending, done.lengths, done.count, rows)
           : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < done.count; i++) {
    const item *it = &done.items[i];
    if (status && (status != FILTRA_ERROR_NONFINITE ||
                   !ft_elements_finite(FILTRA_F32, rows + i * outputs, outputs)))
      fail_job(it->job, status);
    else
      memcpy(it->job->results + it->index * outputs, rows + i * outputs, outputs * sizeof *rows);
    it->job->computed--;
  }
  free(rows);
  free(done.items);
  free(done.lengths);
}

void ft_batcher_make_room(ft_batcher *b) {
  if (b->flying_count == FT_BATCHES_IN_FLIGHT) finish_oldest(b);
}

static void finish_job(ft_batcher *b, const ft_job *j) {
  while (j->computed)
    finish_oldest(b);
}

/* ---- batches ---- */

/* Joins the edges of a batch's graphs; `counts` [count]. Caller frees *edges. */
static filtra_status join_edges(const ft_flying *t, uint32_t *counts, int32_t **edges) {
  ft_tokens all = {0};
  FT_TRY(ft_tokens_reserve(&all, 1));
  for (size_t i = 0; i < t->count; i++) {
    const ft_tokens *own = &t->items[i].sample->edges;
    filtra_status status = ft_tokens_reserve(&all, own->count);
    if (status) {
      free(all.ids);
      return status;
    }
    if (own->count) memcpy(all.ids + all.count, own->ids, own->count * sizeof *own->ids);
    all.count += own->count;
    counts[i] = (uint32_t)(own->count / FT_EDGE_WORDS);
  }
  *edges = all.ids;
  return FILTRA_OK;
}

/* Submits a batch. Words after each sequence are zero, since some token layouts read them. */
static filtra_status submit_batch(const ft_reader *reader, int64_t padded, ft_flying *t) {
  size_t row = (size_t)padded * reader->columns;
  const bool edges = ft_model_has_edges(&reader->model->options.config);
  /* follow the sequences' words */
  const size_t seconds = reader->joined ? t->count : 0, graphs = edges ? t->count : 0;
  uint32_t *words = ft_calloc(reader->sequences * t->count * row + seconds + graphs, sizeof *words);
  if (!words) return FILTRA_ERROR_HOST_MEMORY;
  int32_t *second = (int32_t *)words + reader->sequences * t->count * row;
  uint32_t *counts = (uint32_t *)second + seconds;
  for (size_t i = 0; i < seconds; i++)
    second[i] = t->items[i].sample->second;
  for (size_t k = 0; k < reader->sequences; k++)
    for (size_t i = 0; i < t->count; i++) {
      const ft_request_sample *s = t->items[i].sample;
      memcpy(words + (k * t->count + i) * row, s->words[k],
             (size_t)s->lengths[k] * reader->columns * sizeof *words);
      t->lengths[k * t->count + i] = s->lengths[k];
    }
  filtra_batch batch = {.size = (uint32_t)t->count,
                        .length = (uint32_t)padded,
                        .count = (uint32_t)t->count,
                        .sequences = (uint32_t)reader->sequences,
                        .lengths = t->lengths,
                        .second = reader->joined ? second : NULL,
                        .edge_counts = edges ? counts : NULL};
  if (reader->info.features)
    batch.features = (const float *)words;
  else
    batch.tokens = (const int32_t *)words;
  filtra_status status = FILTRA_OK;
  int32_t *joined = NULL;
  if (edges) status = join_edges(t, counts, &joined);
  batch.edges = joined;
  if (!status) status = ft_model_submit(reader->model, &batch, false, &t->pending);
  free(joined);
  free(words);
  return status;
}

/* ---- waiting jobs ---- */

static void add_waiting(ft_batcher *b, ft_job *j) {
  ft_lock(&b->mutex);
  ft_job **at = &b->waiting;
  while (*at)
    at = &(*at)->next_waiting;
  *at = j;
  ft_unlock(&b->mutex);
}

size_t ft_batcher_waiting(ft_batcher *b) {
  size_t count = 0;
  ft_lock(&b->mutex);
  for (const ft_job *j = b->waiting; j; j = j->next_waiting)
    count++;
  ft_unlock(&b->mutex);
  return count;
}

/* Takes the job out, unless it has left already. */
static void remove_waiting(ft_batcher *b, const ft_job *j) {
  ft_lock(&b->mutex);
  for (ft_job **at = &b->waiting; *at; at = &(*at)->next_waiting)
    if (*at == j) {
      *at = j->next_waiting;
      break;
    }
  ft_unlock(&b->mutex);
}

/* Moves a job's requests of that padded length to the batch, as long as there is room. */
static void take_requests(ft_job *j, int64_t padded, size_t most, ft_flying *t) {
  for (size_t i = 0; i < j->count && t->count < most; i++) {
    if (j->samples[i].padded != padded) continue;
    t->items[t->count++] = (item){j, i, &j->samples[i]};
    j->samples[i].padded = 0;
    j->waiting--;
    j->computed++;
  }
}

/* The padded length of the job's first waiting request. */
static int64_t next_length(const ft_job *j) {
  size_t i = 0;
  while (!j->samples[i].padded)
    i++;
  return j->samples[i].padded;
}

/* Fills a batch from the waiting jobs: the first request, and all of its padded length. */
static int64_t fill_batch(ft_batcher *b, ft_flying *t) {
  ft_lock(&b->mutex);
  const int64_t padded = next_length(b->waiting);
  for (ft_job **at = &b->waiting; *at && t->count < b->batch_size;) {
    take_requests(*at, padded, b->batch_size, t);
    if ((*at)->waiting)
      at = &(*at)->next_waiting;
    else
      *at = (*at)->next_waiting;
  }
  ft_unlock(&b->mutex);
  return padded;
}

static void free_flying(ft_flying *t) {
  free(t->items);
  free(t->lengths);
  *t = (ft_flying){0};
}

static filtra_status open_flying(const ft_batcher *b, ft_flying *t) {
  *t = (ft_flying){.items = ft_calloc(b->batch_size, sizeof *t->items),
                   .lengths = ft_calloc(b->batch_size * b->reader->sequences, sizeof *t->lengths)};
  if (t->items && t->lengths) return FILTRA_OK;
  free_flying(t);
  return FILTRA_ERROR_HOST_MEMORY;
}

/* Submits a batch, which then is in flight. */
static filtra_status launch(ft_batcher *b, int64_t padded, ft_flying *t) {
  ft_batcher_make_room(b);
  const filtra_status status = submit_batch(b->reader, padded, t);
  if (status) return status;
  b->flying[b->flying_count++] = *t;
  b->batches++;
  return FILTRA_OK;
}

static void fail_items(const ft_flying *t, filtra_status status) {
  for (size_t i = 0; i < t->count; i++) {
    fail_job(t->items[i].job, status);
    t->items[i].job->computed--;
  }
}

/* Submits each job's requests of a batch that failed, so that a request that the model refuses
 * fails its own job alone. */
static void launch_apart(ft_batcher *b, int64_t padded, const ft_flying *t) {
  for (size_t first = 0, end; first < t->count; first = end) {
    ft_flying own;
    for (end = first; end < t->count && t->items[end].job == t->items[first].job;)
      end++;
    filtra_status status = open_flying(b, &own);
    if (!status) {
      memcpy(own.items, t->items + first, (end - first) * sizeof *own.items);
      own.count = end - first;
      status = launch(b, padded, &own);
    }
    if (!status) continue;
    fail_items(&(ft_flying){.items = t->items + first, .count = end - first}, status);
    free_flying(&own);
  }
}

/* Submits the next batch; failures are the jobs'. Fails if the waiting jobs are as they were. */
static filtra_status submit_next(ft_batcher *b) {
  ft_flying t;
  FT_TRY(open_flying(b, &t));
  const int64_t padded = fill_batch(b, &t);
  const filtra_status status = launch(b, padded, &t);
  if (!status) return FILTRA_OK;
  if (t.items[0].job == t.items[t.count - 1].job)
    fail_items(&t, status);
  else
    launch_apart(b, padded, &t);
  free_flying(&t);
  return FILTRA_OK;
}

filtra_status ft_batcher_submit(ft_batcher *b, ft_job *job) {
  filtra_device *device = b->reader->model->device;
  if (b->gathers) add_waiting(b, job);
  ft_device_lock(device);
  if (!b->gathers) add_waiting(b, job);
  while (job->waiting && !job->status) {
    const filtra_status failure = submit_next(b);
    if (failure) fail_job(job, failure);
  }
  if (job->status) {
    remove_waiting(b, job);
    finish_job(b, job);
  } else {
    ft_requests_free(job->samples, job->count);
    job->samples = NULL;
    add_words(&b->read, &job->read);
    job->ticket = ++b->tickets;
    job->next = b->jobs;
    b->jobs = job;
  }
  const filtra_status status = job->status; /* from here on other threads may fail the job */
  ft_device_unlock(device);
  if (!status) return FILTRA_OK;
  return ft_fail(status, "%s", job->message ? job->message : "out of host memory");
}

ft_job *ft_batcher_take(ft_batcher *b, uint64_t ticket) {
  ft_device_lock(b->reader->model->device);
  ft_job **at = &b->jobs;
  while (*at && (*at)->ticket != ticket)
    at = &(*at)->next;
  ft_job *j = *at;
  if (j) {
    *at = j->next;
    finish_job(b, j);
  }
  ft_device_unlock(b->reader->model->device);
  return j;
}

void ft_batcher_close(ft_batcher *b) {
  ft_device_lock(b->reader->model->device);
  while (b->flying_count)
    finish_oldest(b);
  ft_device_unlock(b->reader->model->device);
  while (b->jobs) {
    ft_job *next = b->jobs->next;
    ft_job_free(b->jobs);
    b->jobs = next;
  }
  ft_mutex_free(&b->mutex);
}
