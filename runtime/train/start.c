/* What a run takes from the model at "init_from": keys, tokenizer and values. Called by
 * train/config.c, folder.c, run.c and import.c. */
#include "train/start.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/pretrained.h"
#include "data/table_fit.h"
#include "data/tokenizer.h"
#include "graph/parameters.h"
#include "model/pretrained/padding.h"
#include "train/measures.h"
#include "train/preset.h"

#include <filtra/run.h>
#include <stdlib.h>
#include <string.h>

/* Keys of a new run that its data decide. */
static const char *const FROM_DATA[] = {"classes", "target_mean", "target_scale"};

static filtra_status add_data_keys(json_t *keys, const ft_start *start) {
  const json_t *more = ft_start_data_keys(start);
  if (!more || !json_object_update_missing(keys, (json_t *)more)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status expand(json_t *given, const char *path, json_t **out) {
  ft_start *start;
  FT_TRY(ft_start_open(path, &start));
  json_t *own = json_deep_copy(ft_start_keys(start));
  filtra_status status = own ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  const bool language = !strcmp(ft_json_string(own, "task"), "language_model");
  for (size_t i = 0; i < FT_COUNT(FROM_DATA); i++)
    json_object_del(own, FROM_DATA[i]);
  if (!language) json_object_del(own, "task");
  if (!status) status = add_data_keys(own, start);
  if (!status) status = ft_start_merge(own, given, out);
  json_decref(own);
  ft_start_close(&start);
  return status;
}

filtra_status ft_run_expand(const json_t *given, json_t **out) {
  json_t *keys;
  FT_TRY(ft_preset_expand(given, &keys));
  const char *path = ft_json_string(keys, "init_from");
  *out = keys;
  if (!*path) return FILTRA_OK;
  filtra_status status = expand(keys, path, out);
  if (status) ft_fail_context(status, "\"init_from\"");
  json_decref(keys);
  return status;
}

filtra_status ft_start_tokenizer(const ft_start *start, const filtra_tokenizer **tokenizer,
                                 filtra_tokenizer **owned) {
  bool there;
  const char *folder = ft_start_folder(start);
  *tokenizer = *owned = NULL;
  if (!folder)
    return ft_tokenizer_described(json_object_get(ft_start_input(start), "tokenizer"), tokenizer,
                                  owned);
  FT_TRY(ft_pretrained_is(folder, &there));
  if (!there) return FILTRA_OK;
  FT_TRY(filtra_tokenizer_load(folder, owned));
  *tokenizer = *owned;
  return ft_hf_check_padding(*owned, folder, ft_start_keys(start));
}

/* Fails for a model whose token ids no tokenizer explains. */
static filtra_status refuse_unknown_ids(const ft_run_config *config) {
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s has no tokenizer, and only the one that it was trained with says what its "
                 "token ids mean: add its files, or name it (\"tokenizer\")",
                 config->init_from);
}

/* Fails if the configuration names another tokenizer than the model's own, or if other programs'
 * model, which is one of text, has none. Arrays hold ids and need none. */
static filtra_status check_tokenizer(const ft_run_config *config, const ft_start *start,
                                     const filtra_tokenizer *own) {
  const char *name = filtra_tokenizer_name(own);
  const bool ids = ft_ends_with(config->data, ".npy") || ft_ends_with(config->data, ".npz");
  const bool text = ft_start_folder(start) && config->model.config.vocabulary && !ids;
  if (!own && text && !*config->tokenizer) return refuse_unknown_ids(config);
  if (!own || !*config->tokenizer || !strcmp(config->tokenizer, name)) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "\"tokenizer\" is \"%s\"; the model of \"init_from\" has its own, \"%s\": leave it "
      "out",
      config->tokenizer, name);
}

