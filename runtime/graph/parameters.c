/* Named parameters as views into flat buffers: decayed ones first, then other trained ones, then
 * buffers. Called by programs through <filtra/graph.h>, by models, optimizers and graphs. */
#include "graph/kept.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Views start on cache lines, so that vector loads are aligned for every shape. */
static const uint64_t PARAMETER_ALIGN = 64;

filtra_status filtra_parameters_create(filtra_device *device, filtra_parameters **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  *out = ft_calloc(1, sizeof **out);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  (*out)->device = device;
  ft_device_hold(device);
  return FILTRA_OK;
}

filtra_status filtra_parameters_destroy(filtra_parameters **params) {
  FT_NEED(params);
  if (!*params) return FILTRA_OK;
  filtra_parameters *p = *params;
  FT_TRY(ft_check_unused("the parameter set", p->users));
  ft_buffer_destroy(p->device, &p->values);
  ft_buffer_destroy(p->device, &p->gradients);
  ft_buffer_destroy(p->device, &p->copies);
  ft_kept_free(p);
  for (size_t i = 0; i < p->count; i++)
    free(p->list[i].name);
  free(p->list);
  ft_device_release(p->device);
  free(p);
  *params = NULL;
  return FILTRA_OK;
}

ft_parameter *ft_parameters_find(const filtra_parameters *params, const char *name) {
  for (size_t i = 0; i < params->count; i++)
    if (!strcmp(params->list[i].name, name)) return &params->list[i];
  return NULL;
}

filtra_status ft_parameters_add(filtra_parameters *params, const char *name, int ndim,
                                const int64_t *shape, const filtra_parameter_options *options) {
  if (ndim < 1 || ndim > FILTRA_MAX_DIMS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: %d dimensions, accepted are 1 to %d", name,
                   ndim, FILTRA_MAX_DIMS);
  if (options->copy != FILTRA_F32 && options->copy != FILTRA_F16 && options->copy != FILTRA_BF16)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "parameter %s: a copy of type %d (%s); accepted are F16, BF16, and F32 for none",
                   name, (int)options->copy, filtra_dtype_name(options->copy));
  if ((unsigned)options->init > FILTRA_INIT_ORTHOGONAL)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: init is %d, accepted are 0 to %d", name,
                   (int)options->init, (int)FILTRA_INIT_ORTHOGONAL);
  if (!isfinite(options->value))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: its initial value is %g", name,
                   (double)options->value);
  FT_TRY(FT_GROW(params->list, params->count, params->capacity));
  ft_parameter p = {.ndim = ndim, .elements = 1, .options = *options};
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 1 || p.elements > INT64_C(0x7fffffff) / shape[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "parameter %s: dimension %d is %lld; accepted are at least 1 and at most "
                     "2^31-1 elements in all",
                     name, i, (long long)shape[i]);
    p.shape[i] = shape[i];
    p.elements *= shape[i];
  }
  p.name = ft_strdup(name);
  if (!p.name) return FILTRA_ERROR_HOST_MEMORY;
  params->list[params->count++] = p;
  return FILTRA_OK;
}

enum { DECAYED, TRAINED, BUFFER };

static int kind_of(const ft_parameter *p) {
  return p->options.buffer ? BUFFER : p->options.decay ? DECAYED : TRAINED;
}

bool ft_parameter_is_narrow(const filtra_parameters *params, const ft_parameter *p) {
  return params->narrow && p->options.copy != FILTRA_F32;
}

static uint64_t aligned(uint64_t offset) {
  return (offset + PARAMETER_ALIGN - 1) / PARAMETER_ALIGN * PARAMETER_ALIGN;
}

static uint64_t place(filtra_parameters *params, int kind, uint64_t offset) {
  for (size_t i = 0; i < params->count; i++) {
    ft_parameter *p = &params->list[i];
    if (kind_of(p) != kind || ft_parameter_is_narrow(params, p)) continue;
    p->offset = offset;
    p->copy_offset = offset / 2;
    offset = aligned(offset + (uint64_t)p->elements * sizeof(float));
  }
  return offset;
}

