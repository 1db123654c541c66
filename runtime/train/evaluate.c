/* Evaluation of a model on a split: loss, accuracy and errors, and baselines that guess. Called by
 * train/run.c during training, and by programs and the command. */
#include "base/memory.h"
#include "base/number.h"
#include "model/model.h"
#include "train/measures.h"
#include "train/run.h"

#include <filtra/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics of the data alone ---- */

/* Counts a sample's label, or a text's next tokens. */
static void count_labels(const filtra_sample *s, bool tokens, uint64_t *count) {
  if (!tokens) count[s->label]++;
  for (uint32_t n = 1; tokens && n <= s->length; n++)
    count[s->tokens[n]]++;
}

filtra_status ft_majority_share(const filtra_dataset *data, filtra_split split, bool tokens,
                                double *share) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  uint32_t labels = tokens ? filtra_tokenizer_size(info->tokenizer) : info->classes;
  uint64_t most = 0, all = 0, *count = ft_calloc(labels, sizeof *count);
  if (!count) return FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < info->count[split]; i++) {
    filtra_sample sample;
    if (!filtra_dataset_sample(data, split, i, &sample)) count_labels(&sample, tokens, count);
  }
  for (uint32_t k = 0; k < labels; k++) {
    all += count[k];
    if (count[k] > most) most = count[k];
  }
  free(count);
  *share = all ? (double)most / (double)all : 0.0;
  return FILTRA_OK;
}

typedef struct row_order {
  const uint8_t *row;
  size_t width;
} row_order;

static int compare_rows(const void *a, const void *b) {
  const row_order *x = a, *y = b;
  return memcmp(x->row, y->row, x->width);
}

/* Finds the most frequent of the rows that are wholly known; NULL: none is. */
static filtra_status most_frequent(const uint8_t *rows, size_t count, size_t width,
                                   const uint8_t **frequent) {
  row_order *order = ft_calloc(count, sizeof *order);
  size_t most = 0, known = 0;
  *frequent = NULL;
  if (!order) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    if (!memchr(rows + i * width, FILTRA_LABEL_UNKNOWN, width))
      order[known++] = (row_order){rows + i * width, width};
  qsort(order, known, sizeof *order, compare_rows);
  for (size_t i = 0, end; i < known; i = end) {
    for (end = i; end < known && !compare_rows(&order[i], &order[end]); end++) {
    }
    if (end - i > most) *frequent = order[i].row;
    if (end - i > most) most = end - i;
  }
  free(order);
  return FILTRA_OK;
}

/* Variance of the split's values: the mean squared error of always predicting their mean. Exactly 0
 * if they are equal: the mean is the first value plus that of differences from it. */
static double variance(const filtra_dataset *data, filtra_split split) {
  uint64_t count = filtra_dataset_get_info(data)->count[split];
  double first = 0.0, mean = 0.0, sum = 0.0;
  filtra_sample sample;
  for (uint64_t i = 0; i < count && !filtra_dataset_sample(data, split, i, &sample); i++) {
    if (i == 0) first = sample.value;
    mean += (sample.value - first) / (double)count;
  }
  mean += first;
  for (uint64_t i = 0; i < count && !filtra_dataset_sample(data, split, i, &sample); i++)
    sum += (sample.value - mean) * (sample.value - mean);
  return sum / (double)count;
}

/* ---- sums over batches ---- */

/* Sums over predictions; the device works on one batch while the host prepares the next. */
typedef struct sums {
  filtra_model *model;
  double loss, score, top5, weight;
  ft_pending_batch pending;
  double pending_weight; /* < 0: no batch is pending */
  const ft_ranks *ranks; /* the ranks that divide the batches among them; NULL: one process */
  /* The predicted class or value of each sample, by its index; with several labels, 1 or 0 for
   * each. NaN: computed by another rank, or not finite. NULL: a language model. */
  float *predicted;  /* [samples, width] */
  size_t width;      /* 1, or the number of labels */
  bool several;      /* several labels per sample */
  float *all;        /* the results of filtra_model_predict_batch, by index; NULL: not wanted */
  float *results;    /* [batch_size, outputs] */
  uint32_t *indices; /* [batch_size] of the pending batch */
  uint32_t pending_count;
} sums;

/* Turns logits or a value into a prediction. */
static void predict_row(const sums *s, const float *row, size_t outputs, float *predicted) {
  size_t best = 0;
  for (size_t k = 0; k < s->width && s->several; k++)
    predicted[k] = ft_predicts_label(row[k]) ? 1.0f : 0.0f;
  for (size_t k = 1; k < outputs; k++)
    if (row[k] > row[best]) best = k;
  if (!s->several) *predicted = outputs > 1 ? (float)best : row[0];
}

