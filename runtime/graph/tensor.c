/* Tensors and views. A tensor is a shape with strides over a storage; a gradient belongs to the
 * owner of a tensor, which all its views share. Called by op files and graph/. */
#include "graph/tape.h"

#include <stdio.h>
#include <string.h>

static int64_t shape_elements(int ndim, const int64_t *shape) {
  int64_t n = 1;
  for (int i = 0; i < ndim; i++)
    n *= shape[i];
  return n;
}

/* Kernels index tensors with 32 bits; planning checks the arena's limits. */
static bool check_shape(filtra_graph *g, const char *name, int ndim, const int64_t *shape) {
  if (!shape) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: the shape is NULL", name);
    return false;
  }
  if (ndim < 1 || ndim > FILTRA_MAX_DIMS) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %d dimensions, accepted are 1 to %d", name, ndim,
                  FILTRA_MAX_DIMS);
    return false;
  }
  int64_t n = 1; /* ignores zeros, so that no stride overflows either */
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 0 || (shape[i] > 0 && n > INT64_C(0x7fffffff) / shape[i])) {
      ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                    "%s: dimension %d is %lld; a tensor has at most 2^31-1 elements", name, i,
                    (long long)shape[i]);
      return false;
    }
    if (shape[i]) n *= shape[i];
  }
  return true;
}

filtra_tensor *ft_tensor_struct(filtra_graph *g, const char *name, int ndim, const int64_t *shape,
                                ft_storage *storage) {
  if (g->status || !check_shape(g, name, ndim, shape)) return NULL;
  filtra_tensor *t = ft_graph_alloc(g, sizeof *t);
  size_t length = strlen(name) + 1;
  char *copy = ft_graph_alloc(g, length);
  if (!t || !copy) return NULL;
  memcpy(copy, name, length);
  t->graph = g;
  t->name = copy;
  t->ndim = ndim;
  t->storage = storage;
  t->next = storage->tensors;
  storage->tensors = t;
  t->owner = t;
  int64_t stride = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    t->shape[i] = shape[i];
    t->stride[i] = stride;
    stride *= shape[i];
  }
  return t;
}

uint64_t ft_dtype_extent(filtra_dtype dtype, int64_t elements) {
  return ((uint64_t)elements * filtra_dtype_bytes(dtype) + 3) / 4 * 4;
}

static ft_storage *new_storage(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                               const int64_t *shape) {
  if (g->status || !check_shape(g, name, ndim, shape)) return NULL;
  if (!ft_dtype_on_device(dtype))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "%s: a tensor cannot be of type %d (%s); accepted are F32, I32, F16 and "
                         "BF16",
                         name, (int)dtype, filtra_dtype_name(dtype));
  struct ft_tape *tape = &g->tape;
  if (FT_GROW(tape->storages, tape->storage_count, tape->storage_capacity))
    return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  ft_storage *s = ft_graph_alloc(g, sizeof *s);
  if (!s) return NULL;
  s->dtype = dtype;
  s->bytes = ft_dtype_extent(dtype, shape_elements(ndim, shape));
  if (!s->bytes) s->bytes = ft_dtype_extent(dtype, 1);
  s->number = (uint32_t)tape->storage_count;
  tape->storages[tape->storage_count++] = s;
  return s;
}

filtra_tensor *ft_tensor_new(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape) {
  ft_storage *s = new_storage(g, name, dtype, ndim, shape);
  return s ? ft_tensor_struct(g, name, ndim, shape, s) : NULL;
}

filtra_tensor *ft_tensor_external(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                  const int64_t *shape, const ft_buffer *buffer, uint64_t offset) {
  ft_storage *s = new_storage(g, name, dtype, ndim, shape);
  if (!s) return NULL;
  s->home = FT_HOME_BUFFER;
  s->buffer = buffer;
  s->offset = offset;
  return ft_tensor_struct(g, name, ndim, shape, s);
}

filtra_tensor *ft_tensor_of_parameter(filtra_graph *g, const char *name, filtra_dtype dtype,
                                      int ndim, const int64_t *shape, ft_home home, size_t index) {
  ft_storage *s = new_storage(g, name, dtype, ndim, shape);
  if (!s) return NULL;
  s->home = home;
  s->parameter = index;
  return ft_tensor_struct(g, name, ndim, shape, s);
}

