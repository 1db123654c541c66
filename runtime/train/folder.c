/* The run folder except model, metrics and checkpoint: configuration, tokenizer, classes and
 * standardisation, tuning. Called by train/run.c; filtra_run_open and the calls after it are for
 * programs. */
#include "base/file.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/table_fit.h"
#include "ops/tuning.h"
#include "train/identity.h"
#include "train/run.h"
#include "train/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the configuration ---- */

filtra_status ft_run_has(const char *folder, const char *name, bool *has) {
  char *path = ft_path_join(folder, name);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  *has = ft_file_exists(path);
  free(path);
  return FILTRA_OK;
}

filtra_status ft_run_check_folder(const char *folder) {
  bool is_run;
  FT_TRY(ft_run_has(folder, FILTRA_RUN_CONFIG, &is_run));
  if (is_run) return ft_check_tree(folder);
  return ft_fail(FILTRA_ERROR_INPUT, "%s is not a run folder: it has no " FILTRA_RUN_CONFIG,
                 folder);
}

filtra_status ft_run_load_part(const char *folder, const char *name, char **path, json_t **object) {
  *object = NULL;
  *path = ft_path_join(folder, name);
  if (!*path) return FILTRA_ERROR_HOST_MEMORY;
  return ft_file_exists(*path) ? ft_json_load(*path, object) : FILTRA_OK;
}

filtra_status ft_run_write_json(const char *folder, const char *name, json_t *object,
                                size_t flags) {
  char *path = ft_path_join(folder, name), *text = ft_json_line(object, flags);
  filtra_status status =
      path && text ? ft_file_write_in(folder, path, text, strlen(text)) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  free(path);
  return status;
}

/* ---- tokenizer ---- */

/* Writes the tokenizer if it was made from the training data or is pretrained, so that other data
 * can be read with it. */
static filtra_status write_tokenizer(const char *folder, const filtra_dataset *data) {
  const filtra_tokenizer *tokenizer = filtra_dataset_get_info(data)->tokenizer;
  if (!tokenizer || !filtra_tokenizer_is_fitted(tokenizer)) return FILTRA_OK;
  char *path = ft_path_join(folder, FILTRA_RUN_TOKENIZER);
  filtra_status status =
      path ? ft_tokenizer_save(tokenizer, folder, path) : FILTRA_ERROR_HOST_MEMORY;
  free(path);
  return status;
}

/* The tokenizer of a run. If it was made from the training data or is pretrained, it is read from
 * the run folder, and *owned is the same pointer, which the caller destroys; otherwise *owned is
 * NULL. */
static filtra_status load_tokenizer(const ft_run_config *config, const filtra_tokenizer **tokenizer,
                                    filtra_tokenizer **owned) {
  *owned = NULL;
  if (!ft_tokenizer_is_kept(config->tokenizer)) {
    *tokenizer = filtra_tokenizer_find(config->tokenizer);
    return *tokenizer
               ? FILTRA_OK
               : ft_fail_context(FILTRA_ERROR_INPUT, "%s/" FILTRA_RUN_CONFIG, config->folder);
  }
  char *path = ft_path_join(config->folder, FILTRA_RUN_TOKENIZER);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_tokenizer_load(path, owned);
  *tokenizer = *owned;
  free(path);
  return status;
}

/* ---- classes and standardisation ---- */

static filtra_status write_fit(const char *folder, const filtra_dataset *data, int64_t classes) {
  json_t *object = ft_dataset_fit_write(data, classes);
  if (object && !json_object_size(object)) {
    json_decref(object);
    return FILTRA_OK;
  }
  return ft_run_write_json(folder, FILTRA_RUN_DATA, object,
                           JSON_INDENT(1) | JSON_REAL_PRECISION(17));
}

static filtra_status read_numbers(const json_t *object, const char *key, const char *path,
                                  double **out, size_t *count) {
  const json_t *list = json_object_get(object, key);
  *count = json_array_size(list);
  if (!list) return FILTRA_OK;
  *out = ft_calloc(*count, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < *count; i++) {
    const json_t *value = json_array_get(list, i);
    if (!json_is_number(value))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be a list of numbers", path, key);
    (*out)[i] = json_number_value(value);
  }
  return FILTRA_OK;
}

