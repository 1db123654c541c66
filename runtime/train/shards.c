/* A step over several ranks (Rajbhandari et al. 2020, "ZeRO", stage 1): the gradients' sums go to
 * the rank that owns them, which updates its shard of the parameters with its shard of the moments,
 * and the new values go to all. Sums are added on the host in order of ranks, so that all ranks
 * have the same bits whatever their devices. */
#include "base/rng.h"
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Shards begin on whole cache lines. */
enum { SHARD_ALIGN = 16 };

/* What each rank tells all others about a step. */
typedef struct record {
  double squares; /* of its shard of the summed gradients */
  float loss, score;
  uint64_t step, batch; /* what it has taken the step with */
  uint32_t stop;
} record;

struct ft_shards {
  ft_ranks ranks;
  uint64_t *begin;   /* [size + 1] in floats */
  float *all, *room; /* gradients, then values, of all shards */
  record *records;   /* [size] */
};

filtra_status ft_shards_create(const filtra_parameters *params, const ft_ranks *ranks,
                               struct ft_shards **out) {
  size_t size = (size_t)ranks->transport->size;
  uint64_t words = params->trained_bytes / sizeof(float), lines = words / SHARD_ALIGN;
  for (size_t i = 0; i < params->count; i++)
    if (params->list[i].options.copy != FILTRA_F32)
      return ft_fail(FILTRA_ERROR_UNSUPPORTED,
                     "optimizer: parameter %s has a working copy, which several ranks cannot train "
                     "yet",
                     params->list[i].name);
  struct ft_shards *s = *out = ft_calloc(1, sizeof *s);
  if (!s) return FILTRA_ERROR_HOST_MEMORY;
  s->ranks = *ranks;
  s->begin = ft_calloc(size + 1, sizeof *s->begin);
  s->all = ft_calloc(words, sizeof *s->all);
  s->room = ft_calloc(ft_ranks_room(ranks), sizeof *s->room);
  s->records = ft_calloc(size, sizeof *s->records);
  if (!s->begin || !s->all || !s->room || !s->records) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < size; i++)
    s->begin[i] = lines * i / size * SHARD_ALIGN;
  s->begin[size] = words;
  return FILTRA_OK;
}

void ft_shards_destroy(struct ft_shards **shards) {
  struct ft_shards *s = *shards;
  if (!s) return;
  free(s->begin);
  free(s->all);
  free(s->room);
  free(s->records);
  free(s);
  *shards = NULL;
}

void ft_shards_own(const struct ft_shards *s, uint64_t *begin, uint64_t *end) {
  *begin = s->begin[s->ranks.transport->rank];
  *end = s->begin[s->ranks.transport->rank + 1];
}

/* ---- a step ---- */

/* Of what is trained; frozen parameters count neither for clipping nor as not finite. */
static double squares_of(const filtra_optimizer *o, const float *all) {
  uint64_t begin, end;
  double sum = 0.0;
  ft_shards_own(o->shards, &begin, &end);
  for (size_t i = 0; i < o->range_count; i++) {
    const ft_parameter_range *r = &o->ranges[i];
    uint64_t from = r->begin > begin ? r->begin : begin, to = r->end < end ? r->end : end;
    for (uint64_t k = from; k < to && !r->frozen; k++)
      sum += (double)all[k] * (double)all[k];
  }
  return sum;
}

/* All ranks take the same step with the same batch, or the run is not one. */
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

/* In order of ranks, so that all come to the same numbers. */
static ft_step_metrics add_records(const filtra_optimizer *o, bool *stop) {
  const struct ft_shards *s = o->shards;
  double squares = 0.0, loss = 0.0, score = 0.0;
  *stop = false;
  for (int i = 0; i < s->ranks.transport->size; i++) {
    squares += s->records[i].squares;
    loss += (double)s->records[i].loss;
    score += (double)s->records[i].score;
    *stop = *stop || s->records[i].stop;
  }
  float norm = (float)sqrt(squares), clip = o->options.clip_norm;
  ft_step_metrics m = {.loss = (float)loss, .gradient_norm = norm, .clip_scale = 1.0f};
  if (clip > 0.0f && norm > clip) m.clip_scale = clip / norm;
  m.halt = (isfinite(m.loss) ? 0u : (uint32_t)FT_HALT_LOSS) |
           (isfinite(norm) ? 0u : (uint32_t)FT_HALT_GRADIENT);
  ((struct ft_shards *)s)->records[0].score = (float)score;
  return m;
}

