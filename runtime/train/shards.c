/* A step over several ranks (Rajbhandari et al. 2020, "ZeRO", stage 1): each rank owns a shard of
 * the parameters with their moments. The gradients are cut into buckets in the order in which the
 * backward pass computes them, and each bucket is divided among the ranks. While the device still
 * works, the calling thread exchanges each bucket as soon as it is in host memory (Li et al. 2020,
 * "PyTorch distributed", section 3.2.3), and every rank sums its part. Then each rank updates its
 * shard and sends the new values to all. The host adds sums in order of ranks, so that all ranks
 * have the same bits on any device. Called by train/trainer.c and the optimizer (optimizer.c,
 * optimizer_file.c). */
#include "base/file.h"
#include "base/rng.h"
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts begin on whole cache lines. A model is cut into BUCKETS buckets, of at most MOST_BUCKET
 * floats, and large enough that sending a rank's part, at least LEAST_PART floats, takes longer
 * than a message's latency. */
enum { PART_ALIGN = 16, BUCKETS = 16, LEAST_PART = 1 << 13, MOST_BUCKET = 1 << 22 };

/* What each rank tells the others about a step. */
typedef struct record {
  double squares; /* sum of squares of its shard of the summed gradients */
  float loss, score;
  uint64_t step, batch; /* of this rank; must be the same on all */
  uint32_t stop;
} record;

/* Floats begin to end of the flat buffers. `at`: offset of this rank's part in its shard. `first`:
 * the bucket's first parameter in declaration order, whose gradient is computed last. */
typedef struct bucket {
  uint64_t begin, end, at;
  size_t first;
} bucket;

struct ft_shards {
  ft_ranks ranks;
  filtra_device *device;
  bucket *buckets;
  size_t count;
  uint64_t words;  /* of this rank's shard */
  uint64_t *cuts;  /* [size + 1]: where the ranks' parts of the current bucket begin */
  ft_buffer down;  /* from the device: gradients, later this shard's values; then the state */
  ft_buffer up;    /* to the device: this shard's sums, later the others' values */
  float *room;     /* one part of a bucket for each rank */
  record *records; /* [size] */
  bool waits;      /* tests: wait for the end of the backward pass before exchanging */
  double busy;     /* seconds of the last step spent exchanging messages */
  double hidden;   /* the part of `busy` before the backward pass had ended */
  ft_command_pool pool;
  ft_commands copies[3]; /* indexed by the enum below; NULL: not recorded yet */
};

enum { PUT_SUMS, TAKE_VALUES, PUT_VALUES, COPIES };

/* ---- layout ---- */

/* First float of a rank's part. */
static uint64_t cut(const bucket *b, int size, int rank) {
  uint64_t lines = (b->end - b->begin) / PART_ALIGN;
  return b->begin + lines * (uint64_t)rank / (uint64_t)size * PART_ALIGN;
}

static const uint64_t *cuts_of(const struct ft_shards *s, const bucket *b) {
  int size = s->ranks.transport->size;
  for (int i = 0; i <= size; i++)
    s->cuts[i] = cut(b, size, i);
  return s->cuts;
}

static ft_shard_range range_of(const struct ft_shards *s, const bucket *b, int rank) {
  int size = s->ranks.transport->size;
  return (ft_shard_range){cut(b, size, rank), cut(b, size, rank + 1), b->at};
}

static uint64_t shard_words(const struct ft_shards *s, int rank) {
  uint64_t words = 0;
  for (size_t i = 0; i < s->count; i++) {
    ft_shard_range p = range_of(s, &s->buckets[i], rank);
    words += p.end - p.begin;
  }
  return words;
}

size_t ft_shards_range_count(const struct ft_shards *s) {
  return s->count;
}

ft_shard_range ft_shards_range(const struct ft_shards *s, size_t index) {
  return range_of(s, &s->buckets[index], s->ranks.transport->rank);
}

uint64_t ft_shards_words(const struct ft_shards *s) {
  return s->words;
}

static size_t first_declared(const filtra_parameters *params, uint64_t begin, uint64_t end) {
  size_t i = 0;
  for (; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    uint64_t at = p->offset / sizeof(float);
    if (!p->options.buffer && at < end && at + (uint64_t)p->elements > begin) break;
  }
  return i;
}

static int later_first(const void *a, const void *b) {
  const bucket *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? 1 : -1;
  return (x->begin < y->begin) - (x->begin > y->begin);
}

/* Lays out the buckets. They depend on the parameters only, so all ranks have the same ones,
 * whichever kernels their devices run. */
