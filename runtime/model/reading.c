/* Compares data with a model: their sizes, and how they were read with what the model notes of its
 * own data. Called by train/evaluate.c, scores.c and perplexity.c, and by programs. */
#include "base/json.h"
#include "data/dataset.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OR_RECORD "; filtra_model_set_data (set_data) makes these data the model's own"

static filtra_status check_sizes(const filtra_model *model, const filtra_dataset *data) {
  const filtra_model_config *o = &model->options.config;
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  if (o->features && info->features && o->features != info->features)
    return ft_fail(FILTRA_ERROR_INPUT, "the data have %lld numbers a step, the model reads %lld",
                   (long long)info->features, (long long)o->features);
  if (o->task == FILTRA_TASK_MULTI_LABEL && info->target == FILTRA_TARGET_LABELS &&
      o->classes != info->classes)
    return ft_fail(FILTRA_ERROR_INPUT, "the data have %lld labels, the model has %lld",
                   (long long)info->classes, (long long)o->classes);
  return FILTRA_OK;
}

/* Data of ids alone do not say what these mean, nor does a model that was made from such data. */
static filtra_status check_tokenizer(const json_t *input, const filtra_dataset *data) {
  const filtra_tokenizer *tokenizer = filtra_dataset_get_info(data)->tokenizer;
  const json_t *own = json_object_get(input, "tokenizer");
  if (!tokenizer || !own || json_is_null(own)) return FILTRA_OK;
  json_t *read = ft_tokenizer_describe(tokenizer);
  if (!read) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  const bool same = json_equal(own, read);
  json_decref(read);
  if (same) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the data were read by a tokenizer (\"%s\") with another vocabulary than the "
                 "model's: read them with the model's (filtra_run_open_data, tokenizer=), or give "
                 "the texts to a predictor" OR_RECORD,
                 filtra_tokenizer_name(tokenizer));
}

/* Whether the model's class `i` is the data's. Imported models may number their classes, and data
 * without names number those of imported models. */
static bool same_class(const char *own, const char *name, uint32_t i, bool imported) {
  char number[16], unnamed[24];
  snprintf(number, sizeof number, "%u", i);
  snprintf(unnamed, sizeof unnamed, "LABEL_%u", i);
  return !strcmp(own, name) || (imported && (!strcmp(own, unnamed) || !strcmp(name, number)));
}

static filtra_status check_classes(const json_t *input, const filtra_dataset *data) {
  const json_t *names = json_object_get(input, "classes");
  const bool imported = json_is_true(json_object_get(input, "imported"));
  const uint32_t count = filtra_dataset_get_info(data)->classes;
  for (uint32_t i = 0; i < count && json_array_size(names); i++) {
    const char *own = json_string_value(json_array_get(names, i));
    const char *name = filtra_dataset_class_name(data, i);
    if (own && same_class(own, name, i, imported)) continue;
    return ft_fail(FILTRA_ERROR_INPUT,
                   "class %u of the data is \"%.64s\", the model's is %s%.64s%s: give the data the "
                   "model's classes in its order (filtra_run_open_data, class_names, "
                   "classes=)" OR_RECORD,
                   i, name, own ? "\"" : "", own ? own : "none", own ? "\"" : "");
  }
  return FILTRA_OK;
}

/* Whether both make nearly the same of a number. */
static bool same_moments(double mean, double factor, double own_mean, double own_factor) {
  static const double APART = 1e-5; /* in deviations; moments may be sums in another order */
  const double most = fmax(fabs(factor), fabs(own_factor));
  return fabs(factor - own_factor) <= APART * most && fabs(mean - own_mean) * most <= APART;
}

bool ft_same_numbers(const json_t *input, const filtra_dataset *data) {
  const json_t *means = json_object_get(input, "feature_mean"),
               *factors = json_object_get(input, "feature_factor");
  const bool known = means || json_is_false(json_object_get(input, "standardised"));
  if (!known || !filtra_dataset_get_info(data)->features) return true;
  const size_t own = json_array_size(means), read = data->feature_mean ? ft_feature_count(data) : 0;
  if (own != json_array_size(factors) || (own && read && own != read)) return false;
  for (size_t k = 0; k < (own ? own : read); k++) {
    const double own_mean = own ? json_number_value(json_array_get(means, k)) : 0.0,
                 own_factor = own ? json_number_value(json_array_get(factors, k)) : 1.0,
                 mean = read ? data->feature_mean[k] : 0.0,
                 factor = read ? data->feature_factor[k] : 1.0;
    if (!same_moments(mean, factor, own_mean, own_factor)) return false;
  }
  return true;
}

static filtra_status check_numbers(const json_t *input, const filtra_dataset *data) {
  if (ft_same_numbers(input, data)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the data's numbers were standardised otherwise than those of the model's data: "
                 "read them by the same means (filtra_run_open_data, feature_mean, like=), or give "
                 "them to a predictor" OR_RECORD);
}

static filtra_status check(const filtra_model *model, const filtra_dataset *data, bool targets) {
  json_t *input;
  FT_TRY(check_sizes(model, data));
  if (!model->input) return FILTRA_OK;
  FT_TRY(ft_json_parse(model->input, strlen(model->input), "the model's " FT_INPUT_KEY, &input));
  filtra_status status = check_tokenizer(input, data);
  if (!status) status = check_numbers(input, data);
  if (!status && targets) status = check_classes(input, data);
  json_decref(input);
  return status;
}

filtra_status ft_check_reading(const filtra_model *model, const filtra_dataset *data) {
  return check(model, data, false);
}

filtra_status filtra_model_check_data(const filtra_model *model, const filtra_dataset *data) {
  FT_NEED(model, data);
  return check(model, data, true);
}
