#include "nn/past.h"

#include "base/memory.h"
#include "ops/decoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ft_past_tensor {
  char name[FT_NAME_TEXT * 2];
  int64_t width;  /* H * D */
  ft_buffer rows; /* [size, capacity, width] */
};

/* Zeroed: rows not written yet get the weight 0, and 0 times garbage may be a NaN. */
static filtra_status add(ft_past *past, const char *name, int64_t width, ft_past_tensor **out) {
  FT_TRY(FT_GROW(past->tensors, past->count, past->room));
  ft_past_tensor *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  snprintf(t->name, sizeof t->name, "%s", name);
  t->width = width;
  uint64_t bytes = ft_dtype_extent(FILTRA_F32, past->size * past->capacity * width);
  filtra_status status = ft_buffer_zeroed(past->device, bytes, &t->rows);
  if (status) {
    free(t);
    return ft_fail_context(status, "rows of %lld past tokens of %lld sequences",
                           (long long)past->capacity, (long long)past->size);
  }
  *out = past->tensors[past->count++] = t;
  return FILTRA_OK;
}

static filtra_status find(ft_past *past, const char *name, int64_t width, ft_past_tensor **out) {
  for (size_t i = 0; i < past->count; i++) {
    *out = past->tensors[i];
    if (!strcmp((*out)->name, name) && (*out)->width == width) return FILTRA_OK;
  }
  return add(past, name, width, out);
}

/* Rows [0, length) of the tensor as [B,H,length,D], stored token by token. */
static filtra_tensor *rows_view(filtra_graph *g, const ft_past *past, const ft_past_tensor *t,
                                int64_t heads, int64_t length) {
  const int64_t whole[3] = {past->size, past->capacity, t->width}, d = t->width / heads;
  filtra_tensor *rows = ft_tensor_external(g, t->name, FILTRA_F32, 3, whole, &t->rows, 0);
  if (!rows) return NULL;
  return ft_tensor_view(g, rows, 4, (int64_t[]){past->size, heads, length, d},
                        (int64_t[]){past->capacity * t->width, d, t->width, 1});
}

static bool fits(filtra_graph *g, const ft_past_use *use, const filtra_tensor *x) {
  if (!ft_usable(g, x)) return false;
  const ft_past *past = use->past;
  int64_t most = use->position ? 1 : past->capacity;
  if (x->ndim == 4 && x->shape[0] == past->size && x->shape[2] >= 1 && x->shape[2] <= most)
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "past: %s %s must be [B,H,N,D] with %lld sequences and at most %lld tokens of each",
                x->name, ft_shape_text(x), (long long)past->size, (long long)most);
  return false;
}

filtra_tensor *ft_past_keep(const ft_scope *scope, const char *name, filtra_tensor *x) {
  const ft_past_use *use = scope->past;
  if (!use) return x;
  filtra_graph *g = scope->graph;
  if (!fits(g, use, x)) return NULL;
  char full[FT_NAME_TEXT * 2];
  snprintf(full, sizeof full, "%spast.%s", scope->prefix, name);
  ft_past_tensor *t = NULL;
  filtra_status status = find(use->past, full, x->shape[1] * x->shape[3], &t);
  if (status) return ft_graph_fail(g, status, "%s", filtra_error_message());
  int64_t length = use->position ? use->length : x->shape[2];
  filtra_tensor *rows =
      ft_cache_write(g, rows_view(g, use->past, t, x->shape[1], length), x, use->position);
  return use->position ? rows : x;
}

void ft_past_close(ft_past *past) {
  for (size_t i = 0; i < past->count; i++) {
    ft_buffer_destroy(past->device, &past->tensors[i]->rows);
    free(past->tensors[i]);
  }
  free(past->tensors);
  past->tensors = NULL;
  past->count = past->room = 0;
}