static filtra_status read_classes(ft_run_fit *fit, const char *path) {
  const json_t *list = json_object_get(fit->json, "classes");
  size_t count = json_array_size(list);
  fit->data.classes = fit->classes = ft_calloc(count, sizeof *fit->classes);
  if (!fit->classes) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    fit->classes[i] = json_string_value(json_array_get(list, i));
    if (!fit->classes[i])
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"classes\" must be a list of names", path);
  }
  fit->data.class_count = (uint32_t)count;
  return FILTRA_OK;
}

/* 0: older versions did not write the key. */
static uint32_t read_size(const json_t *object, const char *key) {
  const json_int_t size = json_integer_value(json_object_get(object, key));
  return size > 0 && size < UINT32_MAX ? (uint32_t)size : 0;
}

static filtra_status read_fit(ft_run_fit *fit, const char *path) {
  size_t means, factors;
  FT_TRY(read_classes(fit, path));
  FT_TRY(read_numbers(fit->json, "feature_mean", path, &fit->mean, &means));
  FT_TRY(read_numbers(fit->json, "feature_factor", path, &fit->factor, &factors));
  if (means != factors)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"feature_mean\" and \"feature_factor\" must have one length", path);
  fit->data.mean = fit->mean;
  fit->data.factor = fit->factor;
  fit->data.features = (uint32_t)means;
  fit->data.plain = json_is_false(json_object_get(fit->json, "standardised"));
  fit->data.height = read_size(fit->json, "image_height");
  fit->data.width = read_size(fit->json, "image_width");
  fit->data.bytes = json_is_true(json_object_get(fit->json, "bytes"));
  FT_TRY(ft_table_fit_read(fit->json, path, &fit->table));
  fit->data.table = fit->table;
  fit->data.columns = json_is_true(json_object_get(fit->json, "columns")) ||
                      (fit->table && !fit->table->text && !fit->table->group);
  return FILTRA_OK;
}

filtra_status ft_run_take_fit(json_t *object, const char *context, ft_run_fit *fit) {
  *fit = (ft_run_fit){.json = object};
  filtra_status status = read_fit(fit, context);
  if (status) ft_run_free_fit(fit);
  return status;
}

static filtra_status load_fit(const char *folder, ft_run_fit *fit) {
  json_t *object;
  char *path;
  *fit = (ft_run_fit){0};
  filtra_status status = ft_run_load_part(folder, FILTRA_RUN_DATA, &path, &object);
  if (object) status = ft_run_take_fit(object, path, fit);
  free(path);
  return status;
}

void ft_run_free_fit(ft_run_fit *fit) {
  free(fit->classes);
  free(fit->mean);
  free(fit->factor);
  ft_table_fit_free(fit->table);
  json_decref(fit->json);
  *fit = (ft_run_fit){0};
}

/* ---- data ---- */

/* Opens data with the run's tokenizer, classes and standardisation. */
static filtra_status open_fitted(const ft_run_config *c, ft_data_fit fit, const char *path,
                                 filtra_dataset_options *options, filtra_dataset **out) {
  filtra_tokenizer *tokenizer = NULL;
  const filtra_tokenizer *same;
  filtra_status status = FILTRA_OK;
  if (ft_tokenizer_is_kept(c->tokenizer)) FT_TRY(load_tokenizer(c, &same, &tokenizer));
  options->fitted = tokenizer;
  fit.values = c->model.config.task == FILTRA_TASK_REGRESSION;
  fit.labels = c->model.config.task == FILTRA_TASK_MULTI_LABEL;
  if (c->model.config.features && !fit.features && !fit.plain)
    status =
        ft_fail(FILTRA_ERROR_INPUT,
                "%s/" FILTRA_RUN_DATA " is missing or has no \"feature_mean\": without it features "
                "would not mean what those of the training data meant",
                c->folder);
  if (!status) status = ft_dataset_open_fitted(path, options, &fit, out);
  if (status)
    filtra_tokenizer_destroy(&tokenizer);
  else if (tokenizer)
    (*out)->owned_tokenizer = tokenizer; /* the data set owns the tokenizer */
  if (!status) status = ft_run_config_check(c, path, *out);
  if (status) filtra_dataset_close(out);
  return status;
}

