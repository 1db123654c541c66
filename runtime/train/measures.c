/* Measures of predictions, and which evaluation is the better one. Called by train/evaluate.c and
 * by runs (run.c, config.c). */
#include "train/measures.h"

#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ft_measure_names[] = {"auto",     "accuracy", "loss", "f1",
                                        "macro_f1", "matthews", "mae",  "r2",
                                        "pearson",  "spearman", NULL};

/* ---- choosing ---- */

bool ft_measure_fits(ft_measure measure, filtra_task task) {
  const bool classes = task < FILTRA_TASK_REGRESSION, labels = task == FILTRA_TASK_MULTI_LABEL;
  switch (measure) {
  case FT_MEASURE_AUTO:
  case FT_MEASURE_LOSS:
    return true;
  case FT_MEASURE_ACCURACY:
  case FT_MEASURE_F1:
  case FT_MEASURE_MACRO_F1:
    return classes || labels;
  case FT_MEASURE_MATTHEWS:
    return classes;
  case FT_MEASURE_MAE:
  case FT_MEASURE_R2:
  case FT_MEASURE_PEARSON:
  case FT_MEASURE_SPEARMAN:
    break;
  }
  return task == FILTRA_TASK_REGRESSION;
}

void ft_measure_list(filtra_task task, char text[FT_KEY_TEXT]) {
  text[0] = '\0';
  for (int i = 0; ft_measure_names[i]; i++)
    if (ft_measure_fits((ft_measure)i, task))
      snprintf(text + strlen(text), FT_KEY_TEXT - strlen(text), "%s%s", i ? ", " : "",
               ft_measure_names[i]);
}

double ft_measure_lack(ft_measure measure, const filtra_evaluation *e) {
  switch (measure) {
  case FT_MEASURE_AUTO:
  case FT_MEASURE_LOSS:
    break;
  case FT_MEASURE_ACCURACY:
    return 1.0 - e->accuracy;
  case FT_MEASURE_F1:
    return 1.0 - e->f1;
  case FT_MEASURE_MACRO_F1:
    return 1.0 - e->macro_f1;
  case FT_MEASURE_MATTHEWS:
    return 1.0 - e->matthews;
  case FT_MEASURE_MAE:
    return e->absolute_error;
  case FT_MEASURE_R2:
    return 1.0 - e->r_squared;
  case FT_MEASURE_PEARSON:
    return 1.0 - e->pearson;
  case FT_MEASURE_SPEARMAN:
    return 1.0 - e->spearman;
  }
  return e->loss;
}

/* ---- as JSON ---- */

static const struct field {
  const char *key;
  size_t offset;
  ft_measure measure; /* AUTO: for every task */
} FIELDS[] = {
    {"loss", offsetof(filtra_evaluation, loss), FT_MEASURE_AUTO},
    {"accuracy", offsetof(filtra_evaluation, accuracy), FT_MEASURE_AUTO},
    {"mae", offsetof(filtra_evaluation, absolute_error), FT_MEASURE_AUTO},
    {"top5_accuracy", offsetof(filtra_evaluation, top5_accuracy), FT_MEASURE_AUTO},
    {"f1", offsetof(filtra_evaluation, f1), FT_MEASURE_F1},
    {"macro_f1", offsetof(filtra_evaluation, macro_f1), FT_MEASURE_MACRO_F1},
    {"matthews", offsetof(filtra_evaluation, matthews), FT_MEASURE_MATTHEWS},
    {"r2", offsetof(filtra_evaluation, r_squared), FT_MEASURE_R2},
    {"pearson", offsetof(filtra_evaluation, pearson), FT_MEASURE_PEARSON},
    {"spearman", offsetof(filtra_evaluation, spearman), FT_MEASURE_SPEARMAN},
};

static double *at(filtra_evaluation *e, const struct field *f) {
  return (double *)((char *)e + f->offset);
}

json_t *ft_evaluation_write(const filtra_evaluation *e) {
  json_t *object = json_object();
  for (size_t i = 0; i < FT_COUNT(FIELDS) && object; i++)
    object = ft_json_join(
        object, json_pack("{sf}", FIELDS[i].key, *at((filtra_evaluation *)e, &FIELDS[i])));
  return object;
}

