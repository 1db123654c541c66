/* Makes padded batches of a split's samples, several ahead, in a thread of its own. Called by
 * train/run.c, train/evaluate.c and applications through filtra/data.h. */
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "data/augment.h"
#include "data/loader_entry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PREFETCH = 3, MAX_PREFETCH = 1024 };

/** One batch of an epoch's plan. */
typedef struct planned_batch {
  size_t first; /* index in the plan's rows */
  uint32_t count, bucket;
} planned_batch;

struct filtra_loader {
  const filtra_dataset *dataset;
  filtra_split split;
  uint32_t batch_size;
  bool shuffle, drop_last;
  uint64_t seed;
  filtra_augmentation augmentation;
  float *class_weights; /* [classes]; NULL: 1 each */
  bool weighted;
  unsigned workers; /* threads that fill a batch; 1: the loader's own thread only */
  size_t samples;
  uint32_t *buckets; /* [bucket_count] */
  size_t bucket_count;
  uint64_t batches; /* per epoch */

  /* The plan of one epoch. After creation only the loader's thread uses it. */
  uint64_t planned_epoch;
  uint32_t *order;     /* [samples] scratch: a permutation */
  uint32_t *rows;      /* [samples] in the order of the batches */
  uint32_t *pending;   /* [bucket_count * batch_size] scratch: unfinished batches */
  uint32_t *fill;      /* [bucket_count] scratch: samples in each */
  planned_batch *plan; /* [batches] */

  ft_loader_entry *entries;
  uint32_t entry_count; /* one more than are prepared ahead, for the batch that the caller holds */

  /* Shared with the loader's thread, under `mutex`. */
  ft_mutex mutex;
  ft_condition ready, room;
  filtra_loader_position produce; /* the next batch to prepare */
  filtra_loader_position consume; /* the next batch to return */
  uint64_t head, tail;            /* batches prepared, returned; entry = number % entry_count */
  uint64_t generation;            /* number of set_position calls; detects stale work */
  filtra_status failure;          /* of the batch in preparation; OK: none */
  char failure_text[1024];
  bool stop;
  ft_thread thread;
  bool running;
};

/* ---- planning an epoch ---- */

static uint32_t length_of(const filtra_loader *l, uint32_t index) {
  const ft_split *s = &l->dataset->splits[l->split];
  return ft_row_length(&s->samples->rows[s->rows ? s->rows[index] : index]);
}

/* The first bucket of length `length` or more; bucket_count if there is none. */
static uint32_t bucket_of(const filtra_loader *l, uint32_t length) {
  uint32_t bucket = 0;
  while (bucket < l->bucket_count && l->buckets[bucket] < length)
    bucket++;
  return bucket;
}

/* Shuffles (Fisher-Yates), with one random stream per epoch. */
static void order_samples(filtra_loader *l, uint64_t epoch) {
  for (size_t i = 0; i < l->samples; i++)
    l->order[i] = (uint32_t)i;
  if (!l->shuffle) return;
  ft_rng rng = ft_rng_make(l->seed, epoch);
  for (size_t i = l->samples; i > 1; i--) {
    size_t j = ft_rng_below(&rng, i);
    uint32_t swapped = l->order[i - 1];
    l->order[i - 1] = l->order[j];
    l->order[j] = swapped;
  }
}

/* Number of rows per sample, one after the other. Only images are repeated; all have one length, so
 * batches keep their order. */
static size_t repeats_of(const filtra_loader *l) {
  return l->augmentation.repeats ? l->augmentation.repeats : 1;
}

static void emit(filtra_loader *l, uint32_t bucket, size_t *rows, size_t *batches) {
  uint32_t count = l->fill[bucket];
  l->fill[bucket] = 0;
  if (count == 0 || (count < l->batch_size && l->drop_last)) return;
  memcpy(l->rows + *rows, l->pending + (size_t)bucket * l->batch_size, count * sizeof *l->rows);
  l->plan[(*batches)++] = (planned_batch){*rows, count, bucket};
  *rows += count;
}

/* Puts samples into their buckets in order. A batch is complete once its bucket has enough samples,
 * so lengths stay mixed over the epoch. Partial batches come last. */
static void plan_epoch(filtra_loader *l, uint64_t epoch) {
  size_t rows = 0, batches = 0;
  order_samples(l, epoch);
  for (size_t i = 0; i < l->samples; i++) {
    const uint32_t sample = l->order[i / repeats_of(l)];
    uint32_t bucket = bucket_of(l, length_of(l, sample));
    l->pending[(size_t)bucket * l->batch_size + l->fill[bucket]++] = sample;
    if (l->fill[bucket] == l->batch_size) emit(l, bucket, &rows, &batches);
  }
  for (uint32_t bucket = 0; bucket < l->bucket_count; bucket++)
    emit(l, bucket, &rows, &batches);
  l->planned_epoch = epoch;
}

