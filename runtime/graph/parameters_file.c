/* Parameters in safetensors files, one tensor for each by name. Called by programs through
 * filtra_parameters_save and _load, by model/weights.c and by train/optimizer_file.c. */
#include "graph/parameters_file.h"

#include <stdlib.h>
#include <string.h>

struct ft_weight_source {
  filtra_device *device;
  const ft_buffer *flat;
  uint64_t offset;
  char *name;
};

static bool all_finite(const ft_safetensor *t, const void *data) {
  return ft_elements_finite(t->dtype, data, t->bytes / filtra_dtype_bytes(t->dtype));
}

/* Fails for values that are not finite, as reading such a file would fail. */
static filtra_status fill_from_device(void *user, const ft_safetensor *tensor, void *to) {
  const struct ft_weight_source *s = user;
  FT_TRY(ft_download(s->device, s->flat, s->offset, to, tensor->bytes));
  if (all_finite(tensor, to)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_NONFINITE, "it holds a NaN or an infinity");
}

filtra_status ft_weight_list_open(const filtra_parameters *params, size_t groups,
                                  ft_weight_list *list) {
  size_t count = groups * params->count;
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

filtra_status ft_weight_list_add(const filtra_parameters *params, const ft_buffer *flat,
                                 const char *prefix, bool trained, ft_weight_list *list) {
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    if (trained && p->options.buffer) continue;
    struct ft_weight_source *s = &list->sources[list->count];
    const bool narrow = ft_parameter_is_narrow(params, p);
    *s = (struct ft_weight_source){params->device, narrow ? &params->copies : flat,
                                   narrow ? p->copy_offset : p->offset,
                                   ft_format("%s%s", prefix, p->name)};
    if (!s->name) return FILTRA_ERROR_HOST_MEMORY;
    ft_safetensor *t = &list->tensors[list->count++];
    *t = (ft_safetensor){.name = s->name,
                         .dtype = narrow ? p->options.copy : FILTRA_F32,
                         .ndim = p->ndim,
                         .fill = fill_from_device,
                         .user = s};
    t->bytes = (uint64_t)p->elements * filtra_dtype_bytes(t->dtype);
    memcpy(t->shape, p->shape, sizeof p->shape);
  }
  return FILTRA_OK;
}

/* Finds a tensor without allocating, since a failed allocation would look like a missing tensor. */
static const ft_safetensor *find(const ft_safetensors *file, const char *prefix,
                                 const ft_parameter *p) {
  const size_t length = strlen(prefix);
  for (size_t i = 0; i < ft_safetensors_count(file); i++) {
    const ft_safetensor *t = ft_safetensors_at(file, i);
    if (!strncmp(t->name, prefix, length) && !strcmp(t->name + length, p->name)) return t;
  }
  return NULL;
}

/* A tensor of the file, of those that begin with `prefix`, that is no parameter; NULL: none. */
static const char *find_foreign(const filtra_parameters *params, const ft_safetensors *file,
                                const char *prefix, bool trained) {
  const size_t length = strlen(prefix);
  for (size_t i = 0; i < ft_safetensors_count(file); i++) {
    const char *name = ft_safetensors_at(file, i)->name;
    if (strncmp(name, prefix, length) != 0) continue;
    const ft_parameter *p = ft_parameters_find(params, name + length);
    if (!p || (trained && p->options.buffer)) return name;
  }
  return NULL;
}

filtra_status ft_weights_check(const filtra_parameters *params, const ft_safetensors *file,
                               const char *path, const char *prefix, bool trained) {
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    if (trained && p->options.buffer) continue;
    const ft_safetensor *t = find(file, prefix, p);
    if (!t) return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s%s is missing", path, prefix, p->name);
    if (!ft_dtype_is_float(t->dtype) || t->ndim != p->ndim ||
        memcmp(t->shape, p->shape, (size_t)p->ndim * sizeof *p->shape))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: tensor %s%s does not have the type and shape that the parameters have",
                     path, prefix, p->name);
    if (!all_finite(t, t->data))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s%s holds a NaN or an infinity", path, prefix,
                     p->name);
  }
  const char *foreign = find_foreign(params, file, prefix, trained);
  if (!foreign) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s is none of the %zu parameters", path, foreign,
                 params->count);
}

static filtra_status upload_floats(filtra_parameters *params, const ft_parameter *p,
                                   const float *values, const ft_buffer *flat) {
  if (!flat) return ft_parameter_upload(params, p, values);
  return ft_upload(params->device, flat, p->offset, values, (size_t)p->elements * sizeof *values);
}

/* Uploads a tensor of any float type as F32. */
static filtra_status upload(filtra_parameters *params, const ft_parameter *p,
                            const ft_safetensor *t, const ft_buffer *flat) {
  if (t->dtype == FILTRA_F32) return upload_floats(params, p, t->data, flat);
  size_t count = (size_t)p->elements;
  float *values = ft_calloc(count, sizeof *values);
  if (!values) return FILTRA_ERROR_HOST_MEMORY;
  ft_elements_get(t->dtype, t->data, count, values);
  filtra_status status = upload_floats(params, p, values, flat);
  free(values);
  return status;
}

filtra_status ft_weights_upload(filtra_parameters *params, const ft_safetensors *file,
                                const char *prefix, const ft_buffer *flat) {
  for (size_t i = 0; i < params->count; i++) {
    const ft_parameter *p = &params->list[i];
    if (flat && p->options.buffer) continue;
    const ft_safetensor *t = find(file, prefix, p);
    if (!t) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    FT_TRY(upload(params, p, t, flat));
  }
  return FILTRA_OK;
}

static filtra_status require_committed(const filtra_parameters *params) {
  return params->committed ? FILTRA_OK
                           : ft_fail(FILTRA_ERROR_ARGUMENT, "commit the parameters first");
}

filtra_status ft_parameters_write(filtra_parameters *params, const char *within, const char *path,
                                  const ft_safetensors_meta_pair *meta, size_t count, void **bytes,
                                  size_t *size) {
  ft_weight_list list;
  FT_TRY(require_committed(params));
  FT_TRY(ft_weight_list_open(params, 1, &list));
  filtra_status status = ft_weight_list_add(params, &params->values, "", false, &list);
  if (!status)
    status = path ? ft_safetensors_write_in(within, path, list.tensors, list.count, meta, count)
                  : ft_safetensors_write_memory(list.tensors, list.count, meta, count, bytes, size);
  ft_weight_list_close(&list);
  return status;
}

filtra_status filtra_parameters_save(filtra_parameters *params, const char *path) {
  FT_NEED(params, path);
  return ft_parameters_write(params, NULL, path, NULL, 0, NULL, NULL);
}

filtra_status filtra_parameters_load(filtra_parameters *params, const char *path) {
  ft_safetensors *file;
  FT_NEED(params, path);
  FT_TRY(require_committed(params));
  FT_TRY(ft_safetensors_open(path, &file));
  filtra_status status = ft_weights_check(params, file, path, "", false);
  if (!status) status = ft_weights_upload(params, file, "", NULL);
  ft_safetensors_close(&file);
  return status;
}