void ft_evaluation_read(const json_t *object, filtra_evaluation *e) {
  for (size_t i = 0; i < FT_COUNT(FIELDS); i++) {
    const json_t *value = json_object_get(object, FIELDS[i].key);
    if (json_is_number(value)) *at(e, &FIELDS[i]) = json_number_value(value);
  }
}

json_t *ft_measures_write(const char *prefix, const filtra_evaluation *e) {
  json_t *object = json_object();
  char key[64];
  for (size_t i = 0; i < FT_COUNT(FIELDS) && object; i++) {
    const struct field *f = &FIELDS[i];
    if (f->measure == FT_MEASURE_AUTO || !ft_measure_fits(f->measure, e->task)) continue;
    snprintf(key, sizeof key, "%s%s", prefix, f->key);
    const double value = ft_shortest((float)*at((filtra_evaluation *)e, f));
    object = ft_json_join(object, json_pack("{sf}", key, value));
  }
  return object;
}

/* ---- classes ---- */

filtra_status ft_measure_classes(uint32_t classes, uint64_t count, const int32_t *labels,
                                 const int32_t *predicted, filtra_evaluation *e) {
  filtra_scores *s;
  FT_TRY(ft_scores_count(classes, count, labels, predicted, &s));
  const double f1 = s->of_class[1].f1;
  e->macro_f1 = s->macro_f1;
  e->f1 = classes > 2 ? s->macro_f1 : isnan(f1) ? 0.0 : f1; /* neither occurs nor is predicted */
  e->matthews = s->matthews;
  filtra_scores_destroy(&s);
  return FILTRA_OK;
}

/* ---- several labels ---- */

filtra_status ft_measure_labels(uint32_t classes, uint64_t count, const uint8_t *labels,
                                const uint8_t *predicted, filtra_evaluation *e) {
  filtra_scores *s;
  FT_TRY(ft_scores_labels(classes, count, labels, predicted, NULL, &s));
  e->samples = e->predictions = s->samples;
  e->accuracy = s->accuracy;
  e->f1 = s->micro_f1;
  e->macro_f1 = isnan(s->macro_f1) ? 0.0 : s->macro_f1; /* no label occurs or is predicted */
  filtra_scores_destroy(&s);
  return FILTRA_OK;
}

/* ---- values ---- */

/* The correlation of a and b; 0 where one of them is constant. */
static double pearson(uint64_t count, const double *a, const double *b) {
  double mean_a = 0.0, mean_b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
  for (uint64_t i = 0; i < count; i++) {
    mean_a += a[i] / (double)count;
    mean_b += b[i] / (double)count;
  }
  for (uint64_t i = 0; i < count; i++) {
    const double x = a[i] - mean_a, y = b[i] - mean_b;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return aa > 0.0 && bb > 0.0 ? ab / (sqrt(aa) * sqrt(bb)) : 0.0;
}

typedef struct placed {
  double value;
  uint64_t at;
} placed;

static int compare_placed(const void *a, const void *b) {
  const double x = ((const placed *)a)->value, y = ((const placed *)b)->value;
  return (x > y) - (x < y);
}

/* Ranks from 1; equal values share their mean rank. */
static void rank(uint64_t count, const double *values, placed *order, double *ranks) {
  for (uint64_t i = 0; i < count; i++)
    order[i] = (placed){values[i], i};
  qsort(order, count, sizeof *order, compare_placed);
  for (uint64_t i = 0, end; i < count; i = end) {
    for (end = i; end < count && order[end].value == order[i].value; end++) {
    }
    for (uint64_t k = i; k < end; k++)
      ranks[order[k].at] = (double)(i + 1 + end) / 2.0;
  }
}

filtra_status ft_measure_values(uint64_t count, const double *values, const double *predicted,
                                filtra_evaluation *e) {
  placed *order = ft_calloc(count, sizeof *order);
  double *ranks = ft_calloc(2 * count, sizeof *ranks);
  filtra_status status = order && ranks ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    rank(count, values, order, ranks);
    rank(count, predicted, order, ranks + count);
    e->pearson = pearson(count, values, predicted);
    e->spearman = pearson(count, ranks, ranks + count);
  }
  free(order);
  free(ranks);
  return status;
}