/* ---- preparing batches ---- */

/* Writes sequence `number` of the batch: tokens, then zeros. */
static void fill_sequence(ft_loader_entry *s, uint32_t number, const int32_t *ids,
                          uint32_t length) {
  int32_t *tokens = s->tokens + (size_t)number * s->batch.length;
  memcpy(tokens, ids, length * sizeof *tokens);
  memset(tokens + length, 0, (s->batch.length - length) * sizeof *tokens);
  s->lengths[number] = (int32_t)length;
}

/* Sets labels to the next tokens, and to -1 after the last one. */
static void fill_successors(ft_loader_entry *s, uint32_t row, const int32_t *ids, uint32_t length) {
  int32_t *labels = s->labels + (size_t)row * s->batch.length;
  for (uint32_t i = 0; i < s->batch.length; i++)
    labels[i] = i < length ? ids[i + 1] : -1;
}

static filtra_status fill_features(const filtra_loader *l, ft_loader_entry *s, uint32_t row,
                                   uint32_t index, uint32_t length) {
  size_t width = l->dataset->info.features;
  float *to = s->features + (size_t)row * s->batch.length * width;
  if (ft_augments_samples(&l->augmentation))
    FT_TRY(ft_augment_sample(l->dataset, l->split, index, &l->augmentation, l->seed, s->batch.epoch,
                             (s->first + row) % repeats_of(l), to));
  else
    FT_TRY(filtra_dataset_sample_features(l->dataset, l->split, index, to));
  memset(to + length * width, 0, (s->batch.length - length) * width * sizeof *to);
  return FILTRA_OK;
}

/* Sets the targets of a row with several labels. */
static void fill_targets(const filtra_loader *l, ft_loader_entry *s, uint32_t row,
                         const filtra_sample *sample) {
  const uint32_t classes = l->dataset->info.classes;
  float *to = s->targets + (size_t)row * classes;
  memset(to, 0, classes * sizeof *to);
  for (uint32_t i = 0; i < sample->label_count; i++)
    to[sample->labels[i]] = l->class_weights ? l->class_weights[sample->labels[i]] : 1.0f;
  for (uint32_t i = 0; i < sample->unknown_count; i++)
    to[sample->labels[sample->label_count + i]] = -1.0f;
}

/* Adds the edges of a row's graph after those of the rows before it. */
static void fill_edges(ft_loader_entry *s, uint32_t row, const filtra_sample *sample) {
  size_t before = 0;
  for (uint32_t i = 0; i < row; i++)
    before += s->edge_counts[i];
  s->edge_counts[row] = sample->edge_count;
  if (sample->edge_count)
    memcpy(s->edges + before * FT_EDGE_WORDS, sample->edges,
           (size_t)sample->edge_count * FT_EDGE_WORDS * sizeof *s->edges);
}

/* Fills a row, except its features. */
static void fill_row(const filtra_loader *l, ft_loader_entry *s, uint32_t row, uint32_t index,
                     float weight) {
  filtra_sample sample;
  filtra_dataset_sample(l->dataset, l->split, index, &sample); /* indices in plans are valid */
  s->lengths[row] = (int32_t)sample.length;
  if (s->tokens) fill_sequence(s, row, sample.tokens, sample.length);
  if (s->tokens && sample.second)
    fill_sequence(s, s->batch.size + row, sample.second, sample.second_length);
  if (l->dataset->info.target == FILTRA_TARGET_NEXT)
    fill_successors(s, row, sample.tokens, sample.length);
  else if (s->labels)
    s->labels[row] = sample.label;
  if (s->values) s->values[row] = sample.value;
  if (s->targets) fill_targets(l, s, row, &sample);
  if (l->class_weights && s->labels) weight *= l->class_weights[sample.label];
  s->weights[row] = l->weighted ? weight * ft_sample_weight(l->dataset, l->split, index) : weight;
  s->indices[row] = index;
  if (s->second) s->second[row] = ft_tokenizer_second(l->dataset->info.tokenizer, sample.second_at);
  if (s->edges) fill_edges(s, row, &sample);
}

/* Rows of a batch that threads take one by one, and the first row that failed. */
typedef struct row_work {
  const filtra_loader *loader;
  ft_loader_entry *entry;
  ft_mutex mutex;
  uint32_t next, failed;
  filtra_status status;
  char *text;
  size_t text_size;
} row_work;

