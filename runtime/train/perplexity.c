/* Perplexity of a text by a sliding window, so that each token is predicted once and from a long
 * context. Called by programs and `filtra eval --stride`. */
#include "base/memory.h"
#include "base/number.h"
#include "model/model.h"
#include "train/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** A text and the windows over it. */
typedef struct sliding {
  filtra_model *model;
  const int32_t *tokens; /* [count] */
  uint64_t count, windows;
  uint32_t length, stride, batch_size;
  filtra_batch batch;
  int32_t *rows, *labels, *lengths; /* of the batch */
  float *weights;
  double loss, score, weight;
} sliding;

/* Fails unless the samples of a split form one text, in order; gives its tokens. */
static filtra_status join_windows(const filtra_dataset *data, filtra_split split, sliding *s) {
  const uint64_t samples = filtra_dataset_get_info(data)->count[split];
  filtra_sample sample;
  for (uint64_t i = 0; i < samples; i++) {
    FT_TRY(filtra_dataset_sample(data, split, i, &sample));
    if (!i) s->tokens = sample.tokens;
    if (sample.tokens != s->tokens + s->count)
      return ft_fail(
          FILTRA_ERROR_ARGUMENT,
          "a stride is for one text; sample %llu of the %s split is not what follows the "
          "one before",
          (unsigned long long)i, filtra_split_name(split));
    s->count += sample.length;
  }
  if (!s->count)
    return ft_fail(FILTRA_ERROR_INPUT, "there is no %s split", filtra_split_name(split));
  s->count++; /* the last sample's last target */
  return FILTRA_OK;
}

/* Sets row `row` to window `index`: it begins `stride` tokens after the previous window, and counts
 * only tokens that the previous one did not predict. */
static void fill_window(const sliding *s, uint64_t index, uint32_t row) {
  const uint64_t begin = index * s->stride, last = s->count - 1;
  const uint64_t length = last - begin < s->length ? last - begin : s->length;
  int32_t *tokens = s->rows + (size_t)row * s->length,
          *labels = s->labels + (size_t)row * s->length;
  const uint64_t known = index ? s->length - s->stride : 0;
  for (uint64_t n = 0; n < s->length; n++) {
    tokens[n] = n < length ? s->tokens[begin + n] : 0;
    labels[n] = n >= known && n < length ? s->tokens[begin + n + 1] : -1;
  }
  s->lengths[row] = (int32_t)length;
  s->weights[row] = 1.0f;
}

static filtra_status evaluate_batch(sliding *s, uint64_t first) {
  ft_pending_batch pending;
  double loss, score;
  s->batch.count = 0;
  for (uint64_t i = first; i < s->windows && s->batch.count < s->batch_size; i++)
    fill_window(s, i, s->batch.count++);
  for (uint32_t row = s->batch.count; row < s->batch_size; row++) {
    fill_window(s, first, row);
    s->weights[row] = 0.0f;
  }
  FT_TRY(ft_model_submit(s->model, &s->batch, true, &pending));
  FT_TRY(ft_model_collect(s->model, &pending, &loss, &score, NULL));
  const double weight = ft_batch_weight(s->model, &s->batch);
  s->loss += loss * weight;
  s->score += score * weight;
  s->weight += weight;
  return FILTRA_OK;
}

static filtra_status slide(sliding *s) {
  const size_t words = (size_t)s->batch_size * s->length;
  s->rows = ft_calloc(words, sizeof *s->rows);
  s->labels = ft_calloc(words, sizeof *s->labels);
  s->lengths = ft_calloc(s->batch_size, sizeof *s->lengths);
  s->weights = ft_calloc(s->batch_size, sizeof *s->weights);
  if (!s->rows || !s->labels || !s->lengths || !s->weights) return FILTRA_ERROR_HOST_MEMORY;
  s->batch = (filtra_batch){.size = s->batch_size,
                            .length = s->length,
                            .tokens = s->rows,
                            .labels = s->labels,
                            .lengths = s->lengths,
                            .weights = s->weights};
  const uint64_t targets = s->count - 1;
  const uint64_t more = targets > s->length ? targets - s->length : 0;
  s->windows = 1 + (more + s->stride - 1) / s->stride;
  for (uint64_t first = 0; first < s->windows; first += s->batch_size)
    FT_TRY(evaluate_batch(s, first));
  return FILTRA_OK;
}

static filtra_status conclude(const sliding *s, const filtra_dataset *data, filtra_split split,
                              filtra_evaluation *e) {
  const double loss = s->loss / s->weight;
  if (!isfinite(loss))
    return ft_fail(FILTRA_ERROR_NONFINITE, "the loss over the %s split is not finite",
                   filtra_split_name(split));
  *e = (filtra_evaluation){.task = FILTRA_TASK_LANGUAGE_MODEL,
                           .samples = s->windows,
                           .predictions = (uint64_t)s->weight,
                           .loss = loss,
                           .accuracy = s->score / s->weight,
                           .chance = 1.0 / (double)filtra_model_outputs(s->model),
                           .perplexity = ft_perplexity(loss),
                           .top5_accuracy = -1.0};
  return ft_majority_share(data, split, true, &e->majority);
}

filtra_status filtra_model_evaluate_text(filtra_model *model, const filtra_dataset *data,
                                         filtra_split split, uint32_t batch_size, uint32_t stride,
                                         filtra_evaluation *result) {
  FT_NEED(model, data, result);
  const filtra_model_config *o = &model->options.config;
  sliding s = {.model = model,
               .length = (uint32_t)o->max_length,
               .stride = stride,
               .batch_size = batch_size ? batch_size : 1};
  if (o->task != FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "a stride is for language models; the task is \"%s\"",
                   ft_task_name(o->task));
  if ((unsigned)split >= FILTRA_SPLIT_COUNT)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "split is %d, not a split", (int)split);
  if (stride < 1 || stride > s.length)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "stride is %u, accepted are 1 to %u, the model's max_length", stride, s.length);
  FT_TRY(filtra_model_check_data(model, data));
  FT_TRY(join_windows(data, split, &s));
  filtra_status status = slide(&s);
  if (!status) status = conclude(&s, data, split, result);
  free(s.rows);
  free(s.labels);
  free(s.lengths);
  free(s.weights);
  return status;
}