filtra_status ft_run_start_tokenizer(const ft_run_config *config,
                                     const filtra_tokenizer **tokenizer, filtra_tokenizer **owned) {
  ft_start *start;
  *tokenizer = *owned = NULL;
  FT_TRY(ft_start_open(config->init_from, &start));
  filtra_status status = ft_start_tokenizer(start, tokenizer, owned);
  if (!status) status = check_tokenizer(config, start, *tokenizer);
  ft_start_close(&start);
  if (status) filtra_tokenizer_destroy(owned);
  return status;
}

filtra_status ft_run_check_start(const ft_run_config *config, const filtra_tokenizer *tokenizer,
                                 const filtra_dataset *data) {
  const filtra_tokenizer *used = filtra_dataset_get_info(data)->tokenizer;
  if (tokenizer == used || !config->model.config.vocabulary) return FILTRA_OK;
  if (tokenizer)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s is read %s%s%s; the model of \"init_from\" reads tokens of \"%s\"",
                   config->data, used ? "by the tokenizer \"" : "as numbers",
                   used ? filtra_tokenizer_name(used) : "", used ? "\"" : "",
                   filtra_tokenizer_name(tokenizer));
  return *config->tokenizer ? FILTRA_OK : refuse_unknown_ids(config);
}

/* Whether both call class `i` the same. transformers names an unnamed class LABEL_i. */
static bool same_name(const char *start, const char *own) {
  static const char UNNAMED[] = "LABEL_";
  const size_t skip = strlen(UNNAMED);
  return start &&
         (!strcmp(start, own) || (!strncmp(start, UNNAMED, skip) && !strcmp(start + skip, own)));
}

/* Whether the head's rows stand for the data's classes, in this order. */
static bool same_classes(const ft_start *start, const filtra_dataset *data) {
  const json_t *names = json_object_get(ft_start_input(start), "classes");
  const uint32_t count = filtra_dataset_get_info(data)->classes;
  bool same = json_array_size(names) == count;
  for (uint32_t i = 0; i < count && same; i++)
    same =
        same_name(json_string_value(json_array_get(names, i)), filtra_dataset_class_name(data, i));
  return same;
}

/* ---- columns of tables ---- */

static bool has_column(const json_t *columns, const json_t *wanted) {
  size_t i;
  const json_t *column;
  json_array_foreach(columns, i, column) if (json_equal(column, wanted)) return true;
  return false;
}

/* The first layer's weights go by position: fails if `ours` are `theirs` in another order. Other
 * columns may be meant: warns of the first. */
static filtra_status compare_columns(const char *path, const json_t *ours, const json_t *theirs) {
  const size_t count = json_array_size(ours);
  size_t i = 0;
  if (count != json_array_size(theirs) || json_equal(ours, theirs)) return FILTRA_OK;
  while (json_equal(json_array_get(ours, i), json_array_get(theirs, i)))
    i++;
  const char *own = ft_json_string(json_array_get(ours, i), "name");
  const char *other = ft_json_string(json_array_get(theirs, i), "name");
  size_t shared = 0;
  while (shared < count && has_column(theirs, json_array_get(ours, shared)))
    shared++;
  if (shared == count)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: column \"%.64s\" stands where the model of \"init_from\" reads \"%.64s\": "
                   "bring the columns into the order of its data",
                   path, own, other);
  if (strcmp(own, other) != 0)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%.64s\" takes the place of \"%.64s\", which the model of \"init_from\" "
           "reads",
           path, own, other);
  else
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%.64s\" has other values, or another unit, than in the data of the model "
           "of \"init_from\"",
           path, own);
  return FILTRA_OK;
}

static filtra_status check_columns(const ft_run_config *config, const ft_start *start,
                                   const filtra_dataset *data) {
  const json_t *theirs = json_object_get(ft_start_input(start), "table");
  if (!data->table || !theirs) return FILTRA_OK;
  json_t *own = json_object();
  filtra_status status = FILTRA_OK;
  if (own && ft_table_fit_write(own, data->table))
    status =
        compare_columns(config->data, json_object_get(json_object_get(own, "table"), "columns"),
                        json_object_get(theirs, "columns"));
  else
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  json_decref(own);
  return status;
}