static bool take_row(row_work *w, uint32_t *row) {
  ft_lock(&w->mutex);
  *row = w->next;
  bool any = !w->status && *row < w->entry->batch.count;
  w->next += any;
  ft_unlock(&w->mutex);
  return any;
}

/* Keeps the failure of the lowest row. Threads take rows in order, so that row is the same for any
 * number of threads. */
static void keep_failure(row_work *w, uint32_t row, filtra_status status) {
  ft_lock(&w->mutex);
  if (!w->status || row < w->failed) {
    w->status = status;
    w->failed = row;
    snprintf(w->text, w->text_size, "%s", filtra_error_message());
  }
  ft_unlock(&w->mutex);
}

static void *fill_rows(void *user) {
  row_work *w = user;
  const ft_loader_entry *s = w->entry;
  for (uint32_t row; take_row(w, &row);) {
    filtra_status status =
        fill_features(w->loader, w->entry, row, s->indices[row], (uint32_t)s->lengths[row]);
    if (status) keep_failure(w, row, status);
  }
  return NULL;
}

/* Fills the features of all rows, on several threads; padding rows copy the first row. */
static filtra_status fill_all_features(filtra_loader *l, ft_loader_entry *s) {
  enum { MOST = 64 };
  ft_thread threads[MOST];
  row_work work = {
      .loader = l, .entry = s, .text = l->failure_text, .text_size = sizeof l->failure_text};
  ft_mutex_make(&work.mutex);
  unsigned more = (l->workers < MOST ? l->workers : MOST) - 1;
  more = ft_threads_start(threads, more < s->batch.count ? more : s->batch.count, fill_rows, &work);
  fill_rows(&work);
  ft_threads_join(threads, more);
  ft_mutex_free(&work.mutex);
  size_t row = (size_t)s->batch.length * l->dataset->info.features;
  for (uint32_t i = s->batch.count; i < s->batch.size && !work.status; i++)
    memcpy(s->features + i * row, s->features, row * sizeof *s->features);
  return work.status;
}

static ft_mixture mixture_of(const filtra_loader *l, ft_loader_entry *s) {
  const filtra_dataset_info *info = &l->dataset->info;
  return (ft_mixture){.height = info->height,
                      .width = info->width,
                      .channels = info->features,
                      .size = s->batch.size,
                      .count = s->batch.count,
                      .stride = (size_t)s->batch.length * info->features,
                      .features = s->features,
                      .labels = s->labels,
                      .other_labels = s->other_labels,
                      .label_fractions = s->label_fractions};
}

static filtra_status prepare(filtra_loader *l, ft_loader_entry *s,
                             filtra_loader_position position) {
  if (position.epoch != l->planned_epoch) plan_epoch(l, position.epoch);
  planned_batch p = l->plan[position.batch];
  s->batch.length = l->buckets[p.bucket];
  s->batch.count = p.count;
  s->batch.epoch = position.epoch;
  s->first = p.first;
  const uint32_t *rows = l->rows + p.first;
  for (uint32_t i = 0; i < l->batch_size; i++)
    fill_row(l, s, i, i < p.count ? rows[i] : rows[0], i < p.count ? 1 : 0);
  if (s->features) FT_TRY(fill_all_features(l, s));
  if (s->label_fractions) {
    ft_mixture mixture = mixture_of(l, s);
    ft_mix_batch(&mixture, &l->augmentation, l->seed, position.epoch, position.batch);
  }
  return FILTRA_OK;
}

static filtra_loader_position next_position(const filtra_loader *l, filtra_loader_position p) {
  if (++p.batch < l->batches) return p;
  return (filtra_loader_position){p.epoch + 1, 0};
}

static void *run_thread(void *user) {
  filtra_loader *l = user;
  ft_lock(&l->mutex);
  while (!l->stop) {
    if (l->failure || l->head - l->tail + 1 == l->entry_count) {
      ft_condition_wait(&l->room, &l->mutex);
      continue;
    }
    uint64_t generation = l->generation;
    filtra_loader_position position = l->produce;
    ft_loader_entry *s = &l->entries[l->head % l->entry_count];
    ft_unlock(&l->mutex);
    filtra_status status = prepare(l, s, position);
    ft_lock(&l->mutex);
    if (generation != l->generation) continue;
    if (status) {
      l->failure = status;
      ft_condition_signal(&l->ready);
      continue;
    }
    l->produce = next_position(l, position);
    l->head++;
    ft_condition_signal(&l->ready);
  }
  ft_unlock(&l->mutex);
  return NULL;
}