/* Stores the pending batch's predictions. */
static filtra_status keep_predictions(sums *s) {
  const size_t outputs = (size_t)filtra_model_outputs(s->model);
  FT_TRY(ft_model_rows(s->model, &s->pending, NULL, s->pending_count, s->results));
  for (uint32_t i = 0; i < s->pending_count; i++) {
    const float *row = s->results + i * outputs;
    predict_row(s, row, outputs, s->predicted + s->indices[i] * s->width);
    if (s->all) memcpy(s->all + s->indices[i] * outputs, row, outputs * sizeof *row);
  }
  return FILTRA_OK;
}

static filtra_status collect(sums *s) {
  double loss, score, top5;
  if (s->pending_weight < 0.0) return FILTRA_OK;
  FT_TRY(ft_model_collect(s->model, &s->pending, &loss, &score, &top5));
  s->loss += loss * s->pending_weight;
  s->score += score * s->pending_weight;
  s->top5 += top5 * s->pending_weight;
  if (s->predicted && isfinite(loss)) FT_TRY(keep_predictions(s));
  s->weight += s->pending_weight;
  s->pending_weight = -1.0;
  return FILTRA_OK;
}

/* Ranks take batches in turn. */
static bool is_mine(const ft_ranks *ranks, uint64_t batch) {
  return !ranks || batch % (uint64_t)ranks->transport->size == (uint64_t)ranks->transport->rank;
}

/* Adds up the sums of all ranks, in order of ranks. */
static filtra_status join(sums *s) {
  if (!s->ranks) return FILTRA_OK;
  size_t size = (size_t)s->ranks->transport->size;
  double(*all)[4] = ft_calloc(size, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  double *own = all[s->ranks->transport->rank];
  own[0] = s->loss;
  own[1] = s->score;
  own[2] = s->weight;
  own[3] = s->top5;
  filtra_status status = ft_ranks_gather(s->ranks, all, sizeof *all);
  s->loss = s->score = s->top5 = s->weight = 0.0;
  for (size_t i = 0; i < size; i++) {
    s->loss += all[i][0];
    s->score += all[i][1];
    s->weight += all[i][2];
    s->top5 += all[i][3];
  }
  free(all);
  return status;
}

/* Merges the predictions of all ranks. */
static filtra_status join_predictions(sums *s, uint64_t count) {
  if (!s->ranks || !s->predicted) return FILTRA_OK;
  const size_t size = (size_t)s->ranks->transport->size, rank = (size_t)s->ranks->transport->rank;
  float *all = ft_calloc(size * count, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(all + rank * count, s->predicted, count * sizeof *all);
  filtra_status status = ft_ranks_gather(s->ranks, all, count * sizeof *all);
  for (size_t i = 0; i < size * count && !status; i++)
    if (!isnan(all[i])) s->predicted[i % count] = all[i];
  free(all);
  return status;
}

static filtra_status walk(sums *s, filtra_loader *loader, const ft_evaluation_way *way) {
  uint64_t batches = filtra_loader_batch_count(loader);
  for (uint64_t i = 0; i < batches; i++) {
    filtra_batch batch;
    ft_pending_batch next;
    if (way->stop && !s->ranks && way->stop(way->user)) {
      FT_TRY(collect(s));
      return ft_fail(FILTRA_ERROR_CANCELLED, "the evaluation was stopped");
    }
    FT_TRY(filtra_loader_next(loader, &batch));
    if (!is_mine(s->ranks, i)) continue;
    FT_TRY(ft_model_submit(s->model, &batch, true, &next));
    FT_TRY(collect(s));
    s->pending = next;
    s->pending_count = batch.count;
    if (s->predicted) memcpy(s->indices, batch.indices, batch.count * sizeof *s->indices);
    s->pending_weight = ft_batch_weight(s->model, &batch);
  }
  return collect(s);
}

/* Measures the predictions against the samples' labels. */
static filtra_status measure_classes(const sums *s, const filtra_dataset *data, filtra_split split,
                                     filtra_evaluation *e) {
  int32_t *labels = ft_calloc(2 * e->samples, sizeof *labels);
  filtra_status status = labels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < e->samples && !status; i++) {
    filtra_sample sample;
    status = filtra_dataset_sample(data, split, i, &sample);
    labels[i] = sample.label;
    labels[e->samples + i] = isnan(s->predicted[i]) ? 0 : (int32_t)s->predicted[i];
  }
  const uint32_t classes = (uint32_t)filtra_model_outputs(s->model);
  if (!status) status = ft_measure_classes(classes, e->samples, labels, labels + e->samples, e);
  free(labels);
  return status;
}

static filtra_status measure_labels(const sums *s, const filtra_dataset *data, filtra_split split,
                                    filtra_evaluation *e) {
  const size_t count = (size_t)e->samples * s->width;
  uint8_t *labels = ft_calloc(count, 2);
  filtra_status status = labels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count && !status; i++)
    labels[count + i] = s->predicted[i] > 0.0f;
  if (!status) status = ft_split_labels(data, split, labels);
  if (!status)
    status = ft_measure_labels((uint32_t)s->width, e->samples, labels, labels + count, e);
  free(labels);
  return status;
}

