/* Measures of predictions besides the loss: F1, Matthews', Pearson's and Spearman's correlation;
 * and choosing between evaluations by one of them. */
#ifndef FT_TRAIN_MEASURES_H
#define FT_TRAIN_MEASURES_H

#include "base/keys.h"

#include <filtra/train.h>

/** What evaluations are compared by. */
typedef enum ft_measure {
  FT_MEASURE_AUTO = 0, /* accuracy in classification, f1 of several labels, else the loss */
  FT_MEASURE_ACCURACY,
  FT_MEASURE_LOSS,
  FT_MEASURE_F1,
  FT_MEASURE_MACRO_F1,
  FT_MEASURE_MATTHEWS,
  FT_MEASURE_MAE,
  FT_MEASURE_R2,
  FT_MEASURE_PEARSON,
  FT_MEASURE_SPEARMAN
} ft_measure;

/** Their names; ends with NULL. */
extern const char *const ft_measure_names[];
/** Whether a task's models have scores of classes or labels (filtra_scores). */
static inline bool ft_task_is_scored(filtra_task task) {
  return task < FILTRA_TASK_REGRESSION || task == FILTRA_TASK_MULTI_LABEL;
}
/** Whether a model of the task has the measure. */
bool ft_measure_fits(ft_measure measure, filtra_task task);
/** Lists the measures of a task, comma-separated. */
void ft_measure_list(filtra_task task, char text[FT_KEY_TEXT]);
/** How far an evaluation is from the best value of a measure, at least 0: loss and mae themselves,
 * of the others 1 - measure. */
double ft_measure_lack(ft_measure measure, const filtra_evaluation *evaluation);

/** An evaluation as JSON, and back; fields that an earlier version did not write are 0. */
json_t *ft_evaluation_write(const filtra_evaluation *evaluation);
void ft_evaluation_read(const json_t *object, filtra_evaluation *evaluation);
/** The measures of the task besides loss, accuracy and mae, each key after the prefix; NULL when
 * out of memory. */
json_t *ft_measures_write(const char *prefix, const filtra_evaluation *evaluation);

/** Sets f1, macro_f1 and matthews; labels and predictions [count] are below `classes`. */
filtra_status ft_measure_classes(uint32_t classes, uint64_t count, const int32_t *labels,
                                 const int32_t *predicted, filtra_evaluation *evaluation);
/** Sets samples and predictions, both the samples with a known label, accuracy, f1 and macro_f1:
 * labels [count, classes], each a filtra_label, and predicted [count, classes], 0 or 1. */
filtra_status ft_measure_labels(uint32_t classes, uint64_t count, const uint8_t *labels,
                                const uint8_t *predicted, filtra_evaluation *evaluation);
/** Sets pearson and spearman; 0 if one side is constant, where they are undefined. */
filtra_status ft_measure_values(uint64_t count, const double *values, const double *predicted,
                                filtra_evaluation *evaluation);

/** Scores of classes by counts, without probabilities: no AUC and no confusion matrix
 * (train/scores.c). */
filtra_status ft_scores_count(uint32_t classes, uint64_t count, const int32_t *labels,
                              const int32_t *predicted, filtra_scores **out);

/** The same for several labels, as ft_measure_labels. Logits [count, classes] may be NULL: then
 * there is no AUC. */
filtra_status ft_scores_labels(uint32_t classes, uint64_t count, const uint8_t *labels,
                               const uint8_t *predicted, const float *logits, filtra_scores **out);
/** Fills labels [samples, classes] of a split, each a filtra_label; they start as 0. */
filtra_status ft_split_labels(const filtra_dataset *data, filtra_split split, uint8_t *labels);
/** Whether a logit predicts its label: its exact probability is above 0.5. */
static inline bool ft_predicts_label(float logit) {
  return logit > 0.0f;
}

#endif
