/* Imports other programs' models: as a model, or as a run's folder, which every command reads.
 * Called by programs and by `filtra import`. */
#include "base/file.h"
#include "base/memory.h"
#include "train/run.h"
#include "train/start.h"

#include <filtra/run.h>
#include <stdlib.h>
#include <string.h>

/* A model to import, with the caller's changes. */
typedef struct import {
  ft_start *source;
  json_t *keys; /* the model's keys */
  ft_model_options options;
  char *input; /* value of FT_INPUT_KEY */
  bool truncate;
  filtra_tokenizer *owned;
  const filtra_tokenizer *tokenizer;
} import;

/* A head without named classes gets two. */
static filtra_status complete(json_t *keys) {
  const char *task = ft_json_string(keys, "task");
  if (json_object_get(keys, "classes") || (*task && strstr(task, "classification") == NULL))
    return FILTRA_OK;
  if (!json_object_set_new(keys, "classes", json_integer(2))) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Writes how samples are read, with the tokenizer; drops names of classes if the model has other
 * ones. */
static filtra_status describe(import *m) {
  json_t *input = json_deep_copy(ft_start_input(m->source));
  const json_t *names = json_object_get(input, "classes");
  if (names && (int64_t)json_array_size(names) != m->options.config.classes)
    json_object_del(input, "classes");
  json_t *tokenizer = !m->tokenizer ? json_null()
                      : m->owned    ? ft_tokenizer_write(m->owned)
                                    : json_string(filtra_tokenizer_name(m->tokenizer));
  const bool foreign = ft_start_folder(m->source);
  const int failed = json_object_set_new(input, "tokenizer", tokenizer) ||
                     (foreign && json_object_set_new(input, "imported", json_true())) ||
                     (m->truncate && json_object_set_new(input, "truncate", json_true()));
  m->input = failed ? NULL : ft_json_dumps(input, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(input);
  return m->input ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* Says where sentence-transformers cuts texts, if this model does not. */
static filtra_status note_length(const char *folder, const json_t *keys) {
  char *path = ft_path_join(folder, "sentence_bert_config.json");
  json_t *config = NULL;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_exists(path) ? ft_json_load_foreign(path, 0, &config) : FILTRA_OK;
  const long long theirs = json_integer_value(json_object_get(config, "max_seq_length")),
                  own = json_integer_value(json_object_get(keys, "max_length"));
  if (theirs > 0 && theirs < own)
    ft_log(FILTRA_LOG_WARNING,
           "%s: sentence-transformers cuts texts at %lld tokens, this model at %lld: with "
           "max_length=%lld vectors of longer texts are equal",
           path, theirs, own, theirs);
  json_decref(config);
  free(path);
  return status;
}

static filtra_status open_import(const char *path, const char *changes, import *m) {
  json_t *given = NULL;
  if (changes) FT_TRY(ft_json_parse(changes, strlen(changes), "changes", &given));
  m->truncate = json_is_true(json_object_get(given, "truncate"));
  json_object_del(given, "truncate"); /* not a key of models */
  filtra_status status = ft_start_open(path, &m->source);
  if (!status) status = ft_start_merge(ft_start_keys(m->source), given, &m->keys);
  if (!status && ft_start_folder(m->source))
    status = note_length(ft_start_folder(m->source), m->keys);
  if (!status) status = complete(m->keys);
  if (!status) status = ft_model_options_read(m->keys, path, &m->options);
  if (!status) status = ft_start_tokenizer(m->source, &m->tokenizer, &m->owned);
  if (!status) status = describe(m);
  if (!status && !m->tokenizer && m->options.config.vocabulary)
    ft_log(FILTRA_LOG_WARNING, "%s has no tokenizer: the model reads token ids alone, no text",
           path);
  json_decref(given);
  return status;
}

static void close_import(import *m) {
  filtra_tokenizer_destroy(&m->owned);
  ft_start_close(&m->source);
  json_decref(m->keys);
  free(m->input);
  free(m);
}

filtra_status filtra_model_import(filtra_device *device, const char *path, const char *changes,
                                  filtra_model **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device, path);
  import *m = ft_calloc(1, sizeof *m);
  if (!m) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = open_import(path, changes, m);
  if (!status) status = ft_model_new(device, &m->options, 1, out);
  if (!status) status = ft_start_take(m->source, *out, true);
  if (!status) {
    (*out)->input = m->input;
    m->input = NULL;
  }
  if (status) filtra_model_destroy(out);
  close_import(m);
  return status;
}

/* ---- as a run ---- */

/* The configuration of a run with the model's keys and no data. */
static filtra_status configure(const import *m, const char *path, ft_run_config *config) {
  json_t *keys = json_deep_copy(m->keys);
  const json_t *images = ft_start_data_keys(m->source);
  const char *tokenizer = m->tokenizer ? filtra_tokenizer_name(m->tokenizer) : "";
  json_t *own =
      json_pack("{ss ss ss}", "data", FT_DATA_NONE, "init_from", path, "tokenizer", tokenizer);
  const bool failed = !keys || !own || json_object_update(keys, own) ||
                      (images && json_object_update(keys, (json_t *)images));
  filtra_status status = failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
                                : ft_run_config_read(keys, path, config);
  if (!status) status = ft_model_options_finish(path, &config->model);
  json_decref(own);
  json_decref(keys);
  return status;
}

/* Writes data.json: how samples are read, without the tokenizer, which has a file of its own. */
static filtra_status write_fit(const import *m, const char *folder) {
  json_t *fit;
  FT_TRY(ft_json_parse(m->input, strlen(m->input), "input", &fit));
  json_object_del(fit, "tokenizer");
  json_object_del(fit, "truncate");
  json_object_del(fit, "imported");
  if (json_object_size(fit))
    return ft_run_write_json(folder, FILTRA_RUN_DATA, fit,
                             JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(fit);
  return FILTRA_OK;
}

/* A run's folder being made. */
typedef struct making {
  const import *m;
  filtra_model *model;
  const char *path;
} making;

/* The description of samples with the names of parameters that have initial values: a run that
 * begins with this model draws them by its own seed, and predictors warn. Caller frees. */
static char *note_new(const import *m, const filtra_model *model) {
  json_t *object = NULL, *names = ft_start_new(m->source, model);
  if (!names || ft_json_parse(m->input, strlen(m->input), "input", &object)) {
    json_decref(names);
    return NULL;
  }
  const bool any = json_array_size(names);
  const int failed = json_object_set_new(object, "new", names);
  if (!failed && !any) json_object_del(object, "new");
  char *text = failed ? NULL : ft_json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(object);
  return text;
}

static filtra_status write_run(void *user, const char *folder) {
  const making *job = user;
  const import *m = job->m;
  ft_run_config *config = ft_calloc(1, sizeof *config);
  char *tokenizer = ft_path_join(folder, FILTRA_RUN_TOKENIZER),
       *weights = ft_path_join(folder, FILTRA_RUN_MODEL);
  filtra_status status = config && tokenizer && weights ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = configure(m, job->path, config);
  char *input = status ? NULL : note_new(m, job->model);
  if (!status && !input) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status) status = ft_start_write(m->source, job->model, 1, input, weights);
  if (!status && m->owned) status = ft_tokenizer_save(m->owned, folder, tokenizer);
  if (!status) status = write_fit(m, folder);
  if (!status) status = ft_run_write_config(folder, config);
  free(input);
  free(weights);
  free(tokenizer);
  free(config);
  return status;
}

filtra_status filtra_run_import(filtra_device *device, const char *path, const char *changes,
                                const char *folder) {
  FT_NEED(device, path, folder);
  FT_TRY(ft_run_check_vacant(folder));
  import *m = ft_calloc(1, sizeof *m);
  if (!m) return FILTRA_ERROR_HOST_MEMORY;
  making job = {.m = m, .path = path};
  filtra_status status = open_import(path, changes, m);
  if (!status) status = ft_model_declare(device, &m->options, false, &job.model);
  if (!status) status = ft_folder_make(folder, write_run, &job);
  filtra_model_destroy(&job.model);
  close_import(m);
  return status;
}