/* Opens the data again if their features are those of the model that a run begins with, but are
 * standardised by other means and factors than its weights are for. */
static filtra_status read_as_start(const ft_run_config *c, const char *path,
                                   const filtra_dataset_options *options, filtra_dataset **out) {
  ft_data_fit fit;
  double *moments;
  filtra_status status = ft_run_start_moments(c, *out, &fit, &moments);
  if (status || fit.features || fit.plain) filtra_dataset_close(out);
  if (!status && (fit.features || fit.plain))
    status = ft_dataset_open_fitted(path, options, &fit, out);
  free(moments);
  return status;
}

/* Opens a new run's data with the tokenizer of the model that it begins with. */
static filtra_status open_for_start(const ft_run_config *c, const char *path,
                                    filtra_dataset_options *options, filtra_dataset **out) {
  const filtra_tokenizer *tokenizer;
  filtra_tokenizer *owned;
  FT_TRY(ft_run_start_tokenizer(c, &tokenizer, &owned));
  options->fitted = owned;
  if (tokenizer && !owned) options->tokenizer = filtra_tokenizer_name(tokenizer);
  filtra_status status = filtra_dataset_open(path, options, out);
  if (!status) status = read_as_start(c, path, options, out);
  if (status) {
    filtra_tokenizer_destroy(&owned);
    return status;
  }
  if (owned) (*out)->owned_tokenizer = owned; /* else the data may have made one */
  status = ft_run_check_start(c, tokenizer, *out);
  if (status) filtra_dataset_close(out);
  return status;
}

/* How a task reads a table's targets. */
static filtra_targets targets_of(filtra_task task) {
  if (task == FILTRA_TASK_REGRESSION) return FILTRA_TARGETS_VALUES;
  if (task == FILTRA_TASK_MULTI_LABEL) return FILTRA_TARGETS_LABELS;
  return task == FILTRA_TASK_CLASSIFICATION ? FILTRA_TARGETS_CLASSES : FILTRA_TARGETS_AUTO;
}

/* Opens data as the configuration says, or, for an existing run, as its training data were read;
 * `fit` NULL: read that from the folder. */
static filtra_status open_data(const ft_run_config *c, const ft_data_fit *fit, const char *path,
                               filtra_split file_split, filtra_dataset **out) {
  filtra_dataset_options options = c->dataset;
  options.format = c->format[0] ? c->format : NULL;
  options.tokenizer = c->tokenizer[0] ? c->tokenizer : NULL;
  options.text_column = c->text_column[0] ? c->text_column : NULL;
  options.target_column = c->target_column[0] ? c->target_column : NULL;
  options.label_separator = c->label_separator[0] ? c->label_separator : NULL;
  options.feature_columns = c->feature_columns[0] ? c->feature_columns : NULL;
  options.group_column = c->group_column[0] ? c->group_column : NULL;
  options.time_column = c->time_column[0] ? c->time_column : NULL;
  options.id_column = c->id_column[0] ? c->id_column : NULL;
  options.targets = targets_of(c->model.config.task);
  options.max_length = (uint32_t)c->model.config.max_length;
  options.file_split = file_split;
  options.seed = (uint64_t)c->split_seed;
  if (!options.image_size) options.crop_pct = 0.0f;
  *out = NULL;
  if (!path && !strcmp(c->data, FT_DATA_NONE))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s is an imported model without data: name some (--data PATH)",
                   c->folder ? c->folder : "the run");
  if (!path && !strcmp(c->data, FT_DATA_IN_MEMORY))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s was trained on data in memory: name other data (--data PATH), or give these "
                   "again in a program",
                   c->folder ? c->folder : "the run");
  if (!path) path = ft_path_here(c->data);
  if (!c->folder && *c->init_from) return open_for_start(c, path, &options, out);
  if (!c->folder) return filtra_dataset_open(path, &options, out);
  if (fit) return open_fitted(c, *fit, path, &options, out);
  ft_run_fit read;
  filtra_status status = load_fit(c->folder, &read);
  if (!status) status = open_fitted(c, read.data, path, &options, out);
  ft_run_free_fit(&read);
  return status;
}