/* ---- standardisation ---- */

/* Whether the start's first layer reads the features of the data: as many, and of the same columns
 * if both are tables. */
static filtra_status same_features(const ft_start *start, const filtra_dataset *data, bool *same) {
  const json_t *input = ft_start_input(start);
  const json_t *means = json_object_get(input, "feature_mean"),
               *factors = json_object_get(input, "feature_factor"),
               *theirs = json_object_get(json_object_get(input, "table"), "columns");
  const bool plain = json_is_false(json_object_get(input, "standardised"));
  const size_t count = ft_feature_count(data);
  *same = plain || (json_array_size(means) == count && json_array_size(factors) == count);
  if (!*same || !data->table || !theirs) return FILTRA_OK;
  json_t *own = json_object();
  const bool written = own && ft_table_fit_write(own, data->table);
  *same = written && json_equal(json_object_get(json_object_get(own, "table"), "columns"), theirs);
  json_decref(own);
  return written ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status take_moments(const ft_start *start, ft_data_fit *fit, double **moments) {
  const json_t *means = json_object_get(ft_start_input(start), "feature_mean"),
               *factors = json_object_get(ft_start_input(start), "feature_factor");
  const size_t count = json_array_size(means);
  fit->plain = !count;
  if (!count) return FILTRA_OK;
  double *numbers = *moments = ft_calloc(2 * count, sizeof *numbers);
  if (!numbers) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    numbers[i] = json_number_value(json_array_get(means, i));
    numbers[count + i] = json_number_value(json_array_get(factors, i));
  }
  fit->mean = numbers;
  fit->factor = numbers + count;
  fit->features = (uint32_t)count;
  return FILTRA_OK;
}

filtra_status ft_run_start_moments(const ft_run_config *config, const filtra_dataset *data,
                                   ft_data_fit *fit, double **moments) {
  ft_start *start;
  bool same;
  *fit = (ft_data_fit){0};
  *moments = NULL;
  if (!data->feature_mean || config->dataset.normalize != FILTRA_NORMALIZE_DATA) return FILTRA_OK;
  FT_TRY(ft_start_open(config->init_from, &start));
  filtra_status status = same_features(start, data, &same);
  if (!status && same && !ft_same_numbers(ft_start_input(start), data))
    status = take_moments(start, fit, moments);
  ft_start_close(&start);
  return status;
}

/* Of data that the caller holds, or of other columns. */
static void warn_of_moments(const ft_run_config *config, const ft_start *start,
                            const filtra_dataset *data) {
  if (!ft_same_numbers(ft_start_input(start), data))
    ft_log(
        FILTRA_LOG_WARNING,
        "%s: features are standardised otherwise than those of the model of \"init_from\", whose "
        "weights are for its own means and factors",
        config->data);
}

filtra_status ft_run_hash_start(filtra_model *model, uint64_t *hash) {
  filtra_parameters *params = model->params;
  *hash = ft_hash_text("");
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    float *values = ft_calloc((size_t)p->elements, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = ft_parameter_download(params, p, values);
    if (!status) *hash = ft_hash_bytes(*hash, values, (size_t)p->elements * sizeof *values);
    free(values);
    if (status) return status;
  }
  return FILTRA_OK;
}

filtra_status ft_run_take_start(const ft_run_config *config, const filtra_dataset *data,
                                filtra_model *model) {
  ft_start *start;
  FT_TRY(ft_start_open(config->init_from, &start));
  const bool classes = ft_task_is_scored(filtra_model_task(model));
  filtra_status status = check_columns(config, start, data);
  if (!status) warn_of_moments(config, start, data);
  if (!status) status = ft_start_take(start, model, !classes || same_classes(start, data));
  ft_start_close(&start);
  return status;
}
