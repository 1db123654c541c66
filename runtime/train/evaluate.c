/* Evaluation of a model on a split: loss, accuracy and errors, and what guessing would reach.
 * Called by train/run.c during training, and by programs and the command. */
#include "base/memory.h"
#include "base/number.h"
#include "model/model.h"
#include "train/run.h"

#include <filtra/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- statistics of the data alone ---- */

/* Counts the label of a sample, or the next tokens of a text. */
static void count_labels(const filtra_sample *s, bool tokens, uint64_t *count) {
  if (!tokens) count[s->label]++;
  for (uint32_t n = 1; tokens && n <= s->length; n++)
    count[s->tokens[n]]++;
}

/* Accuracy of always predicting the most frequent label. */
static filtra_status majority_share(const filtra_dataset *data, filtra_split split, bool tokens,
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

/* Variance of the split's values: the squared error of always predicting their mean. */
static double variance(const filtra_dataset *data, filtra_split split) {
  uint64_t count = filtra_dataset_get_info(data)->count[split];
  double mean = 0.0, sum = 0.0;
  filtra_sample sample;
  for (uint64_t i = 0; i < count && !filtra_dataset_sample(data, split, i, &sample); i++)
    mean += sample.value / (double)count;
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
  const ft_ranks *ranks; /* they divide the batches among them; NULL: one process */
  float *results;        /* [samples, outputs], by sample; NULL: not wanted */
  float *rows;           /* the same of a batch */
  uint32_t *indices;     /* of the pending batch's samples */
  uint32_t count;        /* of them */
} sums;

/* Copies the results of the pending batch to their samples' places. */
static filtra_status take_results(const sums *s) {
  const size_t outputs = (size_t)filtra_model_outputs(s->model);
  if (!s->results) return FILTRA_OK;
  FT_TRY(ft_model_rows(s->model, &s->pending, NULL, s->count, s->rows));
  for (uint32_t i = 0; i < s->count; i++)
    memcpy(s->results + s->indices[i] * outputs, s->rows + i * outputs, outputs * sizeof *s->rows);
  return FILTRA_OK;
}

static filtra_status collect(sums *s) {
  double loss, score, top5;
  if (s->pending_weight < 0.0) return FILTRA_OK;
  FT_TRY(ft_model_collect(s->model, &s->pending, &loss, &score, &top5));
  FT_TRY(take_results(s));
  s->loss += loss * s->pending_weight;
  s->score += score * s->pending_weight;
  s->top5 += top5 * s->pending_weight;
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

static filtra_status walk(sums *s, filtra_loader *loader) {
  uint64_t batches = filtra_loader_batch_count(loader);
  for (uint64_t i = 0; i < batches; i++) {
    filtra_batch batch;
    ft_pending_batch next;
    FT_TRY(filtra_loader_next(loader, &batch));
    if (!is_mine(s->ranks, i)) continue;
    FT_TRY(ft_model_submit(s->model, &batch, true, &next));
    FT_TRY(collect(s));
    s->pending = next;
    s->pending_weight = ft_batch_weight(s->model, &batch);
    s->count = batch.count;
    if (s->results) memcpy(s->indices, batch.indices, batch.count * sizeof *s->indices);
  }
  return collect(s);
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
  if (!isfinite(loss))
    return ft_fail(FILTRA_ERROR_NONFINITE, "the loss over the %s split is not finite",
                   filtra_split_name(split));
  if (!regression) {
    e->accuracy = score;
    e->chance = 1.0 / (double)ft_model_outputs(o);
    e->perplexity = language ? ft_perplexity(loss) : 0.0;
    return majority_share(data, split, language, &e->majority);
  }
  double scale = o->target_scale, spread = variance(data, split);
  e->absolute_error = score;
  e->root_mean_square_error = sqrt(loss) * scale;
  e->r_squared = spread > 0.0 ? 1.0 - loss * scale * scale / spread : 0.0;
  return FILTRA_OK;
}

filtra_status filtra_model_evaluate_split(filtra_model *model, const filtra_dataset *data,
                                          filtra_split split, uint32_t batch_size,
                                          filtra_evaluation *result) {
  FT_NEED(model, data, result);
  return ft_evaluate_shared(model, data, split, batch_size, NULL, result, NULL);
}

filtra_status ft_evaluate_shared(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size, const ft_ranks *ranks,
                                 filtra_evaluation *result, float *results) {
  filtra_loader *loader;
  sums s = {.model = model, .pending_weight = -1.0, .ranks = ranks};
  FT_TRY(ft_check_labelled(data, split));
  FT_TRY(filtra_loader_create(
      data, &(filtra_loader_options){.split = split, .batch_size = batch_size}, &loader));
  if (results) {
    s.results = results;
    s.rows = ft_calloc(batch_size, (size_t)filtra_model_outputs(model) * sizeof *s.rows);
    s.indices = ft_calloc(batch_size, sizeof *s.indices);
  }
  filtra_status status = !results || (s.rows && s.indices) ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = walk(&s, loader);
  if (!status) status = join(&s);
  filtra_loader_destroy(&loader);
  free(s.rows);
  free(s.indices);
  return status ? status : conclude(&s, data, split, result);
}

filtra_status ft_evaluate_scored(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size, filtra_evaluation *result,
                                 filtra_scores **scores) {
  const size_t outputs = (size_t)filtra_model_outputs(model);
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  float *logits = ft_calloc(count, outputs * sizeof *logits);
  if (!logits) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_evaluate_shared(model, data, split, batch_size, NULL, result, logits);
  if (!status) status = ft_score_results(data, split, (uint32_t)outputs, logits, scores);
  if (!status) result->accuracy = (*scores)->accuracy; /* of whole counts */
  free(logits);
  return status;
}

/* ---- runs ---- */

filtra_status filtra_run_evaluate(filtra_device *device, const char *folder, const char *split,
                                  const char *data, const filtra_precision *precision,
                                  filtra_evaluation *result, filtra_scores **scores) {
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
  if (!status) status = filtra_run_open_data(run, data, data ? which : FILTRA_SPLIT_TRAIN, &set);
  if (!status && !filtra_dataset_get_info(set)->count[which])
    status = ft_fail(FILTRA_ERROR_INPUT, "%s: has no %s split", data ? data : info->data, split);
  if (!status && scores && filtra_model_task(model) < FILTRA_TASK_REGRESSION)
    status = ft_evaluate_scored(model, set, which, info->batch_size, result, scores);
  else if (!status)
    status = filtra_model_evaluate_split(model, set, which, info->batch_size, result);
  filtra_model_destroy(&model);
  filtra_dataset_close(&set);
  filtra_run_close(&run);
  return status;
}
