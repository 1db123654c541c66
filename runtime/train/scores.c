/* Scores of a classifier from labels and logits. Called by programs and the command through
 * filtra/scores.h. */
#include <filtra/scores.h>

#include "base/memory.h"
#include "data/dataset.h"
#include "train/measures.h"
#include "train/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFUSED = 1024 }; /* largest number of classes with a confusion matrix */

/* The public struct and the arrays that it points to. */
typedef struct owner {
  filtra_scores scores;
  filtra_class_scores *of_class;
  uint64_t *confusion;
} owner;

/* ---- averages and intervals ---- */

/* Wilson's interval of a proportion. */
static void set_interval(filtra_scores *s) {
  const double z = 1.959963984540054, n = (double)s->samples, p = s->accuracy;
  const double middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
  const double half = z * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n);
  s->accuracy_low = fmax(middle - half, 0.0);
  s->accuracy_high = fmin(middle + half, 1.0);
}

/* (hits n - sum t p) / sqrt((n^2 - sum p^2) (n^2 - sum t^2)); 0 if the divisor is 0. */
static double matthews(const filtra_scores *s) {
  const double n = (double)s->samples;
  double hits = 0.0, both = 0.0, predicted = 0.0, samples = 0.0;
  for (uint32_t k = 0; k < s->classes; k++) {
    const filtra_class_scores *c = &s->of_class[k];
    hits += (double)c->hits;
    both += (double)c->samples * (double)c->predicted;
    predicted += (double)c->predicted * (double)c->predicted;
    samples += (double)c->samples * (double)c->samples;
  }
  const double divisor = sqrt((n * n - predicted) * (n * n - samples));
  return divisor > 0.0 ? (hits * n - both) / divisor : 0.0;
}

/* The mean of the field at `offset` over classes where it is defined; NaN: none. */
static double mean_of(const filtra_scores *s, size_t offset) {
  double sum = 0.0;
  uint32_t count = 0;
  for (uint32_t k = 0; k < s->classes; k++) {
    const double value = *(const double *)((const char *)&s->of_class[k] + offset);
    if (isnan(value)) continue;
    sum += value;
    count++;
  }
  return count ? sum / count : (double)NAN;
}

static void score_class(filtra_class_scores *c) {
  const uint64_t both = c->samples + c->predicted;
  c->precision = c->predicted ? (double)c->hits / (double)c->predicted : 0.0;
  c->recall = c->samples ? (double)c->hits / (double)c->samples : (double)NAN;
  c->f1 = both ? 2.0 * (double)c->hits / (double)both : (double)NAN;
}

/* ---- area under the curve ---- */

typedef struct ranked {
  float log_probability; /* single precision keeps equal probabilities equal */
  bool own;              /* the sample is of the class */
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const float x = ((const ranked *)a)->log_probability, y = ((const ranked *)b)->log_probability;
  return (x > y) - (x < y);
}

/* The area under the ROC curve by the sum of ranks of the class's samples (Mann and Whitney 1947);
 * equal probabilities share their mean rank. */
static double area(ranked *list, uint64_t count, uint64_t own) {
  double sum = 0.0;
  if (own == 0 || own == count) return NAN;
  qsort(list, count, sizeof *list, compare_ranked);
  for (uint64_t i = 0, end; i < count; i = end) {
    uint64_t mine = 0;
    for (end = i; end < count && list[end].log_probability == list[i].log_probability; end++)
      mine += list[end].own;
    sum += (double)mine * ((double)(i + 1 + end) / 2.0);
  }
  return (sum - (double)own * (double)(own + 1) / 2.0) / ((double)own * (double)(count - own));
}

/* log(sum of exp(logits)). */
static double log_sum(const float *logits, uint32_t classes) {
  double most = (double)logits[0], sum = 0.0;
  for (uint32_t k = 1; k < classes; k++)
    most = fmax(most, (double)logits[k]);
  for (uint32_t k = 0; k < classes; k++)
    sum += exp((double)logits[k] - most);
  return most + log(sum);
}

