/* The key `class_weights`: reads it, and computes balanced weights from the data. Called by
 * config.c and run.c. */
#include "train/class_weights.h"

#include "base/memory.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static const char BALANCED[] = "balanced";

/* Reads colon-separated numbers into weights [count], which may be NULL; *found: how many. */
static bool read_list(const char *text, float *weights, uint32_t count, uint32_t *found) {
  *found = 0;
  for (const char *at = text; at; ++*found) {
    char *end;
    const double value = ft_strtod(at, &end);
    if (end == at || !(value >= 1e-6 && value <= 1e6) || (*end && *end != ':')) return false;
    if (weights && *found < count) weights[*found] = (float)value;
    at = *end ? end + 1 : NULL;
  }
  return true;
}

filtra_status ft_class_weights_check(const char *text, const char *context) {
  uint32_t found;
  if (!*text || !strcmp(text, BALANCED) || read_list(text, NULL, 0, &found)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"class_weights\" is \"%.60s\", accepted are \"%s\" and a number of each "
                 "class from 1e-06 to 1e+06, as in \"1:5\"",
                 context, text, BALANCED);
}

/* Counts the samples of each class or, with several labels, those that have each label; and those
 * where it is unknown. */
static filtra_status count_classes(const filtra_dataset *data, uint64_t *count, uint64_t *unknown) {
  const uint64_t all = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN];
  const bool several = filtra_dataset_get_info(data)->target == FILTRA_TARGET_LABELS;
  for (uint64_t i = 0; i < all; i++) {
    filtra_sample sample;
    FT_TRY(filtra_dataset_sample(data, FILTRA_SPLIT_TRAIN, i, &sample));
    if (!several && sample.label >= 0) count[sample.label]++;
    for (uint32_t n = 0; n < sample.label_count; n++)
      count[sample.labels[n]]++;
    for (uint32_t n = 0; n < sample.unknown_count; n++)
      unknown[sample.labels[sample.label_count + n]]++;
  }
  return FILTRA_OK;
}

/* samples / (classes * samples of the class), or samples without a label / samples with it; 1 if
 * the divisor is 0. */
static filtra_status balance(const filtra_dataset *data, float *weights) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  const uint64_t all = info->count[FILTRA_SPLIT_TRAIN];
  const bool several = info->target == FILTRA_TARGET_LABELS;
  uint64_t *count = ft_calloc(info->classes, sizeof *count);
  uint64_t *unknown = ft_calloc(info->classes, sizeof *unknown);
  filtra_status status =
      count && unknown ? count_classes(data, count, unknown) : FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t k = 0; k < info->classes && !status; k++) {
    const double with = (double)count[k], divisor = several ? with : (double)info->classes * with;
    const double part = several ? (double)(all - unknown[k]) - with : (double)all;
    weights[k] = with > 0.0 && part > 0.0 ? (float)(part / divisor) : 1.0f;
  }
  free(count);
  free(unknown);
  return status;
}

filtra_status ft_class_weights_make(const char *text, const char *context,
                                    const filtra_dataset *data, float **out) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  uint32_t found;
  *out = NULL;
  if (!*text) return FILTRA_OK;
  if (info->target != FILTRA_TARGET_CLASS && info->target != FILTRA_TARGET_LABELS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"class_weights\" are of classes; the data have none",
                   context);
  float *weights = *out = ft_calloc(info->classes, sizeof *weights);
  if (!weights) return FILTRA_ERROR_HOST_MEMORY;
  if (!strcmp(text, BALANCED)) return balance(data, weights);
  if (read_list(text, weights, info->classes, &found) && found == info->classes) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"class_weights\" has %u numbers, the data have %u classes", context, found,
                 info->classes);
}