static filtra_status sum_gradients(filtra_optimizer *o, uint64_t batch, bool stop) {
  struct ft_shards *s = o->shards;
  filtra_device *dev = o->params->device;
  float sums[2];
  FT_TRY(ft_download(dev, &o->sums, 0, s->all, o->params->trained_bytes));
  FT_TRY(ft_optimizer_sums(o, sums));
  FT_TRY(ft_ranks_sum_parts(&s->ranks, s->all, s->begin, s->room));
  s->records[s->ranks.transport->rank] = (record){.squares = squares_of(o, s->all),
                                                  .loss = sums[0],
                                                  .score = sums[1],
                                                  .step = o->steps + 1,
                                                  .batch = batch,
                                                  .stop = stop};
  FT_TRY(ft_ranks_gather(&s->ranks, s->records, sizeof *s->records));
  return check_records(s);
}

filtra_status ft_shards_step(filtra_optimizer *o, uint64_t batch, bool stop, bool *stopped) {
  struct ft_shards *s = o->shards;
  filtra_device *dev = o->params->device;
  uint64_t begin, end;
  ft_shards_own(s, &begin, &end);
  uint64_t at = begin * sizeof(float), bytes = (end - begin) * sizeof(float);
  FT_TRY(sum_gradients(o, batch, stop));
  ft_step_metrics m = add_records(o, stopped);
  o->summed = 0;
  if (m.halt)
    return ft_fail(FILTRA_ERROR_NONFINITE,
                   "step %llu: %s is a NaN or an infinity; the parameters are those before this "
                   "step. Try a lower learning_rate or a clip_norm",
                   (unsigned long long)o->steps + 1, ft_halt_name(m.halt));
  if (bytes) FT_TRY(ft_upload(dev, &o->sums, at, s->all + begin, bytes));
  FT_TRY(ft_optimizer_update_shard(o, &m));
  if (bytes) FT_TRY(ft_download(dev, &o->params->values, at, s->all + begin, bytes));
  FT_TRY(ft_ranks_gather_parts(&s->ranks, s->all, s->begin));
  FT_TRY(ft_upload(dev, &o->params->values, 0, s->all, o->params->trained_bytes));
  o->last_score = s->records[0].score;
  return FILTRA_OK;
}

/* ---- on disk ---- */

filtra_status ft_shards_compare(filtra_optimizer *o) {
  struct ft_shards *s = o->shards;
  const filtra_transport *t = s->ranks.transport;
  uint64_t bytes = o->params->trained_bytes;
  FT_TRY(ft_download(o->params->device, &o->params->values, 0, s->all, bytes));
  s->records[t->rank] = (record){.batch = ft_hash_bytes(0, s->all, bytes)};
  FT_TRY(ft_ranks_gather(&s->ranks, s->records, sizeof *s->records));
  for (int i = 1; i < t->size; i++)
    if (s->records[i].batch != s->records[0].batch)
      return ft_fail(FILTRA_ERROR_RANK,
                     "step %llu: the weights of rank %d are not those of rank 0: its device or its "
                     "memory is faulty; the last checkpoint is whole",
                     (unsigned long long)o->steps, i);
  return FILTRA_OK;
}

filtra_status ft_shards_collect(filtra_optimizer *o, const ft_buffer *shard, ft_buffer *whole) {
  struct ft_shards *s = o->shards;
  filtra_device *dev = o->params->device;
  uint64_t begin, end;
  ft_shards_own(s, &begin, &end);
  FT_TRY(ft_download(dev, shard, 0, s->all + begin, (end - begin) * sizeof(float)));
  FT_TRY(ft_ranks_collect(&s->ranks, s->all, s->begin));
  if (s->ranks.transport->rank) return FILTRA_OK;
  FT_TRY(ft_buffer_create(dev, o->params->trained_bytes, FT_MEMORY_READBACK, whole));
  return ft_upload(dev, whole, 0, s->all, o->params->trained_bytes);
}

filtra_status ft_shards_take(filtra_optimizer *o, const ft_buffer *whole, const ft_buffer *shard) {
  uint64_t begin, end;
  ft_shards_own(o->shards, &begin, &end);
  filtra_device *dev = o->params->device;
  uint64_t at = begin * sizeof(float), bytes = (end - begin) * sizeof(float);
  FT_TRY(ft_download(dev, whole, at, o->shards->all + begin, bytes));
  return ft_upload(dev, shard, 0, o->shards->all + begin, bytes);
}

bool ft_shards_writes(const filtra_optimizer *o) {
  return !o->shards || o->shards->ranks.transport->rank == 0;
}