static size_t known_labels(const uint8_t *row, size_t width) {
  size_t known = 0;
  for (size_t k = 0; k < width; k++)
    known += row[k] != FILTRA_LABEL_UNKNOWN;
  return known;
}

/* Of `count` rows of labels those of which one is known and all known ones are as in `set`. */
static uint64_t right_by(const uint8_t *rows, size_t count, size_t width, const uint8_t *set) {
  uint64_t right = 0;
  for (const uint8_t *row = rows; row < rows + count * width; row += width) {
    bool all = known_labels(row, width) > 0;
    for (size_t k = 0; k < width && all; k++)
      all = row[k] == set[k] || row[k] == FILTRA_LABEL_UNKNOWN;
    right += all;
  }
  return right;
}

/* Sets each label as it is in most rows that know it. */
static void usual_labels(const uint8_t *rows, size_t count, size_t width, uint8_t *set) {
  for (size_t k = 0; k < width; k++) {
    size_t seen[3] = {0};
    for (size_t i = 0; i < count; i++)
      seen[rows[i * width + k]]++;
    set[k] = seen[FILTRA_LABEL_APPLIES] > seen[FILTRA_LABEL_ABSENT];
  }
}

/* Baselines without a model. Majority: always predict the most frequent set of labels, of those
 * that are wholly known, or each label as it is in most samples, whichever is right more often.
 * Chance: coin tosses. */
static filtra_status judge_guesses(const sums *s, const filtra_dataset *data, filtra_split split,
                                   filtra_evaluation *e) {
  const size_t count = (size_t)filtra_dataset_get_info(data)->count[split], width = s->width;
  uint8_t *rows = ft_calloc(count + 1, width), *usual = rows ? rows + count * width : NULL;
  const uint8_t *frequent;
  filtra_status status = rows ? ft_split_labels(data, split, rows) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = most_frequent(rows, count, width, &frequent);
  for (size_t i = 0; i < count && !status; i++) {
    const size_t known = known_labels(rows + i * width, width);
    e->chance += known ? pow(0.5, (double)known) : 0.0;
  }
  e->chance /= (double)e->samples;
  if (!status) {
    usual_labels(rows, count, width, usual);
    const uint64_t one = frequent ? right_by(rows, count, width, frequent) : 0,
                   other = right_by(rows, count, width, usual);
    e->majority = (double)(one > other ? one : other) / (double)e->samples;
  }
  free(rows);
  return status;
}

static filtra_status measure_values(const sums *s, const filtra_dataset *data, filtra_split split,
                                    filtra_evaluation *e) {
  double *values = ft_calloc(2 * e->samples, sizeof *values);
  filtra_status status = values ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < e->samples && !status; i++) {
    filtra_sample sample;
    status = filtra_dataset_sample(data, split, i, &sample);
    values[i] = sample.value;
    values[e->samples + i] = (double)s->predicted[i];
  }
  if (!status) status = ft_measure_values(e->samples, values, values + e->samples, e);
  free(values);
  return status;
}

static filtra_status conclude(const sums *s, const filtra_dataset *data, filtra_split split,
                              filtra_evaluation *e) {
  const filtra_model_config *o = &s->model->options.config;
  double loss = s->loss / s->weight, score = s->score / s->weight;
  bool regression = o->task == FILTRA_TASK_REGRESSION,
       language = o->task == FILTRA_TASK_LANGUAGE_MODEL;
  *e = (filtra_evaluation){.task = filtra_model_task(s->model),
                           .samples = filtra_dataset_get_info(data)->count[split],
                           .predictions = (uint64_t)s->weight,
                           .loss = loss,
                           .top5_accuracy = ft_model_ranks(o) ? s->top5 / s->weight : -1.0};
  if (s->weight == 0.0)
    return ft_fail(FILTRA_ERROR_INPUT, "no label of any sample of the %s split is known",
                   filtra_split_name(split));
  if (!isfinite(loss))
    return ft_fail(FILTRA_ERROR_NONFINITE, "the loss over the %s split is not finite",
                   filtra_split_name(split));
  if (s->several) {
    FT_TRY(measure_labels(s, data, split, e));
    return judge_guesses(s, data, split, e);
  }
  if (!regression) {
    e->accuracy = score;
    e->chance = 1.0 / (double)ft_model_outputs(o);
    e->perplexity = language ? ft_perplexity(loss) : 0.0;
    if (!language) FT_TRY(measure_classes(s, data, split, e));
    return ft_majority_share(data, split, language, &e->majority);
  }
  double scale = o->target_scale, spread = variance(data, split);
  e->absolute_error = score;
  e->root_mean_square_error = sqrt(loss) * scale;
  e->r_squared = spread > 0.0 ? 1.0 - loss * scale * scale / spread : 0.0;
  return measure_values(s, data, split, e);
}