static filtra_status start_thread(filtra_loader *l) {
  l->running = ft_threads_start(&l->thread, 1, run_thread, l) == 1;
  return l->running ? FILTRA_OK
                    : ft_fail(FILTRA_ERROR_HOST_MEMORY, "cannot start a loader's thread");
}

/* Counts batches per epoch and checks that every sample fits a bucket. */
static filtra_status count_batches(filtra_loader *l) {
  for (size_t i = 0; i < l->samples; i++) {
    uint32_t length = length_of(l, (uint32_t)i), bucket = bucket_of(l, length);
    if (bucket == l->bucket_count)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "sample %zu of %s has %u tokens, more than the longest bucket, %u", i,
                     filtra_split_name(l->split), length, l->buckets[l->bucket_count - 1]);
    if (++l->fill[bucket] < l->batch_size) continue;
    l->fill[bucket] = 0;
    l->batches++;
  }
  for (size_t bucket = 0; bucket < l->bucket_count; bucket++) {
    l->batches += l->fill[bucket] > 0 && !l->drop_last;
    l->fill[bucket] = 0;
  }
  if (l->batches == 0)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "no bucket of the %s split (%zu samples) fills a batch of %u and drop_last is "
                   "set; lower batch_size",
                   filtra_split_name(l->split), l->samples, l->batch_size);
  return FILTRA_OK;
}

/* ---- creation ---- */

static filtra_status check_class_weights(const filtra_dataset *ds, const filtra_loader_options *o) {
  if (!o->class_weights) return FILTRA_OK;
  const bool any =
      ds->info.target == FILTRA_TARGET_CLASS || ds->info.target == FILTRA_TARGET_LABELS;
  if (!any || ds->info.unlabelled[o->split])
    return ft_fail(FILTRA_ERROR_ARGUMENT, "class_weights need samples that have a class");
  if (o->augmentation && ft_augments_batches(o->augmentation))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "class_weights do not go with mixup and cutmix, whose samples have two classes");
  for (uint32_t k = 0; k < ds->info.classes; k++)
    if (!(o->class_weights[k] > 0.0f && isfinite(o->class_weights[k])))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "class_weights[%u] is %g, accepted are finite numbers above 0", k,
                     (double)o->class_weights[k]);
  return FILTRA_OK;
}

static filtra_status check_options(const filtra_dataset *ds, const filtra_loader_options *o) {
  FT_TRY(FT_CHECK_RESERVED(filtra_loader_options, o));
  if ((unsigned)o->split >= FILTRA_SPLIT_COUNT)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "split is %d, not a split", o->split);
  if (ds->splits[o->split].count == 0)
    return ft_fail(FILTRA_ERROR_INPUT, "the data set has no %s samples",
                   filtra_split_name(o->split));
  if (o->batch_size < 1 || o->batch_size > 1 << 20)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch_size is %u; 1 to %d are accepted", o->batch_size,
                   1 << 20);
  if (o->bucket_count && !o->buckets)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "bucket_count is %zu where buckets is NULL",
                   o->bucket_count);
  if (o->prefetch > MAX_PREFETCH)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "prefetch is %u; at most %d are accepted", o->prefetch,
                   MAX_PREFETCH);
  FT_TRY(check_class_weights(ds, o));
  if (!o->augmentation) return FILTRA_OK;
  FT_TRY(ft_augmentation_check(o->augmentation, ds));
  if (o->augmentation->repeats <= 1 || o->shuffle) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_ARGUMENT,
      "augmentation: repeats is %u without shuffle: each epoch would have the same first "
      "images",
      o->augmentation->repeats);
}

static filtra_status allocate(filtra_loader *l, const filtra_loader_options *o) {
  FT_TRY(ft_buckets_make(l->dataset, o->buckets, o->bucket_count, &l->buckets, &l->bucket_count));
  l->fill = ft_calloc(l->bucket_count, sizeof *l->fill);
  if (!l->fill) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(count_batches(l));
  const uint32_t classes = l->dataset->info.classes;
  if (o->class_weights) {
    l->class_weights = ft_calloc(classes, sizeof *l->class_weights);
    if (!l->class_weights) return FILTRA_ERROR_HOST_MEMORY;
    memcpy(l->class_weights, o->class_weights, classes * sizeof *l->class_weights);
  }
  l->order = ft_calloc(l->samples, sizeof *l->order);
  l->rows = ft_calloc(l->samples, sizeof *l->rows);
  l->pending = ft_calloc(l->bucket_count * l->batch_size, sizeof *l->pending);
  l->plan = ft_calloc(l->batches, sizeof *l->plan);
  l->entries = ft_calloc(l->entry_count, sizeof *l->entries);
  if (!l->order || !l->rows || !l->pending || !l->plan || !l->entries)
    return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t i = 0; i < l->entry_count; i++)
    FT_TRY(ft_entry_allocate(&l->entries[i], l->dataset, l->split, l->batch_size,
                             l->buckets[l->bucket_count - 1],
                             ft_augments_batches(&l->augmentation)));
  return FILTRA_OK;
}