/* Areas of several labels, each by its own logits of the samples whose label is known. */
static filtra_status score_label_areas(owner *o, uint64_t count, const uint8_t *labels,
                                       const float *logits) {
  const uint32_t classes = o->scores.classes;
  ranked *list = ft_calloc(count, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t k = 0; k < classes; k++) {
    uint64_t known = 0;
    for (uint64_t i = 0; i < count; i++)
      if (labels[i * classes + k] != FILTRA_LABEL_UNKNOWN)
        list[known++] = (ranked){logits[i * classes + k], labels[i * classes + k]};
    o->of_class[k].auc = area(list, known, o->of_class[k].samples);
  }
  free(list);
  return FILTRA_OK;
}

static filtra_status score_areas(owner *o, const int32_t *labels, const float *logits) {
  const uint32_t classes = o->scores.classes;
  const uint64_t count = o->scores.samples;
  double *sums = ft_calloc(count, sizeof *sums);
  ranked *list = ft_calloc(count, sizeof *list);
  filtra_status status = sums && list ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < count && !status; i++)
    sums[i] = log_sum(logits + i * classes, classes);
  for (uint32_t k = 0; k < classes && !status; k++) {
    for (uint64_t i = 0; i < count; i++)
      list[i] =
          (ranked){(float)((double)logits[i * classes + k] - sums[i]), labels[i] == (int32_t)k};
    o->of_class[k].auc = area(list, count, o->of_class[k].samples);
  }
  free(sums);
  free(list);
  return status;
}

/* ---- from labels and logits ---- */

static filtra_status check_label(const owner *o, uint64_t index, int32_t label) {
  const uint32_t classes = o->scores.classes;
  if (label >= 0 && (uint32_t)label < classes) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "scores: label %d of sample %llu, accepted are 0 to %u",
                 label, (unsigned long long)index, classes - 1);
}

static void count_sample(owner *o, int32_t label, uint32_t predicted) {
  o->of_class[label].samples++;
  o->of_class[label].hits += predicted == (uint32_t)label;
  o->of_class[predicted].predicted++;
  if (o->confusion) o->confusion[(size_t)label * o->scores.classes + predicted]++;
}

/* Predicts the first of the largest logits. */
static filtra_status predict(uint32_t classes, uint64_t index, const float *logits,
                             uint32_t *best) {
  *best = 0;
  for (uint32_t k = 0; k < classes; k++) {
    if (!isfinite(logits[k]))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "scores: logit %u of sample %llu is not finite", k,
                     (unsigned long long)index);
    if (logits[k] > logits[*best]) *best = k;
  }
  return FILTRA_OK;
}

/* Fills in what follows from the counts and the number of correct samples. */
static void conclude(filtra_scores *s, owner *o, uint64_t right) {
  uint64_t hits = 0, both = 0;
  for (uint32_t k = 0; k < s->classes; k++) {
    score_class(&o->of_class[k]);
    hits += o->of_class[k].hits;
    both += o->of_class[k].samples + o->of_class[k].predicted;
  }
  s->accuracy = (double)right / (double)s->samples;
  s->micro_f1 = both ? 2.0 * (double)hits / (double)both : 0.0;
  set_interval(s);
  s->balanced_accuracy = mean_of(s, offsetof(filtra_class_scores, recall));
  s->macro_f1 = mean_of(s, offsetof(filtra_class_scores, f1));
  s->auc = mean_of(s, offsetof(filtra_class_scores, auc));
  s->matthews = matthews(s);
}

/* Concludes scores of one class a sample. */
static void conclude_classes(owner *o) {
  uint64_t hits = 0;
  for (uint32_t k = 0; k < o->scores.classes; k++) {
    o->of_class[k].known = o->scores.samples;
    hits += o->of_class[k].hits;
  }
  conclude(&o->scores, o, hits);
}

static filtra_status score(owner *o, const int32_t *labels, const float *logits) {
  filtra_scores *s = &o->scores;
  for (uint64_t i = 0; i < s->samples; i++) {
    uint32_t best;
    FT_TRY(check_label(o, i, labels[i]));
    FT_TRY(predict(s->classes, i, logits + i * s->classes, &best));
    count_sample(o, labels[i], best);
  }
  FT_TRY(score_areas(o, labels, logits));
  conclude_classes(o);
  return FILTRA_OK;
}