filtra_status ft_run_open_data(const ft_run_config *c, const char *path, filtra_split file_split,
                               filtra_dataset **out) {
  return open_data(c, NULL, path, file_split, out);
}

filtra_status ft_run_open_training(const ft_run_config *c, filtra_dataset **out) {
  ft_log_hold();
  filtra_status status = ft_run_open_data(c, NULL, FILTRA_SPLIT_TRAIN, out);
  ft_log_release(status != FILTRA_ERROR_INPUT);
  if (status != FILTRA_ERROR_INPUT) return status;
  char *reason = ft_strdup(filtra_error_message());
  if (!reason) return FILTRA_ERROR_HOST_MEMORY;
  ft_run_config lenient = *c;
  lenient.dataset.unlabelled = true;
  const bool opened = !ft_run_open_data(&lenient, NULL, FILTRA_SPLIT_TRAIN, out);
  const uint64_t *unknown = opened ? filtra_dataset_get_info(*out)->unlabelled : NULL;
  bool usable = opened && unknown[FILTRA_SPLIT_TEST];
  const uint64_t learnt = usable ? unknown[FILTRA_SPLIT_TRAIN] + unknown[FILTRA_SPLIT_VAL] : 0;
  if (learnt) { /* not the test file's fault alone */
    filtra_dataset_close(out);
    free(reason);
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: %llu training and validation samples without a target; complete them, or "
                   "take them out",
                   c->data, (unsigned long long)learnt);
  }
  if (usable)
    ft_log(
        FILTRA_LOG_WARNING,
        "%llu of the %llu test samples of %s have no target: they can be predicted, not evaluated",
        (unsigned long long)unknown[FILTRA_SPLIT_TEST],
        (unsigned long long)filtra_dataset_get_info(*out)->count[FILTRA_SPLIT_TEST], c->data);
  if (!usable) filtra_dataset_close(out);
  status = usable ? FILTRA_OK : ft_fail(status, "%s", reason);
  free(reason);
  return status;
}

/* ---- filtra_run: a run folder opened for reading ---- */

struct filtra_run {
  filtra_run_info info;
  ft_run_config config;
  char *folder, *text, *mixer;
  filtra_tokenizer *tokenizer; /* NULL if the folder has none */
  ft_run_fit fit;
};

/* The mixer's name if it is not registered, else NULL. */
static const char *unknown_mixer(const json_t *mixer) {
  const char *name =
      json_string_value(json_is_object(mixer) ? json_object_get(mixer, "name") : mixer);
  for (size_t i = 0; i < json_array_size(mixer) && !name; i++)
    name = unknown_mixer(json_array_get(mixer, i));
  return name && !ft_mixer_find(name) ? name : NULL;
}

/* Reads the configuration. A mixer whose module is not loaded keeps its name, so that reports work
 * without the module; the model cannot be loaded. */