static filtra_status lay_out(struct ft_shards *s, const filtra_parameters *params) {
  const uint64_t ends[] = {params->decay_bytes / sizeof(float),
                           params->trained_bytes / sizeof(float)};
  uint64_t size = (ends[1] / BUCKETS + PART_ALIGN) / PART_ALIGN * PART_ALIGN, at = 0;
  uint64_t least = (uint64_t)s->ranks.transport->size * LEAST_PART;
  if (size > MOST_BUCKET) size = MOST_BUCKET;
  if (size < least) size = least;
  s->buckets = ft_calloc(ends[1] / size + 2, sizeof *s->buckets);
  if (!s->buckets) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < FT_COUNT(ends); i++)
    for (uint64_t end; at < ends[i]; at = end) {
      end = ends[i] - at < size ? ends[i] : at + size;
      s->buckets[s->count++] =
          (bucket){.begin = at, .end = end, .first = first_declared(params, at, end)};
    }
  qsort(s->buckets, s->count, sizeof *s->buckets, later_first);
  for (size_t i = 0; i < s->count; i++) {
    s->buckets[i].at = s->words;
    ft_shard_range p = ft_shards_range(s, i);
    s->words += p.end - p.begin;
  }
  return FILTRA_OK;
}

static size_t room_words(const struct ft_shards *s) {
  size_t most = 0, size = (size_t)s->ranks.transport->size;
  for (size_t i = 0; i < s->count; i++) {
    ft_shard_range p = ft_shards_range(s, i);
    if (p.end - p.begin > most) most = (size_t)(p.end - p.begin);
  }
  return most * size + 1;
}

/* ---- life ---- */

static filtra_status allocate(struct ft_shards *s, const filtra_optimizer *o) {
  size_t size = (size_t)s->ranks.transport->size;
  uint64_t bytes = o->params->trained_bytes;
  FT_TRY(lay_out(s, o->params));
  s->cuts = ft_calloc(size + 1, sizeof *s->cuts);
  s->room = ft_calloc(room_words(s), sizeof *s->room);
  s->records = ft_calloc(size, sizeof *s->records);
  if (!s->cuts || !s->room || !s->records) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(
      ft_buffer_create(s->device, bytes + FT_OPTIMIZER_SUMS_BYTES, FT_MEMORY_READBACK, &s->down));
  return ft_buffer_create(s->device, bytes, FT_MEMORY_UPLOAD, &s->up);
}

filtra_status ft_shards_create(const filtra_optimizer *o, const ft_ranks *ranks,
                               struct ft_shards **out) {
  struct ft_shards *s = *out = ft_calloc(1, sizeof *s);
  if (!s) return FILTRA_ERROR_HOST_MEMORY;
  s->ranks = *ranks;
  s->device = o->params->device;
  return allocate(s, o);
}

void ft_shards_destroy(struct ft_shards **shards) {
  struct ft_shards *s = *shards;
  if (!s) return;
  if (ft_wait_idle(s->device)) ft_wait_whatever(s->device);
  ft_command_pool_destroy(s->device, s->pool);
  ft_buffer_destroy(s->device, &s->down);
  ft_buffer_destroy(s->device, &s->up);
  free(s->buckets);
  free(s->cuts);
  free(s->room);
  free(s->records);
  free(s);
  *shards = NULL;
}

/* ---- copies, recorded once ---- */

static void record_own(const struct ft_shards *s, ft_commands c, const ft_buffer *from,
                       const ft_buffer *to) {
  for (size_t i = 0; i < s->count; i++) {
    ft_shard_range p = ft_shards_range(s, i);
    uint64_t at = p.begin * sizeof(float), bytes = (p.end - p.begin) * sizeof(float);
    ft_commands_copy(s->device, c, from, at, to, at, bytes);
  }
}

static void record_others(const struct ft_shards *s, ft_commands c, const ft_buffer *from,
                          const ft_buffer *to) {
  for (size_t i = 0; i < s->count; i++) {
    const bucket *b = &s->buckets[i];
    ft_shard_range p = ft_shards_range(s, i);
    uint64_t before = b->begin * sizeof(float), behind = p.end * sizeof(float);
    ft_commands_copy(s->device, c, from, before, to, before, p.begin * sizeof(float) - before);
    ft_commands_copy(s->device, c, from, behind, to, behind, b->end * sizeof(float) - behind);
  }
}