filtra_status ft_scores_count(uint32_t classes, uint64_t count, const int32_t *labels,
                              const int32_t *predicted, filtra_scores **out) {
  owner *o = ft_calloc(1, sizeof *o);
  *out = o ? &o->scores : NULL;
  if (!o) return FILTRA_ERROR_HOST_MEMORY;
  o->of_class = ft_calloc(classes, sizeof *o->of_class);
  o->scores = (filtra_scores){.classes = classes, .samples = count, .of_class = o->of_class};
  filtra_status status = o->of_class ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < count && !status; i++) {
    status = check_label(o, i, labels[i]);
    if (!status) count_sample(o, labels[i], (uint32_t)predicted[i]);
  }
  if (status)
    filtra_scores_destroy(out);
  else
    conclude_classes(o);
  return status;
}

/* Counts a sample's known labels, and the sample if it has any; true if all are predicted
 * correctly. */
static bool count_labels(owner *o, const uint8_t *labels, const uint8_t *predicted) {
  bool known = false, right = true;
  for (uint32_t k = 0; k < o->scores.classes; k++) {
    if (labels[k] == FILTRA_LABEL_UNKNOWN) continue;
    known = true;
    o->of_class[k].known++;
    o->of_class[k].samples += labels[k];
    o->of_class[k].predicted += predicted[k];
    o->of_class[k].hits += labels[k] && predicted[k];
    right = right && labels[k] == predicted[k];
  }
  o->scores.samples += known;
  return known && right;
}

filtra_status ft_scores_labels(uint32_t classes, uint64_t count, const uint8_t *labels,
                               const uint8_t *predicted, const float *logits, filtra_scores **out) {
  owner *o = ft_calloc(1, sizeof *o);
  uint64_t right = 0;
  *out = o ? &o->scores : NULL;
  if (!o) return FILTRA_ERROR_HOST_MEMORY;
  o->of_class = ft_calloc(classes, sizeof *o->of_class);
  o->scores = (filtra_scores){.classes = classes, .of_class = o->of_class};
  filtra_status status = o->of_class ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < count && !status; i++)
    right += count_labels(o, labels + i * classes, predicted + i * classes);
  for (uint32_t k = 0; k < classes && !status; k++)
    o->of_class[k].auc = (double)NAN;
  if (!status && logits) status = score_label_areas(o, count, labels, logits);
  if (!status) conclude(&o->scores, o, right);
  o->scores.matthews = (double)NAN;
  if (status) filtra_scores_destroy(out);
  return status;
}

filtra_status filtra_scores_create(uint32_t classes, uint64_t count, const int32_t *labels,
                                   const float *logits, filtra_scores **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(labels, logits);
  if (classes < 2 || count < 1)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "scores: %llu samples and %u classes, accepted are at least 1 and 2",
                   (unsigned long long)count, classes);
  owner *o = ft_calloc(1, sizeof *o);
  if (!o) return FILTRA_ERROR_HOST_MEMORY;
  *out = &o->scores;
  o->of_class = ft_calloc(classes, sizeof *o->of_class);
  const bool small = classes <= MOST_CONFUSED;
  o->confusion = small ? ft_calloc(classes, classes * sizeof *o->confusion) : NULL;
  o->scores = (filtra_scores){
      .classes = classes, .samples = count, .of_class = o->of_class, .confusion = o->confusion};
  filtra_status status =
      o->of_class && (o->confusion || !small) ? score(o, labels, logits) : FILTRA_ERROR_HOST_MEMORY;
  if (status) filtra_scores_destroy(out);
  return status;
}

void filtra_scores_destroy(filtra_scores **scores) {
  if (!scores || !*scores) return;
  owner *o = (owner *)*scores; /* `scores` is the first member */
  free(o->of_class);
  free(o->confusion);
  free(o);
  *scores = NULL;
}

/* ---- from models ---- */

