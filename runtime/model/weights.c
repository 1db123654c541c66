/* Weights on disk: one safetensors file with the parameters by name and the configuration in its
 * metadata, so that the file alone is the model. */
#include "graph/parameters.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char CONFIG_KEY[] = "filtra.config";

struct ft_weight_source {
  filtra_device *device;
  const ft_buffer *flat;
  uint64_t offset;
  char *name;
};

static filtra_status fill_from_device(void *user, const ft_safetensor *tensor, void *to) {
  const struct ft_weight_source *s = user;
  return ft_download(s->device, s->flat, s->offset, to, tensor->bytes);
}

filtra_status ft_weight_list_open(const filtra_model *model, size_t groups, ft_weight_list *list) {
  size_t count = groups * model->params->count;
  *list = (ft_weight_list){ft_calloc(count, sizeof(ft_safetensor)),
                           ft_calloc(count, sizeof(struct ft_weight_source)), 0};
  if (list->tensors && list->sources) return FILTRA_OK;
  ft_weight_list_close(list);
  return FILTRA_ERROR_HOST_MEMORY;
}

void ft_weight_list_close(ft_weight_list *list) {
  for (size_t i = 0; i < list->count; i++)
    free(list->sources[i].name);
  free(list->sources);
  free(list->tensors);
  *list = (ft_weight_list){0};
}

filtra_status ft_weight_list_add(const filtra_model *model, const ft_buffer *flat,
                                 const char *prefix, ft_weight_list *list) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    struct ft_weight_source *s = &list->sources[list->count];
    *s = (struct ft_weight_source){model->device, flat, p->offset,
                                   ft_format("%s%s", prefix, p->name)};
    if (!s->name) return FILTRA_ERROR_HOST_MEMORY;
    ft_safetensor *t = &list->tensors[list->count++];
    *t = (ft_safetensor){.name = s->name,
                         .dtype = FILTRA_F32,
                         .ndim = p->ndim,
                         .bytes = (uint64_t)p->elements * sizeof(float),
                         .fill = fill_from_device,
                         .user = s};
    memcpy(t->shape, p->shape, sizeof p->shape);
  }
  return FILTRA_OK;
}

static const ft_safetensor *find(const ft_safetensors *file, const char *prefix,
                                 const ft_parameter *p) {
  char *name = ft_format("%s%s", prefix, p->name);
  const ft_safetensor *t = name ? ft_safetensors_find(file, name) : NULL;
  free(name);
  return t;
}

static bool all_finite(const ft_safetensor *t) {
  const float *value = t->data;
  for (uint64_t i = 0; i < t->bytes / sizeof *value; i++)
    if (!isfinite(value[i])) return false;
  return true;
}

filtra_status ft_weights_check(const filtra_model *model, const ft_safetensors *file,
                               const char *path, const char *prefix) {
  const filtra_parameters *params = model->params;
  size_t found = 0;
  for (size_t i = 0; i < ft_safetensors_count(file); i++)
    found += !strncmp(ft_safetensors_at(file, i)->name, prefix, strlen(prefix));
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    const ft_safetensor *t = find(file, prefix, p);
    if (!t) return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s%s is missing", path, prefix, p->name);
    if (t->dtype != FILTRA_F32 || t->ndim != p->ndim ||
        memcmp(t->shape, p->shape, (size_t)p->ndim * sizeof *p->shape))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: tensor %s%s does not have the type and shape that the model's "
                     "configuration gives it",
                     path, prefix, p->name);
    if (!all_finite(t))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s%s holds a NaN or an infinity", path, prefix,
                     p->name);
  }
  if (found == params->count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: holds %zu tensors \"%s...\", the model's configuration gives it %zu", path,
                 found, prefix, params->count);
}

filtra_status ft_weights_upload(const filtra_model *model, const ft_safetensors *file,
                                const char *prefix, const ft_buffer *flat) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    const ft_safetensor *t = find(file, prefix, p);
    if (!t) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    FT_TRY(ft_upload(model->device, flat, p->offset, t->data, t->bytes));
  }
  return FILTRA_OK;
}

filtra_status ft_model_save(filtra_model *model, const char *path, const char *key,
                            const char *value) {
  const size_t pairs = key ? 2 : 1;
  ft_weight_list list;
  FT_TRY(ft_weight_list_open(model, 1, &list));
  json_t *object = ft_model_options_write(&model->options);
  char *config = object ? json_dumps(object, JSON_COMPACT) : NULL;
  filtra_status status = config ? ft_weight_list_add(model, &model->params->values, "", &list)
                                : FILTRA_ERROR_HOST_MEMORY;
  if (!status)
    status = ft_safetensors_write(path, list.tensors, list.count,
                                  (ft_safetensors_meta_pair[]){{CONFIG_KEY, config}, {key, value}},
                                  pairs);
  free(config);
  json_decref(object);
  ft_weight_list_close(&list);
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
  if (!status) status = ft_weights_check(*out, file, path, "");
  if (!status) status = filtra_parameters_commit((*out)->params, 0, false);
  if (!status) status = ft_weights_upload(*out, file, "", &(*out)->params->values);
  if (status) filtra_model_destroy(out);
  ft_safetensors_close(&file);
  return status;
}