filtra_status ft_shards_prepare(filtra_optimizer *o, const ft_buffer *sums) {
  struct ft_shards *s = o->shards;
  filtra_device *dev = s->device;
  ft_commands *c = s->copies;
  if (s->pool) return FILTRA_OK;
  FT_TRY(ft_commands_new(dev, &s->pool, COPIES, c));
  for (int i = 0; i < COPIES; i++)
    FT_TRY(ft_commands_begin(dev, c[i]));
  record_own(s, c[PUT_SUMS], &s->up, sums);
  record_own(s, c[TAKE_VALUES], &o->params->values, &s->down);
  ft_commands_barrier(dev, c[TAKE_VALUES], FT_STAGE_COPY, FT_STAGE_HOST);
  record_others(s, c[PUT_VALUES], &s->up, &o->params->values);
  for (int i = 0; i < COPIES; i++)
    FT_TRY(ft_commands_end(dev, c[i]));
  return FILTRA_OK;
}

filtra_status ft_shards_watch(filtra_optimizer *o, filtra_graph *g) {
  const struct ft_shards *s = o->shards;
  ft_readout *list = ft_calloc(s->count + 1, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < s->count; i++) {
    uint64_t at = s->buckets[i].begin * sizeof(float), end = s->buckets[i].end * sizeof(float);
    list[i] = (ft_readout){&o->params->gradients, &s->down, at, at, end - at};
  }
  list[s->count] = (ft_readout){&o->state, &s->down, FT_OPTIMIZER_SUMS_OFFSET,
                                o->params->trained_bytes, FT_OPTIMIZER_SUMS_BYTES};
  filtra_status status = ft_graph_read_out(g, list, s->count + 1);
  free(list);
  return status;
}

/* ---- a step ---- */

/* Sum of squares over a range, for the gradient norm; frozen parameters count neither for clipping
 * nor for the check for NaN and infinity. `sums` starts at the range's first float. */
static double squares_of(const filtra_optimizer *o, ft_shard_range p, const float *sums) {
  double sum = 0.0;
  for (size_t i = 0; i < o->range_count; i++) {
    const ft_parameter_range *r = &o->ranges[i];
    uint64_t from = r->begin > p.begin ? r->begin : p.begin, to = r->end < p.end ? r->end : p.end;
    for (uint64_t k = from; k < to && !r->frozen; k++)
      sum += (double)sums[k - p.begin] * (double)sums[k - p.begin];
  }
  return sum;
}

/* Fails unless all ranks take the same step with the same batch. */
static filtra_status check_records(const struct ft_shards *s) {
  const record *own = &s->records[s->ranks.transport->rank];
  for (int i = 0; i < s->ranks.transport->size; i++) {
    const record *r = &s->records[i];
    if (r->step == own->step && r->batch == own->batch) continue;
    return ft_fail(FILTRA_ERROR_RANK,
                   "rank %d is at step %llu and rank %d at step %llu%s: they do not train the same "
                   "run; the last checkpoint is whole",
                   i, (unsigned long long)r->step, s->ranks.transport->rank,
                   (unsigned long long)own->step,
                   r->batch == own->batch ? "" : ", with different batches");
  }
  return FILTRA_OK;
}

/* Adds records in order of ranks, so that all get the same numbers. */
static ft_step_metrics add_records(const filtra_optimizer *o, bool *stop) {
  struct ft_shards *s = o->shards;
  double squares = 0.0, loss = 0.0, score = 0.0;
  *stop = false;
  for (int i = 0; i < s->ranks.transport->size; i++) {
    squares += s->records[i].squares;
    loss += (double)s->records[i].loss;
    score += (double)s->records[i].score;
    *stop = *stop || s->records[i].stop;
  }
  s->records[0].score = (float)score;
  const float scale = o->scaling.size ? o->scale.scale : 1.0f, clip = o->options.clip_norm;
  const float norm = (float)(sqrt(squares) / (double)scale);
  ft_step_metrics m = {.loss = (float)loss, .gradient_norm = norm};
  m.clip_scale = (clip > 0.0f && norm > clip ? clip / norm : 1.0f) / scale;
  m.halt = (isfinite(m.loss) ? 0u : (uint32_t)FT_HALT_LOSS) |
           (isfinite(norm) ? 0u : (uint32_t)FT_HALT_GRADIENT);
  return m;
}

/* Updates the loss scale after this step, on all ranks the same, and the metrics about it. */
static filtra_status step_scale(filtra_optimizer *o, ft_step_metrics *m) {
  ft_loss_scale next = o->scale;
  if (!o->scaling.size) return FILTRA_OK;
  m->loss_scale = next.scale;
  m->halt = ft_loss_scale_step(&next, m->halt, o->steps + 1);
  if (m->halt == FT_HALT_SKIPPED) m->gradient_norm = 0.0f;
  m->skipped = next.skipped;
  m->skipped_step_low = next.step_low;
  m->skipped_step_high = next.step_high;
  if (next.scale != o->scale.scale) return ft_optimizer_set_scale(o, &next);
  o->scale = next;
  return FILTRA_OK;
}