/* filtra_model_predict_split after its checks. */
static filtra_status predict_split(filtra_model *model, const filtra_dataset *data,
                                   filtra_split split, uint32_t batch_size, float *results) {
  filtra_loader *loader;
  const size_t outputs = (size_t)ft_model_numbers(model);
  FT_TRY(filtra_loader_create(
      data, &(filtra_loader_options){.split = split, .batch_size = batch_size}, &loader));
  float *rows = ft_calloc(batch_size, outputs * sizeof *rows);
  filtra_status status = rows ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = filtra_loader_batch_count(loader); i > 0 && !status; i--) {
    filtra_batch batch;
    status = filtra_loader_next(loader, &batch);
    if (!status) status = filtra_model_predict_batch(model, &batch, rows);
    for (uint32_t b = 0; b < batch.count && !status; b++)
      memcpy(results + batch.indices[b] * outputs, rows + b * outputs, outputs * sizeof *rows);
  }
  free(rows);
  filtra_loader_destroy(&loader);
  return status;
}

filtra_status filtra_model_predict_split(filtra_model *model, const filtra_dataset *data,
                                         filtra_split split, uint32_t batch_size, float *results) {
  FT_NEED(model, data, results);
  if (filtra_model_task(model) == FILTRA_TASK_LANGUAGE_MODEL && !model->vector)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "a language model predicts at every token: use batches");
  FT_TRY(ft_check_reading(model, data));
  return predict_split(model, data, split, batch_size, results);
}

filtra_status ft_split_labels(const filtra_dataset *data, filtra_split split, uint8_t *labels) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  for (uint64_t i = 0; i < info->count[split]; i++) {
    filtra_sample sample;
    FT_TRY(filtra_dataset_sample(data, split, i, &sample));
    for (uint32_t n = 0; n < sample.label_count + sample.unknown_count; n++)
      labels[i * info->classes + (uint32_t)sample.labels[n]] =
          n < sample.label_count ? FILTRA_LABEL_APPLIES : FILTRA_LABEL_UNKNOWN;
  }
  return FILTRA_OK;
}

/* As ft_score_results, for several labels. */
static filtra_status score_labels(const filtra_dataset *data, filtra_split split, uint32_t classes,
                                  const float *logits, filtra_scores **out) {
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  uint8_t *labels = ft_calloc(count, (size_t)2 * classes), *predicted = NULL;
  filtra_status status = labels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) predicted = labels + count * classes;
  for (uint64_t i = 0; i < count * classes && !status; i++)
    predicted[i] = ft_predicts_label(logits[i]);
  if (!status) status = ft_split_labels(data, split, labels);
  if (!status) status = ft_scores_labels(classes, count, labels, predicted, logits, out);
  free(labels);
  return status;
}

filtra_status ft_score_results(const filtra_dataset *data, filtra_split split, uint32_t classes,
                               const float *logits, filtra_scores **out) {
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  if (filtra_dataset_get_info(data)->target == FILTRA_TARGET_LABELS)
    return score_labels(data, split, classes, logits, out);
  int32_t *labels = ft_calloc(count, sizeof *labels);
  filtra_status status = labels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint64_t i = 0; i < count && !status; i++) {
    filtra_sample sample;
    status = filtra_dataset_sample(data, split, i, &sample);
    labels[i] = sample.label;
  }
  if (!status) status = filtra_scores_create(classes, count, labels, logits, out);
  free(labels);
  return status;
}

filtra_status filtra_model_score_split(filtra_model *model, const filtra_dataset *data,
                                       filtra_split split, uint32_t batch_size,
                                       filtra_scores **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(model, data);
  FT_TRY(filtra_model_check_data(model, data));
  FT_TRY(ft_check_labelled(data, split));
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  const size_t outputs = (size_t)filtra_model_outputs(model);
  if (!ft_task_is_scored(filtra_model_task(model)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "scores are of classes; this model has none");
  float *logits = ft_calloc(count, outputs * sizeof *logits);
  filtra_status status = logits ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = predict_split(model, data, split, batch_size, logits);
  if (!status) status = ft_score_results(data, split, (uint32_t)outputs, logits, out);
  free(logits);
  return status;
}