/* Places the 16-bit copies of parameters without F32 values, one after the other. */
static uint64_t place_narrow(filtra_parameters *params) {
  uint64_t offset = 0;
  for (size_t i = 0; i < params->count; i++) {
    ft_parameter *p = &params->list[i];
    if (!ft_parameter_is_narrow(params, p)) continue;
    p->copy_offset = offset;
    offset = aligned(offset + ft_dtype_extent(p->options.copy, p->elements));
  }
  return offset;
}

static double draw_row(ft_rng *rng, int64_t columns, double *row) {
  double square = 0;
  for (int64_t i = 0; i < columns; i++) {
    row[i] = (double)ft_rng_normal(rng);
    square += row[i] * row[i];
  }
  return sqrt(square);
}

/* Makes the row orthogonal to `count` orthonormal rows, and of length 1. */
static void orthonormalise(double *row, const double *others, int64_t count, int64_t columns) {
  double square = 0;
  for (int64_t k = 0; k < count; k++) {
    double share = 0;
    for (int64_t i = 0; i < columns; i++)
      share += row[i] * others[k * columns + i];
    for (int64_t i = 0; i < columns; i++)
      row[i] -= share * others[k * columns + i];
  }
  for (int64_t i = 0; i < columns; i++)
    square += row[i] * row[i];
  for (int64_t i = 0; i < columns; i++)
    row[i] /= sqrt(square);
}

/* Blocks of orthogonal rows by Gram-Schmidt, each row with a random length (Yu et al. 2016). */
static filtra_status orthogonal_rows(const ft_parameter *p, ft_rng *rng, float *values) {
  int64_t columns = p->shape[p->ndim - 1], rows = p->elements / columns;
  double *block = ft_calloc((size_t)((columns + 1) * columns), sizeof *block);
  if (!block) return FILTRA_ERROR_HOST_MEMORY;
  for (int64_t r = 0; r < rows; r++) {
    double *row = block + r % columns * columns, *spare = block + columns * columns;
    draw_row(rng, columns, row);
    orthonormalise(row, block, r % columns, columns);
    double length = (double)p->options.value * draw_row(rng, columns, spare);
    for (int64_t i = 0; i < columns; i++)
      values[r * columns + i] = (float)(length * row[i]);
  }
  free(block);
  return FILTRA_OK;
}

filtra_status ft_parameter_draw(const ft_parameter *p, uint64_t seed, float *values) {
  ft_rng rng = ft_rng_make(seed, ft_hash_text(p->name));
  if (p->options.init == FILTRA_INIT_ORTHOGONAL) return orthogonal_rows(p, &rng, values);
  for (int64_t i = 0; i < p->elements; i++) {
    switch (p->options.init) {
    case FILTRA_INIT_ZERO:
      values[i] = 0.0f;
      break;
    case FILTRA_INIT_CONSTANT:
      values[i] = p->options.value;
      break;
    case FILTRA_INIT_NORMAL:
      values[i] = p->options.value * ft_rng_normal(&rng);
      break;
    case FILTRA_INIT_UNIFORM:
      values[i] = p->options.value * (2.0f * ft_rng_float(&rng) - 1.0f);
      break;
    case FILTRA_INIT_SERIES:
      values[i] = i ? p->options.value : 0.5f * p->options.value;
      break;
    case FILTRA_INIT_ORTHOGONAL:
      break;
    }
  }
  return FILTRA_OK;
}

filtra_status ft_parameters_make_trainable(filtra_parameters *params) {
  if (params->trainable) return FILTRA_OK;
  if (params->narrow)
    return ft_fail(
        FILTRA_ERROR_UNSUPPORTED,
        "the parameters are there in 16 bits alone and cannot be trained; take the model "
        "to fp32 first (filtra_model_set_precision), or its file (filtra convert)");
  uint64_t bytes = params->trained_bytes ? params->trained_bytes : PARAMETER_ALIGN;
  FT_TRY(ft_buffer_zeroed(params->device, bytes, &params->gradients));
  params->trainable = true;
  return FILTRA_OK;
}

static bool has_copies(const filtra_parameters *params) {
  for (size_t i = 0; i < params->count; i++)
    if (params->list[i].options.copy != FILTRA_F32) return true;
  return false;
}