/* Copies gradients and state to the host after the graph, unless the graph copies them while it
 * runs. */
static filtra_status read_all(filtra_optimizer *o, const ft_buffer *gradients) {
  struct ft_shards *s = o->shards;
  char *down = s->down.mapped;
  uint64_t bytes = o->params->trained_bytes;
  FT_TRY(ft_download(s->device, gradients, 0, down, bytes));
  return ft_download(s->device, &o->state, FT_OPTIMIZER_SUMS_OFFSET, down + bytes,
                     FT_OPTIMIZER_SUMS_BYTES);
}

/* Sums a bucket over the ranks; this rank's sums are then in `up`. Messages count as hidden if the
 * device was still computing when the last of them arrived. */
static filtra_status sum_bucket(filtra_optimizer *o, size_t index, uint64_t end, double *squares) {
  struct ft_shards *s = o->shards;
  ft_shard_range p = ft_shards_range(s, index);
  const float *sums;
  double began = ft_seconds();
  FT_TRY(ft_ranks_sum_parts(&s->ranks, s->down.mapped, cuts_of(s, &s->buckets[index]), s->room,
                            &sums));
  double seconds = ft_seconds() - began;
  s->busy += seconds;
  if (end && !ft_done(s->device, end)) s->hidden += seconds;
  memcpy((float *)s->up.mapped + p.begin, sums, (size_t)(p.end - p.begin) * sizeof *sums);
  *squares += squares_of(o, p, sums);
  return FILTRA_OK;
}

static filtra_status sum_gradients(filtra_optimizer *o, const ft_shared_step *step,
                                   double *squares) {
  struct ft_shards *s = o->shards;
  uint64_t end = step->graph ? ft_graph_readout_ticket(step->graph, s->count) : 0;
  if (!end) FT_TRY(read_all(o, step->sums));
  if (end && s->waits) FT_TRY(ft_wait(s->device, end));
  for (size_t i = 0; i < s->count; i++) {
    if (end) FT_TRY(ft_wait(s->device, ft_graph_readout_ticket(step->graph, i)));
    if (end) FT_TRY(ft_buffer_invalidate(s->device, &s->down));
    FT_TRY(sum_bucket(o, i, end, squares));
  }
  if (!end) return FILTRA_OK;
  FT_TRY(ft_wait(s->device, end));
  return ft_buffer_invalidate(s->device, &s->down);
}

static filtra_status exchange_records(filtra_optimizer *o, const ft_shared_step *step,
                                      double squares) {
  struct ft_shards *s = o->shards;
  float sums[2];
  double began = ft_seconds();
  ft_optimizer_sums((const char *)s->down.mapped + o->params->trained_bytes, !step->graph, sums);
  s->records[s->ranks.transport->rank] = (record){.squares = squares,
                                                  .loss = sums[0],
                                                  .score = sums[1],
                                                  .step = o->steps + 1,
                                                  .batch = step->batch,
                                                  .stop = step->stop};
  FT_TRY(ft_ranks_gather(&s->ranks, s->records, sizeof *s->records));
  s->busy += ft_seconds() - began;
  return check_records(s);
}

/* Sends the new values of this rank's shard, and receives those of the others. */
static filtra_status exchange_values(struct ft_shards *s) {
  uint64_t ticket;
  FT_TRY(ft_submit(s->device, &s->copies[TAKE_VALUES], 1, &ticket));
  FT_TRY(ft_wait(s->device, ticket));
  FT_TRY(ft_buffer_invalidate(s->device, &s->down));
  double began = ft_seconds();
  for (size_t i = 0; i < s->count; i++)
    FT_TRY(
        ft_ranks_gather_parts(&s->ranks, s->down.mapped, s->up.mapped, cuts_of(s, &s->buckets[i])));
  s->busy += ft_seconds() - began;
  FT_TRY(ft_buffer_flush(s->device, &s->up));
  return ft_submit(s->device, &s->copies[PUT_VALUES], 1, &ticket);
}