filtra_tensor *ft_tensor_token_major(filtra_graph *g, const char *name, filtra_dtype dtype,
                                     const int64_t shape[4]) {
  filtra_tensor *t = ft_tensor_new(g, name, dtype, 4, shape);
  if (!t) return NULL;
  t->stride[0] = shape[1] * shape[2] * shape[3];
  t->stride[1] = shape[3];
  t->stride[2] = shape[1] * shape[3];
  t->stride[3] = 1;
  return t;
}

/* Whether strides are equal on all axes longer than 1. */
static bool same_strides(const filtra_tensor *t, const int64_t *stride) {
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] > 1 && t->stride[i] != stride[i]) return false;
  return true;
}

static bool token_major(const filtra_tensor *t) {
  if (t->ndim != 4) return false;
  int64_t want[4] = {t->shape[1] * t->shape[2] * t->shape[3], t->shape[3],
                     t->shape[1] * t->shape[3], 1};
  return same_strides(t, want);
}

bool ft_begins_at(const filtra_tensor *t, size_t bytes) {
  const ft_storage *s = t->storage; /* a plan's places are multiples of 32 bytes */
  return (uint64_t)t->offset * filtra_dtype_bytes(s->dtype) % bytes == 0 &&
         (s->home != FT_HOME_BUFFER || s->offset % bytes == 0);
}

bool ft_dense(const filtra_tensor *t) {
  int64_t want[FILTRA_MAX_DIMS], stride = 1;
  for (int i = t->ndim - 1; i >= 0; i--) {
    want[i] = stride;
    stride *= t->shape[i];
  }
  return same_strides(t, want);
}

filtra_tensor *ft_tensor_like(filtra_graph *g, const filtra_tensor *t, const char *name) {
  if (g->status || !t) return NULL;
  const filtra_dtype dtype = t->storage->dtype;
  if (!ft_dense(t) && token_major(t)) return ft_tensor_token_major(g, name, dtype, t->shape);
  return ft_tensor_new(g, name, dtype, t->ndim, t->shape);
}

filtra_tensor *ft_tensor_view(filtra_graph *g, filtra_tensor *t, int ndim, const int64_t *shape,
                              const int64_t *stride) {
  if (!ft_usable(g, t)) return NULL;
  filtra_tensor *v = ft_tensor_struct(g, t->name, ndim, shape, t->storage);
  if (!v) return NULL;
  memcpy(v->stride, stride, (size_t)ndim * sizeof *stride);
  v->offset = t->offset;
  v->requires_grad = t->requires_grad;
  v->owner = t->owner;
  return v;
}

filtra_tensor *filtra_detach(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  filtra_tensor *v = ft_tensor_view(g, t, t->ndim, t->shape, t->stride);
  if (!v) return NULL;
  v->requires_grad = false;
  v->owner = v;
  return v;
}

filtra_tensor *filtra_reshape(filtra_graph *g, filtra_tensor *t, int ndim, const int64_t *shape) {
  if (!ft_usable(g, t)) return NULL;
  if (!check_shape(g, t->name, ndim, shape)) return NULL;
  if (!ft_dense(t) || shape_elements(ndim, shape) != filtra_tensor_elements(t))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "reshape: %s %s must be dense and keep its number of elements", t->name,
                         ft_shape_text(t));
  int64_t stride[FILTRA_MAX_DIMS], run = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    stride[i] = run;
    run *= shape[i];
  }
  return ft_tensor_view(g, t, ndim, shape, stride);
}

filtra_tensor *filtra_split_heads(filtra_graph *g, filtra_tensor *t, int64_t heads) {
  if (!ft_usable(g, t)) return NULL;
  if (t->ndim != 3 || heads < 1 || t->shape[2] % heads || t->stride[2] != 1)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "split_heads: %s %s is not [B,N,C] with C a multiple of %lld heads",
                         t->name, ft_shape_text(t), (long long)heads);
  int64_t d = t->shape[2] / heads;
  return ft_tensor_view(g, t, 4, (int64_t[]){t->shape[0], heads, t->shape[1], d},
                        (int64_t[]){t->stride[0], d, t->stride[1], 1});
}

filtra_tensor *filtra_merge_heads(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  if (!token_major(t))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "merge_heads: %s %s is not [B,H,N,D] stored token by token", t->name,
                         ft_shape_text(t));
  int64_t c = t->shape[1] * t->shape[3], n = t->shape[2];
  return ft_tensor_view(g, t, 3, (int64_t[]){t->shape[0], n, c}, (int64_t[]){n * c, c, 1});
}