static filtra_status upload_copy(filtra_parameters *params, const ft_parameter *p,
                                 const float *values) {
  if (p->options.copy == FILTRA_F32) return FILTRA_OK;
  uint64_t bytes = ft_dtype_extent(p->options.copy, p->elements);
  void *copy = ft_calloc(bytes, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  for (int64_t i = 0; i < p->elements; i++)
    ft_element_set(p->options.copy, copy, (size_t)i, values[i]);
  filtra_status status = ft_upload(params->device, &params->copies, p->copy_offset, copy, bytes);
  free(copy);
  return status;
}

filtra_status ft_parameter_upload(filtra_parameters *params, const ft_parameter *p,
                                  const float *values) {
  ft_kept_expire(params, p);
  if (!ft_parameter_is_narrow(params, p))
    FT_TRY(ft_upload(params->device, &params->values, p->offset, values,
                     (uint64_t)p->elements * sizeof *values));
  return upload_copy(params, p, values);
}

static filtra_status download_copy(filtra_parameters *params, const ft_parameter *p,
                                   float *values) {
  uint64_t bytes = ft_dtype_extent(p->options.copy, p->elements);
  void *copy = ft_calloc(bytes, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_download(params->device, &params->copies, p->copy_offset, copy, bytes);
  if (!status) ft_elements_get(p->options.copy, copy, (size_t)p->elements, values);
  free(copy);
  return status;
}

filtra_status ft_parameter_download(filtra_parameters *params, const ft_parameter *p,
                                    float *values) {
  if (ft_parameter_is_narrow(params, p)) return download_copy(params, p, values);
  return ft_download(params->device, &params->values, p->offset, values,
                     (uint64_t)p->elements * sizeof *values);
}

void ft_parameters_lay_out(filtra_parameters *params) {
  params->decay_bytes = place(params, DECAYED, 0);
  params->trained_bytes = place(params, TRAINED, params->decay_bytes);
  params->bytes = place(params, BUFFER, params->trained_bytes);
  params->copies_bytes = params->narrow ? place_narrow(params) : params->bytes / 2;
  if (!params->bytes) params->bytes = PARAMETER_ALIGN; /* no buffer is empty */
}

uint64_t ft_parameters_extent(const filtra_parameters *params) {
  return ft_buffer_extent(params->bytes) +
         (has_copies(params) ? ft_buffer_extent(params->copies_bytes) : 0);
}

/* Uploads the initial F32 values of all parameters at once, then the 16-bit copies. */
static filtra_status begin_at_once(filtra_parameters *params, uint64_t seed) {
  float *flat = ft_calloc(params->bytes / sizeof(float), sizeof(float));
  if (!flat) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < params->count && !status; i++)
    status =
        ft_parameter_draw(&params->list[i], seed, flat + params->list[i].offset / sizeof(float));
  if (!status) status = ft_upload(params->device, &params->values, 0, flat, params->bytes);
  for (size_t i = 0; i < params->count && !status; i++)
    status = upload_copy(params, &params->list[i], flat + params->list[i].offset / sizeof(float));
  free(flat);
  return status;
}

/* Uploads initial values one parameter at a time, so that not all are in host memory as F32. */
static filtra_status begin_one_by_one(filtra_parameters *params, uint64_t seed) {
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < params->count && !status; i++) {
    const ft_parameter *p = &params->list[i];
    float *values = ft_calloc((size_t)p->elements, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    status = ft_parameter_draw(p, seed, values);
    if (!status) status = ft_parameter_upload(params, p, values);
    free(values);
  }
  return status;
}

/* Allocates the buffers; `zeros`: with zeros, also between parameters, where optimizers pass. */
static filtra_status allocate(filtra_parameters *params, filtra_trainable trainable, bool zeros) {
  if (params->committed)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "the parameters are committed already");
  if (!params->count) return ft_fail(FILTRA_ERROR_ARGUMENT, "no parameter was declared");
  filtra_device *dev = params->device;
  ft_parameters_lay_out(params);
  params->fixed = trainable == FILTRA_FIXED;
  filtra_status status =
      zeros ? ft_buffer_zeroed(dev, params->bytes, &params->values)
            : ft_buffer_create(dev, params->bytes, FT_MEMORY_DEVICE, &params->values);
  if (!status && has_copies(params))
    status = ft_buffer_create(dev, params->copies_bytes, FT_MEMORY_DEVICE, &params->copies);
  if (!status && trainable) status = ft_parameters_make_trainable(params);
  return status ? ft_fail_context(status, "the model's parameters, in one buffer of their own")
                : FILTRA_OK;
}