static filtra_status read_run_config(filtra_run *run, json_t *object, const char *path) {
  char text[FT_MIXERS_TEXT];
  const char *unknown = unknown_mixer(json_object_get(object, "mixer"));
  json_t *readable = unknown ? json_copy(object) : json_incref(object);
  if (!readable) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (unknown) json_object_del(readable, "mixer");
  filtra_status status = ft_run_config_read_own(readable, path, &run->config);
  json_decref(readable);
  run->mixer = ft_strdup(unknown  ? unknown
                         : status ? ""
                                  : ft_mixers_name(&run->config.model.mixers, text));
  return status ? status : run->mixer ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status read_run(filtra_run *run) {
  json_t *object;
  char *path;
  filtra_run_info *info = &run->info;
  FT_TRY(ft_run_check_folder(run->folder));
  filtra_status status = ft_run_load_part(run->folder, FILTRA_RUN_CONFIG, &path, &object);
  if (!status) status = read_run_config(run, object, path);
  if (!status)
    run->text = ft_json_text(json_incref(object), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  json_decref(object);
  free(path);
  FT_TRY(status);
  if (!run->text) return FILTRA_ERROR_HOST_MEMORY;
  run->config.folder = run->folder;
  *info = (filtra_run_info){.folder = run->folder,
                            .config = run->text,
                            .data = run->config.data,
                            .mixer = run->mixer,
                            .task = run->config.model.config.task,
                            .batch_size = (uint32_t)run->config.batch_size};
  FT_TRY(load_fit(run->folder, &run->fit));
  info->classes = run->fit.data.classes;
  info->class_count = run->fit.data.class_count;
  if (!run->config.tokenizer[0]) return FILTRA_OK;
  return load_tokenizer(&run->config, &info->tokenizer, &run->tokenizer);
}

filtra_status filtra_run_open(const char *folder, filtra_run **out) {
  FT_NEED(folder, out);
  filtra_run *run = *out = ft_calloc(1, sizeof *run);
  if (!run) return FILTRA_ERROR_HOST_MEMORY;
  run->folder = ft_strdup(folder);
  filtra_status status = run->folder ? read_run(run) : FILTRA_ERROR_HOST_MEMORY;
  if (status) filtra_run_close(out);
  return status;
}

void filtra_run_close(filtra_run **run) {
  if (!run || !*run) return;
  filtra_tokenizer_destroy(&(*run)->tokenizer);
  ft_run_free_fit(&(*run)->fit);
  free((*run)->folder);
  free((*run)->text);
  free((*run)->mixer);
  free(*run);
  *run = NULL;
}

const filtra_run_info *filtra_run_get_info(const filtra_run *run) {
  return run ? &run->info : NULL;
}

filtra_status filtra_run_load_model(const filtra_run *run, filtra_device *device,
                                    filtra_model **out) {
  bool has;
  FT_NEED(run, device, out);
  *out = NULL;
  FT_TRY(ft_run_has(run->folder, FILTRA_RUN_MODEL, &has));
  if (!has)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s has no " FILTRA_RUN_MODEL
                   " yet: training saves one with each evaluation that is "
                   "the best so far, the first after \"eval_every\" steps; resume the run "
                   "(filtra train --resume %s)",
                   run->folder, run->folder);
  char *path = ft_path_join(run->folder, FILTRA_RUN_MODEL);
  filtra_status status = path ? filtra_model_load(device, path, out) : FILTRA_ERROR_HOST_MEMORY;
  free(path);
  return status;
}

filtra_status filtra_run_open_data(const filtra_run *run, const char *path, filtra_split file_split,
                                   const char *settings, filtra_dataset **out) {
  FT_NEED(run, out);
  *out = NULL;
  ft_run_config config = run->config;
  ft_data_fit fit = run->fit.data;
  ft_table_fit *table = NULL;
  if (settings && !path)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "settings are for other data than the run's: name these (--data PATH)");
  if (settings) FT_TRY(ft_run_change_reading(&config, fit.table, settings, &table));
  if (table) fit.table = table;
  config.dataset.unlabelled = true;
  /* Of the run's own data, the splits are those of the run. */
  if (path && file_split != FILTRA_SPLIT_TRAIN && ft_same_file(path, config.data)) {
    path = NULL;
    file_split = FILTRA_SPLIT_TRAIN;
  }
  filtra_status status = open_data(&config, &fit, path, file_split, out);
  ft_table_fit_free(table);
  if (status == FILTRA_ERROR_PATH && !path && !ft_file_exists(ft_path_here(config.data)))
    return ft_fail(status,
                   "%s, the data that %s was trained on, is no longer there: name other data "
                   "(--data PATH)",
                   config.data, run->folder);
  if (status || path) return status;
  char *model = ft_path_join(run->folder, FILTRA_RUN_MODEL);
  status = model ? ft_run_warn_changed(model, config.data, *out) : FILTRA_ERROR_HOST_MEMORY;
  free(model);
  if (status) filtra_dataset_close(out);
  return status;
}

/* ---- tuning ---- */

static filtra_status write_tuning(const char *folder, const filtra_device *device) {
  char *path = ft_path_join(folder, FILTRA_RUN_TUNING);
  char *text = path ? ft_tuning_choices(device, ft_tuning_of(device)) : NULL;
  filtra_status status =
      text ? ft_file_write_in(folder, path, text, strlen(text)) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  free(path);
  return status;
}