ft_span ft_tensor_span(const filtra_tensor *t) {
  const uint64_t size = filtra_dtype_bytes(t->storage->dtype);
  int order[FILTRA_MAX_DIMS], dims = 0;
  int64_t extent = 1;
  for (int i = 0; i < t->ndim; i++) { /* insertion sort by stride, innermost first */
    if (t->shape[i] <= 1) continue;
    extent += (t->shape[i] - 1) * t->stride[i];
    int j = dims++;
    for (; j > 0 && t->stride[order[j - 1]] > t->stride[i]; j--)
      order[j] = order[j - 1];
    order[j] = i;
  }
  if (!filtra_tensor_elements(t)) extent = 1; /* an empty tensor has a storage of one element */
  uint64_t low = (uint64_t)t->offset * size;
  ft_span s = {low, low + (uint64_t)extent * size, (uint64_t)extent * size, 0, 1};
  int64_t window = 1;
  int k = 0;
  while (k < dims && t->stride[order[k]] == window)
    window *= t->shape[order[k++]];
  if (k == dims) return s;
  int64_t period = t->stride[order[k]], rows = 1;
  for (; k < dims; k++) {
    if (t->stride[order[k]] != period * rows) return s;
    rows *= t->shape[order[k]];
  }
  if (period <= window) return s;
  s.window = (uint64_t)window * size;
  s.period = (uint64_t)period * size;
  s.rows = (uint64_t)rows;
  return s;
}

int64_t ft_columns(const filtra_tensor *t) {
  return t->shape[t->ndim - 1];
}
int64_t ft_rows(const filtra_tensor *t) {
  return shape_elements(t->ndim - 1, t->shape);
}
int64_t filtra_tensor_elements(const filtra_tensor *t) {
  return t ? shape_elements(t->ndim, t->shape) : 0;
}

bool ft_same_shape(const filtra_tensor *a, const filtra_tensor *b) {
  return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

filtra_dtype filtra_tensor_dtype(const filtra_tensor *t) {
  return t ? t->storage->dtype : FILTRA_F32;
}

int filtra_tensor_shape(const filtra_tensor *t, int64_t shape[FILTRA_MAX_DIMS]) {
  if (!t || !shape) return 0;
  memcpy(shape, t->shape, (size_t)t->ndim * sizeof *shape);
  return t->ndim;
}

const char *ft_shape_text(const filtra_tensor *t) {
  static _Thread_local char ring[8][96];
  static _Thread_local unsigned turn;
  char *text = ring[turn++ % 8];
  size_t used = (size_t)snprintf(text, sizeof ring[0], "[");
  for (int i = 0; i < t->ndim; i++)
    used += (size_t)snprintf(text + used, sizeof ring[0] - used, "%s%lld", i ? ", " : "",
                             (long long)t->shape[i]);
  snprintf(text + used, sizeof ring[0] - used, "]");
  return text;
}

/* ---- what ops accept ---- */

bool ft_usable(filtra_graph *g, const filtra_tensor *t) {
  if (!ft_graph_accept(g, FILTRA_OK)) return false;
  if (!t) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "an op was given no tensor (NULL)");
    return false;
  }
  if (t->graph != g) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "tensor %s belongs to another graph", t->name);
    return false;
  }
  if (g->program) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "the graph is compiled; nothing can be added to it");
    return false;
  }
  if (t->owner->unwritten) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s is read, but no kernel has written it", t->name);
    return false;
  }
  return true;
}

bool ft_usable_dense(filtra_graph *g, const filtra_tensor *t, const char *op,
                     const char *argument) {
  if (!ft_usable(g, t)) return false;
  if (ft_dense(t) && filtra_tensor_dtype(t) == FILTRA_F32) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be dense F32, it is %s", op,
                argument, t->name, ft_shape_text(t),
                ft_dense(t) ? filtra_dtype_name(filtra_tensor_dtype(t)) : "not dense");
  return false;
}

bool ft_usable_elements(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument) {
  if (!ft_usable(g, t)) return false;
  filtra_dtype dtype = filtra_tensor_dtype(t);
  if (dtype == FILTRA_F32) return true;
  if (!ft_dtype_is_float(dtype)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) is %s; accepted are F32, F16 and BF16",
                  op, argument, t->name, ft_shape_text(t), filtra_dtype_name(dtype));
    return false;
  }
  return ft_graph_accept(g, ft_check_precision(g->device, dtype));
}
