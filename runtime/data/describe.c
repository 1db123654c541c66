/* Describes in JSON how a data set was read, so that other data and single inputs are read alike.
 * Called by train/folder.c for a run's data.json and by model/fit.c for model files. */
#include "base/json.h"
#include "data/dataset.h"
#include "data/table_fit.h"

#include <stdio.h>
#include <string.h>

static bool set_numbers(json_t *object, const char *key, const double *values, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++)
    ft_json_append(&list, json_real(values[i]));
  return !json_object_set_new(object, key, list);
}

static bool is_class(const filtra_dataset *data, const char *name) {
  bool is = false;
  for (uint32_t i = 0; i < data->info.classes && !is; i++)
    is = !strcmp(filtra_dataset_class_name(data, i), name);
  return is;
}

/* The name of a class that the data do not have: its number, in words where a class of the data is
 * called by that number. */
static json_t *further_name(const filtra_dataset *data, uint32_t i) {
  char number[16];
  snprintf(number, sizeof number, "%u", i);
  return is_class(data, number) ? json_sprintf("class number %u", i) : json_string(number);
}

static bool set_classes(json_t *object, const filtra_dataset *data, uint32_t count) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++)
    ft_json_append(&list, i < data->info.classes ? json_string(filtra_dataset_class_name(data, i))
                                                 : further_name(data, i));
  return !json_object_set_new(object, "classes", list);
}

/* Whether each number of a feature was a byte of an image. */
static bool reads_bytes(const filtra_dataset *data) {
  bool bytes = false;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    bytes = bytes || data->samples[i].bytes || data->samples[i].files;
  return bytes && data->info.features;
}

json_t *ft_dataset_fit_write(const filtra_dataset *data, int64_t classes) {
  const filtra_dataset_info *info = &data->info;
  const uint32_t names = classes > info->classes ? (uint32_t)classes : info->classes;
  const bool standard = data->feature_mean != NULL;
  const uint32_t features = ft_feature_count(data);
  json_t *object = json_object();
  if (object && (!info->classes || set_classes(object, data, names)) &&
      (!standard || (set_numbers(object, "feature_mean", data->feature_mean, features) &&
                     set_numbers(object, "feature_factor", data->feature_factor, features))) &&
      (standard || !info->features || !json_object_set_new(object, "standardised", json_false())) &&
      (data->table ? ft_table_fit_write(object, data->table)
                   : !data->columns || !json_object_set_new(object, "columns", json_true())) &&
      (!info->height || (!json_object_set_new(object, "image_height", json_integer(info->height)) &&
                         !json_object_set_new(object, "image_width", json_integer(info->width)))) &&
      (!reads_bytes(data) || !json_object_set_new(object, "bytes", json_true())))
    return object;
  json_decref(object);
  return NULL;
}

json_t *ft_tokenizer_describe(const filtra_tokenizer *tokenizer) {
  return !tokenizer                              ? json_null()
         : filtra_tokenizer_is_fitted(tokenizer) ? ft_tokenizer_write(tokenizer)
                                                 : json_string(filtra_tokenizer_name(tokenizer));
}

filtra_status ft_dataset_describe(const filtra_dataset *data, int64_t classes, char **text) {
  json_t *object = ft_dataset_fit_write(data, classes);
  json_t *tokenizer = ft_tokenizer_describe(data->info.tokenizer);
  const bool done = object && !json_object_set_new(object, "tokenizer", tokenizer) &&
                    !json_object_set_new(object, "truncate", json_boolean(data->truncate));
  *text = done ? ft_json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  return *text ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}
