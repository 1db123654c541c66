/* What a run takes from the model at "init_from": keys, tokenizer and values. Called by
 * train/config.c, folder.c, run.c and import.c. */
#include "train/source.h"

#include "base/file.h"
#include "train/input.h"
#include "train/preset.h"

#include <filtra/run.h>
#include <stdlib.h>
#include <string.h>

/* What a new run's data decide. */
static const char *const FROM_DATA[] = {"classes", "target_mean", "target_scale"};

static filtra_status add_data_keys(json_t *keys, const ft_pretrained *source) {
  const json_t *more = ft_pretrained_data_keys(source);
  if (!more || !json_object_update_missing(keys, (json_t *)more)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status expand(json_t *given, const char *path, json_t **out) {
  ft_pretrained *source;
  FT_TRY(ft_pretrained_open(path, &source));
  json_t *own = json_deep_copy(ft_pretrained_keys(source));
  filtra_status status = own ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  const bool language = !strcmp(ft_json_string(own, "task"), "language_model");
  for (size_t i = 0; i < FT_COUNT(FROM_DATA); i++)
    json_object_del(own, FROM_DATA[i]);
  if (!language) json_object_del(own, "task");
  if (!status) status = add_data_keys(own, source);
  if (!status) status = ft_pretrained_merge(own, given, out);
  json_decref(own);
  ft_pretrained_close(&source);
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

/* The tokenizer in an object of FT_INPUT_KEY. */
static filtra_status read_input(const ft_pretrained *source, const filtra_tokenizer **tokenizer,
                                filtra_tokenizer **owned) {
  ft_input input;
  char *text = ft_json_dumps(ft_pretrained_input(source), JSON_COMPACT | JSON_REAL_PRECISION(17));
  filtra_status status =
      text ? ft_input_read(text, FT_INPUT_KEY, &input) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  FT_TRY(status);
  *tokenizer = input.tokenizer;
  *owned = input.owned;
  input.owned = NULL;
  ft_input_free(&input);
  return FILTRA_OK;
}

filtra_status ft_source_tokenizer(const ft_pretrained *source, const filtra_tokenizer **tokenizer,
                                  filtra_tokenizer **owned) {
  static const char *const FILES[] = {"tokenizer.json", "vocab.json", "vocab.txt"};
  const char *folder = ft_pretrained_folder(source);
  *tokenizer = *owned = NULL;
  if (!folder) return read_input(source, tokenizer, owned);
  for (size_t i = 0; i < FT_COUNT(FILES); i++) {
    char *path = ft_path_join(folder, FILES[i]);
    const bool there = path && ft_file_exists(path);
    free(path);
    if (!path) return FILTRA_ERROR_HOST_MEMORY;
    if (!there) continue;
    FT_TRY(filtra_tokenizer_load(folder, owned));
    *tokenizer = *owned;
    return FILTRA_OK;
  }
  return FILTRA_OK;
}

/* A model's rows of ids mean what its own tokenizer says. */
static filtra_status check_tokenizer(const ft_run_config *config, const filtra_tokenizer *own) {
  const char *name = filtra_tokenizer_name(own);
  if (!own || !*config->tokenizer || !strcmp(config->tokenizer, name)) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "\"tokenizer\" is \"%s\"; the model of \"init_from\" has its own, \"%s\": leave it "
      "out",
      config->tokenizer, name);
}

filtra_status ft_run_source_tokenizer(const ft_run_config *config, filtra_tokenizer **tokenizer) {
  ft_pretrained *source;
  const filtra_tokenizer *same = NULL;
  *tokenizer = NULL;
  FT_TRY(ft_pretrained_open(config->init_from, &source));
  filtra_status status = ft_source_tokenizer(source, &same, tokenizer);
  if (!status) status = check_tokenizer(config, same);
  ft_pretrained_close(&source);
  if (status) filtra_tokenizer_destroy(tokenizer);
  return status;
}

filtra_status ft_run_take_source(const ft_run_config *config, filtra_model *model) {
  ft_pretrained *source;
  FT_TRY(ft_pretrained_open(config->init_from, &source));
  filtra_status status = ft_pretrained_take(source, model);
  ft_pretrained_close(&source);
  return status;
}