filtra_status filtra_loader_create(const filtra_dataset *dataset,
                                   const filtra_loader_options *options, filtra_loader **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(dataset, options);
  FT_TRY(check_options(dataset, options));
  filtra_loader *l = ft_calloc(1, sizeof *l);
  if (!l) return FILTRA_ERROR_HOST_MEMORY;
  l->dataset = dataset;
  l->split = options->split;
  l->batch_size = options->batch_size;
  l->shuffle = options->shuffle;
  l->drop_last = options->drop_last;
  l->weighted = options->sample_weights;
  l->seed = options->seed;
  if (options->augmentation) l->augmentation = *options->augmentation;
  bool costly = ft_samples_are_made(dataset, dataset->splits[options->split].samples) ||
                ft_augments_samples(&l->augmentation);
  l->workers = costly ? ft_processors() : 1;
  l->samples = dataset->splits[options->split].count;
  l->entry_count = (options->prefetch ? options->prefetch : DEFAULT_PREFETCH) + 1;
  ft_mutex_make(&l->mutex);
  ft_condition_make(&l->ready);
  ft_condition_make(&l->room);
  filtra_status status = allocate(l, options);
  if (!status) {
    plan_epoch(l, 0);
    status = start_thread(l);
  }
  if (status) filtra_loader_destroy(&l);
  *out = l;
  return status;
}

void filtra_loader_destroy(filtra_loader **loader) {
  if (!loader || !*loader) return;
  filtra_loader *l = *loader;
  if (l->running) {
    ft_lock(&l->mutex);
    l->stop = true;
    ft_condition_signal(&l->room);
    ft_unlock(&l->mutex);
    ft_threads_join(&l->thread, 1);
  }
  ft_condition_free(&l->room);
  ft_condition_free(&l->ready);
  ft_mutex_free(&l->mutex);
  for (uint32_t i = 0; l->entries && i < l->entry_count; i++)
    ft_entry_free(&l->entries[i]);
  free(l->entries);
  free(l->buckets);
  free(l->class_weights);
  free(l->order);
  free(l->rows);
  free(l->pending);
  free(l->fill);
  free(l->plan);
  free(l);
  *loader = NULL;
}

/* ---- iteration ---- */

const uint32_t *filtra_loader_buckets(const filtra_loader *loader, size_t *count) {
  if (!loader || !count) return NULL;
  *count = loader->bucket_count;
  return loader->buckets;
}

uint64_t filtra_loader_batch_count(const filtra_loader *loader) {
  return loader ? loader->batches : 0;
}

filtra_status filtra_loader_next(filtra_loader *loader, filtra_batch *batch) {
  FT_NEED(loader, batch);
  filtra_loader *l = loader;
  ft_lock(&l->mutex);
  while (l->head == l->tail && !l->failure)
    ft_condition_wait(&l->ready, &l->mutex);
  if (l->head == l->tail) {
    filtra_status status = ft_fail(l->failure, "%s", l->failure_text);
    ft_unlock(&l->mutex);
    return status;
  }
  *batch = l->entries[l->tail % l->entry_count].batch;
  l->tail++; /* frees the entry returned last */
  l->consume = next_position(l, l->consume);
  ft_condition_signal(&l->room);
  ft_unlock(&l->mutex);
  return FILTRA_OK;
}

filtra_loader_position filtra_loader_get_position(const filtra_loader *loader) {
  return loader ? loader->consume : (filtra_loader_position){0};
}

filtra_status filtra_loader_set_position(filtra_loader *loader, filtra_loader_position position) {
  FT_NEED(loader);
  FT_TRY(
      ft_check_reserved("filtra_loader_position", position.reserved, FT_COUNT(position.reserved)));
  filtra_loader *l = loader;
  if (position.batch >= l->batches)
    return ft_fail(
        FILTRA_ERROR_ARGUMENT,
        "batch %llu does not exist: an epoch has %llu; was the run saved with other data "
        "or another batch size?",
        (unsigned long long)position.batch, (unsigned long long)l->batches);
  ft_lock(&l->mutex);
  l->generation++;
  l->head = l->tail;
  l->produce = l->consume = position;
  l->failure = FILTRA_OK;
  ft_condition_signal(&l->room);
  ft_unlock(&l->mutex);
  return FILTRA_OK;
}