filtra_status ft_run_load_tuning(const char *folder, const filtra_device *device,
                                 ft_tuning **tuning) {
  char *path = ft_path_join(folder, FILTRA_RUN_TUNING);
  bool foreign = false;
  *tuning = NULL;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_file_exists(path) ? ft_tuning_load(device, path, &foreign, tuning) : FILTRA_OK;
  free(path);
  if (!status) ft_tuning_warn(device, *tuning, "the run's tuning");
  if (!foreign) return status;
  ft_log(FILTRA_LOG_WARNING, "the run goes on with the kernels' defaults: %s",
         filtra_error_message());
  return FILTRA_OK;
}

/* ---- the folder ---- */

static void remove_from(const char *folder, const char *name) {
  char *path = ft_path_join(folder, name);
  if (path) remove(path); /* removes a folder only if it is empty */
  free(path);
}

/* Fails unless the file was left by a run that was killed before it wrote its configuration. */
static filtra_status check_entry(void *folder, const char *path, const char *name) {
  if ((!strcmp(name, FILTRA_RUN_METRICS) && ft_file_size(path) == 0) ||
      ft_is_temporary(name, FILTRA_RUN_CONFIG))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s holds %s; a new run takes a folder that is empty or does not exist",
                 (const char *)folder, name);
}

filtra_status ft_run_check_vacant(const char *folder) {
  bool is_run;
  FT_TRY(ft_run_has(folder, FILTRA_RUN_CONFIG, &is_run));
  if (is_run)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s holds a run already; resume it, or choose another folder", folder);
  return ft_file_exists(folder) ? ft_each_entry(folder, check_entry, (void *)folder) : FILTRA_OK;
}

filtra_status ft_run_claim_folder(const char *folder, ft_metrics **metrics, bool *made) {
  *made = !ft_file_exists(folder);
  FT_TRY(ft_make_directories(folder));
  filtra_status status = ft_metrics_open(folder, metrics);
  if (!status) return ft_run_check_vacant(folder); /* another process may have created it first */
  if (*made) remove(folder);                       /* only if it is empty */
  return status;
}

filtra_status ft_run_write_config(const char *folder, const ft_run_config *config) {
  return ft_run_write_json(folder, FILTRA_RUN_CONFIG, ft_run_config_write(config),
                           JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

filtra_status ft_run_fill_folder(const char *folder, const filtra_device *device,
                                 const ft_run_config *config, const filtra_dataset *data) {
  char *checkpoint = ft_path_join(folder, "checkpoint");
  if (!checkpoint) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_run_write_config(folder, config);
  if (!status) status = ft_make_folder_in(folder, checkpoint);
  if (!status) status = write_tokenizer(folder, data);
  if (!status) status = write_fit(folder, data, config->model.config.classes);
  if (!status) status = write_tuning(folder, device);
  free(checkpoint);
  return status;
}

void ft_run_abandon_folder(const char *folder, bool made) {
  static const char *const NAMES[] = {FILTRA_RUN_CONFIG, FILTRA_RUN_TOKENIZER, FILTRA_RUN_DATA,
                                      FILTRA_RUN_TUNING, "checkpoint",         FILTRA_RUN_METRICS};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    remove_from(folder, NAMES[i]);
  if (made) remove(folder);
}

filtra_status ft_run_write_about(const char *folder, filtra_model *model, const char *fingerprint) {
  const filtra_device_info *info = filtra_device_get_info(model->device);
  json_int_t scalars = (json_int_t)filtra_parameters_scalars(model->params);
  return ft_run_write_json(folder, FILTRA_RUN_ABOUT,
                           json_pack("{ss ss ss ss ss sI sI}", "filtra", filtra_version(), "device",
                                     info->name, "driver", info->driver, "uuid", info->uuid,
                                     "data_fingerprint", fingerprint, "parameters", scalars,
                                     "tuned_keys",
                                     (json_int_t)ft_tuning_chosen(ft_tuning_of(model->device))),
                           JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

void ft_run_clean_folder(const char *folder) {
  static const char *const NAMES[] = {FILTRA_RUN_CONFIG,    FILTRA_RUN_ABOUT,  FILTRA_RUN_TOKENIZER,
                                      FILTRA_RUN_DATA,      FILTRA_RUN_TUNING, FILTRA_RUN_MODEL,
                                      FILTRA_RUN_CHECKPOINT};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++) {
    char *path = ft_path_join(folder, NAMES[i]);
    if (path) ft_atomic_clean(path);
    free(path);
  }
}
