/* Weights on disk: one safetensors file with the parameters by name and the configuration in its
 * metadata, so that the file alone is the model. */
#include "graph/parameters_file.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

static const char CONFIG_KEY[] = "filtra.config";

filtra_status ft_model_save(filtra_model *model, const char *path, const char *key,
                            const char *value) {
  json_t *object = ft_model_options_write(&model->options);
  char *config = object ? json_dumps(object, JSON_COMPACT) : NULL;
  const ft_safetensors_meta_pair meta[] = {{CONFIG_KEY, config}, {key, value}};
  filtra_status status = config ? ft_parameters_write(model->params, path, meta, key ? 2 : 1)
                                : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(config);
  json_decref(object);
  return status;
}

filtra_status filtra_model_save(filtra_model *model, const char *path) {
  FT_NEED(model);
  FT_NEED(path);
  return ft_model_save(model, path, NULL, NULL);
}

static filtra_status read_options(const ft_safetensors *file, const char *path,
                                  ft_model_options *options) {
  const char *text = ft_safetensors_meta(file, CONFIG_KEY);
  if (!text)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is missing; not a Filtra model", path,
                   CONFIG_KEY);
  json_t *object;
  FT_TRY(ft_json_parse(text, strlen(text), path, &object));
  filtra_status status = ft_model_options_read(object, path, options);
  json_decref(object);
  return status;
}

filtra_status filtra_model_load(filtra_device *device, const char *path, filtra_model **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  FT_NEED(path);
  ft_safetensors *file;
  ft_model_options options;
  FT_TRY(ft_safetensors_open(path, &file));
  filtra_status status = read_options(file, path, &options);
  if (!status) status = ft_model_declare(device, &options, out);
  /* Before memory is asked for: a damaged configuration may want any amount. */
  if (!status) status = ft_weights_check((*out)->params, file, path, "", false);
  if (!status) status = filtra_parameters_commit((*out)->params, 0, false);
  if (!status) status = ft_weights_upload((*out)->params, file, "", NULL);
  if (status) filtra_model_destroy(out);
  ft_safetensors_close(&file);
  return status;
}