filtra_status ft_shards_step(filtra_optimizer *o, const ft_shared_step *step, bool *stopped) {
  struct ft_shards *s = o->shards;
  double squares = 0.0;
  uint64_t ticket;
  s->busy = s->hidden = 0.0;
  FT_TRY(sum_gradients(o, step, &squares));
  FT_TRY(exchange_records(o, step, squares));
  ft_step_metrics m = add_records(o, stopped);
  FT_TRY(step_scale(o, &m));
  o->summed = 0;
  if (m.halt & ~(uint32_t)FT_HALT_SKIPPED)
    return ft_fail(FILTRA_ERROR_NONFINITE,
                   "step %llu: %s is a NaN or an infinity; the parameters are those before this "
                   "step. Try a lower learning_rate or a clip_norm",
                   (unsigned long long)o->steps + 1, ft_halt_name(m.halt));
  o->last_score = s->records[0].score;
  if (m.halt) return ft_optimizer_update_shard(o, !step->graph, &m);
  FT_TRY(ft_buffer_flush(s->device, &s->up));
  FT_TRY(ft_submit(s->device, &s->copies[PUT_SUMS], 1, &ticket));
  FT_TRY(ft_optimizer_update_shard(o, !step->graph, &m));
  FT_TRY(exchange_values(s));
  return ft_optimizer_copy_weights(o);
}

void ft_shards_times(const struct ft_shards *s, double *busy, double *hidden) {
  *busy = s->busy;
  *hidden = s->hidden;
}

void ft_shards_wait_for_backward(struct ft_shards *s) {
  s->waits = true;
}

/* ---- on disk ---- */

filtra_status ft_shards_compare(filtra_optimizer *o) {
  struct ft_shards *s = o->shards;
  const filtra_transport *t = s->ranks.transport;
  uint64_t bytes = o->params->trained_bytes;
  FT_TRY(ft_download(s->device, &o->params->values, 0, s->down.mapped, bytes));
  s->records[t->rank] = (record){.batch = ft_hash_bytes(0, s->down.mapped, bytes)};
  FT_TRY(ft_ranks_gather(&s->ranks, s->records, sizeof *s->records));
  for (int i = 1; i < t->size; i++)
    if (s->records[i].batch != s->records[0].batch)
      return ft_fail(FILTRA_ERROR_RANK,
                     "step %llu: the weights of rank %d are not those of rank 0: its device or its "
                     "memory is faulty; the last checkpoint is whole",
                     (unsigned long long)o->steps, i);
  return FILTRA_OK;
}

/* Copies a rank's shard to its ranges in the flat buffers. */
static void spread(const struct ft_shards *s, int rank, const float *shard, float *flat) {
  for (size_t i = 0; i < s->count; i++) {
    ft_shard_range p = range_of(s, &s->buckets[i], rank);
    memcpy(flat + p.begin, shard, (size_t)(p.end - p.begin) * sizeof *flat);
    shard += p.end - p.begin;
  }
}

static filtra_status collect(struct ft_shards *s, const ft_buffer *shard, float *part) {
  const filtra_transport *t = s->ranks.transport;
  FT_TRY(ft_download(s->device, shard, 0, part, s->words * sizeof *part));
  if (t->rank) return ft_ranks_send(&s->ranks, 0, part, s->words * sizeof *part);
  spread(s, 0, part, s->down.mapped);
  for (int i = 1; i < t->size; i++) {
    FT_TRY(ft_ranks_receive(&s->ranks, i, part, shard_words(s, i) * sizeof *part));
    spread(s, i, part, s->down.mapped);
  }
  return FILTRA_OK;
}

filtra_status ft_shards_collect(filtra_optimizer *o, const ft_buffer *shard, ft_buffer *whole) {
  struct ft_shards *s = o->shards;
  uint64_t most = 1, bytes = o->params->trained_bytes;
  for (int i = 0; i < s->ranks.transport->size; i++)
    if (shard_words(s, i) > most) most = shard_words(s, i);
  float *part = ft_calloc(most, sizeof *part);
  filtra_status status = part ? collect(s, shard, part) : FILTRA_ERROR_HOST_MEMORY;
  free(part);
  if (status || s->ranks.transport->rank) return status;
  FT_TRY(ft_buffer_create(s->device, bytes, FT_MEMORY_READBACK, whole));
  return ft_upload(s->device, whole, 0, s->down.mapped, bytes);
}

filtra_status ft_shards_take(filtra_optimizer *o, const ft_buffer *whole, const ft_buffer *shard) {
  const struct ft_shards *s = o->shards;
  float *flat = s->down.mapped;
  FT_TRY(ft_download(s->device, whole, 0, flat, o->params->trained_bytes));
  for (size_t i = 0; i < s->count; i++) {
    ft_shard_range p = ft_shards_range(s, i);
    FT_TRY(ft_upload(s->device, shard, p.at * sizeof *flat, flat + p.begin,
                     (p.end - p.begin) * sizeof *flat));
  }
  return FILTRA_OK;
}

bool ft_shards_writes(const filtra_optimizer *o) {
  return !o->shards || o->shards->ranks.transport->rank == 0;
}