/* Allocates room for the predictions of `count` samples; a language model has none. */
static filtra_status make_room(sums *s, uint64_t count, uint32_t batch_size) {
  if (filtra_model_task(s->model) == FILTRA_TASK_LANGUAGE_MODEL) return FILTRA_OK;
  s->several = filtra_model_task(s->model) == FILTRA_TASK_MULTI_LABEL;
  s->width = s->several ? (size_t)filtra_model_outputs(s->model) : 1;
  s->predicted = ft_calloc(count, s->width * sizeof *s->predicted);
  s->results = ft_calloc(batch_size, (size_t)filtra_model_outputs(s->model) * sizeof *s->results);
  s->indices = ft_calloc(batch_size, sizeof *s->indices);
  for (uint64_t i = 0; i < count * s->width && s->predicted; i++)
    s->predicted[i] = NAN;
  return s->predicted && s->results && s->indices ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

filtra_status filtra_model_evaluate_split(filtra_model *model, const filtra_dataset *data,
                                          filtra_split split, uint32_t batch_size,
                                          filtra_evaluation *result) {
  FT_NEED(model, data, result);
  FT_TRY(filtra_model_check_data(model, data));
  return ft_evaluate_shared(model, data, split, batch_size, &(ft_evaluation_way){0}, result);
}

filtra_status ft_evaluate_shared(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size,
                                 const ft_evaluation_way *way, filtra_evaluation *result) {
  filtra_loader *loader;
  sums s = {.model = model, .pending_weight = -1.0, .ranks = way->ranks, .all = way->results};
  FT_TRY(ft_check_labelled(data, split));
  FT_TRY(filtra_loader_create(
      data, &(filtra_loader_options){.split = split, .batch_size = batch_size}, &loader));
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  filtra_status status = make_room(&s, count, batch_size);
  if (!status) status = walk(&s, loader, way);
  if (!status) status = join(&s);
  if (!status) status = join_predictions(&s, count * s.width);
  filtra_loader_destroy(&loader);
  if (!status) status = conclude(&s, data, split, result);
  free(s.predicted);
  free(s.results);
  free(s.indices);
  return status;
}

filtra_status ft_evaluate_scored(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size, filtra_evaluation *result,
                                 filtra_scores **scores) {
  FT_TRY(filtra_model_check_data(model, data));
  const size_t outputs = (size_t)filtra_model_outputs(model);
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  float *logits = ft_calloc(count, outputs * sizeof *logits);
  if (!logits) return FILTRA_ERROR_HOST_MEMORY;
  const ft_evaluation_way way = {.results = logits};
  filtra_status status = ft_evaluate_shared(model, data, split, batch_size, &way, result);
  if (!status) status = ft_score_results(data, split, (uint32_t)outputs, logits, scores);
  if (!status) result->accuracy = (*scores)->accuracy; /* computed from whole counts */
  free(logits);
  return status;
}

/* ---- runs ---- */

filtra_status filtra_run_evaluate(filtra_device *device, const char *folder, const char *split,
                                  const char *data, const char *settings,
                                  const filtra_precision *precision, filtra_evaluation *result,
                                  filtra_scores **scores) {
  if (scores) *scores = NULL;
  FT_NEED(device, folder, split, result);
  filtra_run *run;
  filtra_split which;
  filtra_dataset *set = NULL;
  filtra_model *model = NULL;
  FT_TRY(filtra_split_from_name(split, &which));
  FT_TRY(filtra_run_open(folder, &run));
  const filtra_run_info *info = filtra_run_get_info(run);
  filtra_status status = filtra_run_load_model(run, device, &model);
  if (!status && precision) status = filtra_model_set_precision(model, *precision);
  if (!status)
    status = filtra_run_open_data(run, data, data ? which : FILTRA_SPLIT_TRAIN, settings, &set);
  if (!status) status = ft_check_split(set, data ? data : info->data, which);
  if (!status && scores && ft_task_is_scored(filtra_model_task(model)))
    status = ft_evaluate_scored(model, set, which, info->batch_size, result, scores);
  else if (!status)
    status = filtra_model_evaluate_split(model, set, which, info->batch_size, result);
  filtra_model_destroy(&model);
  filtra_dataset_close(&set);
  filtra_run_close(&run);
  return status;
}
