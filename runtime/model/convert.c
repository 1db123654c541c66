/* Converts a model file to another element type, on the host, without building the model. */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* Converts the bytes of a tensor. Fails if a finite number would become infinite. */
static filtra_status convert(void *user, const ft_safetensor *to, void *bytes) {
  const ft_safetensor *from = user;
  size_t count = from->bytes / filtra_dtype_bytes(from->dtype);
  for (size_t i = 0; i < count; i++) {
    double value = ft_element_get(from->dtype, from->data, i);
    ft_element_set(to->dtype, bytes, i, (float)value);
    if (!isfinite(ft_element_get(to->dtype, bytes, i)))
      return ft_fail(FILTRA_ERROR_NONFINITE, "it holds %g, which %s has no number for", value,
                     filtra_dtype_name(to->dtype));
  }
  return FILTRA_OK;
}

static filtra_precision precision_of(filtra_dtype dtype) {
  return dtype == FILTRA_F16    ? FILTRA_PRECISION_FP16
         : dtype == FILTRA_BF16 ? FILTRA_PRECISION_BF16
                                : FILTRA_PRECISION_FP32;
}

/* The model's options with the precision of the new type, as JSON text; caller frees. */
static filtra_status rewrite_config(const ft_safetensors *file, const char *path,
                                    filtra_dtype dtype, char **text) {
  ft_model_options options;
  FT_TRY(ft_model_file_options(file, path, &options));
  options.config.precision = precision_of(dtype);
  *text = ft_json_text(ft_model_options_write(&options), JSON_COMPACT);
  return *text ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status list_tensors(const ft_safetensors *file, const char *path, filtra_dtype dtype,
                                  ft_safetensor *list) {
  for (size_t i = 0; i < ft_safetensors_count(file); i++) {
    const ft_safetensor *from = ft_safetensors_at(file, i);
    if (!ft_dtype_is_float(from->dtype))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s is %s; accepted are F32, F64, F16 and BF16",
                     path, from->name, filtra_dtype_name(from->dtype));
    list[i] = *from;
    list[i].dtype = dtype;
    list[i].data = NULL;
    list[i].fill = convert;
    list[i].user = (void *)from;
  }
  return FILTRA_OK;
}

static filtra_status convert_file(const ft_safetensors *file, const char *from, const char *to,
                                  filtra_dtype dtype) {
  static const char *const KEPT[] = {FT_INPUT_KEY, FT_RUN_KEY};
  ft_safetensors_meta_pair meta[1 + FT_COUNT(KEPT)];
  size_t pairs = 1, count = ft_safetensors_count(file);
  char *config = NULL;
  FT_TRY(rewrite_config(file, from, dtype, &config));
  meta[0] = (ft_safetensors_meta_pair){FT_MODEL_CONFIG_KEY, config};
  for (size_t i = 0; i < FT_COUNT(KEPT); i++) {
    const char *value = ft_safetensors_meta(file, KEPT[i]);
    if (value) meta[pairs++] = (ft_safetensors_meta_pair){KEPT[i], value};
  }
  ft_safetensor *list = ft_calloc(count ? count : 1, sizeof *list);
  filtra_status status = list ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = list_tensors(file, from, dtype, list);
  if (!status) status = ft_safetensors_write(to, list, count, meta, pairs);
  free(list);
  free(config);
  return status;
}

filtra_status filtra_model_convert(const char *from, const char *to, filtra_dtype dtype) {
  ft_safetensors *file;
  FT_NEED(from, to);
  if (dtype != FILTRA_F32 && dtype != FILTRA_F16 && dtype != FILTRA_BF16)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "convert: to %s; accepted are F32, F16 and BF16",
                   filtra_dtype_name(dtype));
  FT_TRY(ft_safetensors_open(from, &file));
  filtra_status status = convert_file(file, from, to, dtype);
  ft_safetensors_close(&file);
  return status;
}