filtra_status ft_parameters_commit_unset(filtra_parameters *params) {
  FT_TRY(allocate(params, FILTRA_FIXED, true));
  params->committed = true;
  return FILTRA_OK;
}

filtra_status filtra_parameters_commit(filtra_parameters *params, uint64_t seed,
                                       filtra_trainable trainable) {
  FT_NEED(params);
  FT_TRY(allocate(params, trainable, false));
  filtra_status status =
      params->narrow ? begin_one_by_one(params, seed) : begin_at_once(params, seed);
  params->committed = !status;
  return status;
}

size_t filtra_parameters_count(const filtra_parameters *params) {
  return params ? params->count : 0;
}

uint64_t filtra_parameters_scalars(const filtra_parameters *params) {
  if (!params) return 0;
  uint64_t n = 0;
  for (size_t i = 0; i < params->count; i++)
    n += (uint64_t)params->list[i].elements;
  return n;
}

const char *filtra_parameters_name(const filtra_parameters *params, size_t i) {
  return params && i < params->count ? params->list[i].name : NULL;
}

int filtra_parameters_shape(const filtra_parameters *params, size_t i,
                            int64_t shape[FILTRA_MAX_DIMS]) {
  if (!params || i >= params->count) return 0;
  memcpy(shape, params->list[i].shape, sizeof params->list[i].shape);
  return params->list[i].ndim;
}

/* Finds a committed parameter with `count` elements. */
static filtra_status look_up(filtra_parameters *params, const char *name, size_t count,
                             ft_parameter **out) {
  *out = ft_parameters_find(params, name);
  if (!*out) return ft_fail(FILTRA_ERROR_ARGUMENT, "there is no parameter %s", name);
  if (!params->committed)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: commit the parameters first", name);
  if ((size_t)(*out)->elements != count)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s has %lld elements, the caller's buffer %zu",
                   name, (long long)(*out)->elements, count);
  return FILTRA_OK;
}

filtra_status filtra_parameters_get(filtra_parameters *params, const char *name, float *values,
                                    size_t count) {
  FT_NEED(params, name, values);
  ft_parameter *p;
  FT_TRY(look_up(params, name, count, &p));
  return ft_parameter_download(params, p, values);
}

filtra_status filtra_parameters_set(filtra_parameters *params, const char *name,
                                    const float *values, size_t count) {
  FT_NEED(params, name, values);
  ft_parameter *p;
  FT_TRY(look_up(params, name, count, &p));
  return ft_parameter_upload(params, p, values);
}

static filtra_status look_up_gradient(filtra_parameters *params, const char *name, size_t count,
                                      ft_parameter **p) {
  FT_TRY(look_up(params, name, count, p));
  if (!params->trainable)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: committed without gradients", name);
  if ((*p)->options.buffer)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "parameter %s: a buffer has no gradient", name);
  return FILTRA_OK;
}

filtra_status filtra_parameters_get_gradient(filtra_parameters *params, const char *name,
                                             float *values, size_t count) {
  FT_NEED(params, name, values);
  ft_parameter *p;
  FT_TRY(look_up_gradient(params, name, count, &p));
  return ft_download(params->device, &params->gradients, p->offset, values, count * sizeof *values);
}

filtra_status filtra_parameters_set_gradient(filtra_parameters *params, const char *name,
                                             const float *values, size_t count) {
  FT_NEED(params, name, values);
  ft_parameter *p;
  FT_TRY(look_up_gradient(params, name, count, &p));
  return ft_upload(params->device, &params->gradients, p->offset, values, count * sizeof *values);
}
