/* Model files: a safetensors file with the parameters by name; its metadata hold the configuration
 * and how the model reads samples, so that no other file is needed. Called by programs, and by
 * train/run.c for the best model. */
#include "graph/parameters_file.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Writes to a file or, if `path` is NULL, to memory. */
static filtra_status write_model(filtra_model *model, const char *within, const char *path,
                                 const char *key, const char *value, void **bytes, size_t *size) {
  ft_safetensors_meta_pair meta[3];
  size_t count = 0;
  char *config = ft_json_text(ft_model_options_write(&model->options), JSON_COMPACT);
  if (!config) return FILTRA_ERROR_HOST_MEMORY;
  meta[count++] = (ft_safetensors_meta_pair){FT_MODEL_CONFIG_KEY, config};
  if (model->input) meta[count++] = (ft_safetensors_meta_pair){FT_INPUT_KEY, model->input};
  if (key) meta[count++] = (ft_safetensors_meta_pair){key, value};
  filtra_status status = ft_parameters_write(model->params, within, path, meta, count, bytes, size);
  free(config);
  return status;
}

filtra_status ft_model_save(filtra_model *model, const char *within, const char *path,
                            const char *key, const char *value) {
  return write_model(model, within, path, key, value, NULL, NULL);
}

filtra_status filtra_model_save(filtra_model *model, const char *path) {
  FT_NEED(model, path);
  return ft_model_save(model, NULL, path, NULL, NULL);
}

filtra_status filtra_model_save_to_memory(filtra_model *model, void **bytes, size_t *size) {
  FT_NEED(model, bytes, size);
  return write_model(model, NULL, NULL, NULL, NULL, bytes, size);
}

void filtra_free(void *bytes) {
  free(bytes);
}

filtra_status ft_model_file_options(const ft_safetensors *file, const char *path,
                                    ft_model_options *options) {
  const char *text = ft_safetensors_meta(file, FT_MODEL_CONFIG_KEY);
  if (!text)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is missing; not a Filtra model", path,
                   FT_MODEL_CONFIG_KEY);
  json_t *object;
  FT_TRY(ft_json_parse(text, strlen(text), path, &object));
  filtra_status status = ft_model_options_read(object, path, options);
  json_decref(object);
  return status;
}

/* Whether the file stores the parameters that would be narrow in exactly their 16-bit type, so that
 * nothing is rounded. */
static bool is_narrow(const filtra_parameters *params, const ft_safetensors *file) {
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    const ft_safetensor *t = ft_safetensors_find(file, p->name);
    if (ft_parameter_is_narrow(params, p) && t && t->dtype != p->options.copy) return false;
  }
  return true;
}

static filtra_status declare(filtra_device *device, const ft_model_options *options,
                             const ft_safetensors *file, filtra_model **out) {
  bool narrow = ft_precision_dtype(options->config.precision) != FILTRA_F32;
  FT_TRY(ft_model_declare(device, options, narrow, out));
  if (!narrow || is_narrow((*out)->params, file)) return FILTRA_OK;
  filtra_model_destroy(out);
  return ft_model_declare(device, options, false, out);
}

/* Creates the model of a file; closes the file. */
static filtra_status take_file(filtra_device *device, ft_safetensors *file, const char *path,
                               filtra_model **out) {
  ft_model_options options;
  const char *input = ft_safetensors_meta(file, FT_INPUT_KEY);
  filtra_status status = ft_model_file_options(file, path, &options);
  if (!status) status = declare(device, &options, file, out);
  /* Before memory is allocated: a damaged configuration may ask for any amount. */
  if (!status) status = ft_weights_check((*out)->params, file, path, "", false);
  if (!status) status = ft_parameters_commit_unset((*out)->params);
  if (!status) status = ft_weights_upload((*out)->params, file, "", NULL);
  if (!status && input && !((*out)->input = ft_strdup(input))) status = FILTRA_ERROR_HOST_MEMORY;
  if (status) filtra_model_destroy(out);
  ft_safetensors_close(&file);
  return status;
}

filtra_status filtra_model_load(filtra_device *device, const char *path, filtra_model **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device, path);
  ft_safetensors *file;
  FT_TRY(ft_safetensors_open(path, &file));
  return take_file(device, file, path, out);
}

filtra_status filtra_model_load_from_memory(filtra_device *device, const void *bytes, size_t size,
                                            filtra_model **out) {
  static const char NAME[] = "model in memory";
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device, bytes);
  ft_safetensors *file;
  FT_TRY(ft_safetensors_copy(NAME, bytes, size, &file));
  return take_file(device, file, NAME, out);
}
