/* The data of earlier tokens that a generator keeps: rows of keys and values, and states. Called by
 * mixers through filtra_scope_keep and filtra_scope_state; model/generate.c owns it. */
#include "nn/past.h"

#include "base/memory.h"
#include "ops/decoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ft_past_tensor {
  char name[FT_NAME_TEXT];
  int64_t rows, width; /* per sequence: `capacity` rows of H * D numbers, or one row, a state */
  ft_buffer buffer;    /* [size, rows, width] */
  uint64_t written;    /* number of the last graph that writes it */
};

ft_past_use ft_past_begin(ft_past *past, filtra_tensor *position, int64_t length) {
  if (past) past->graphs++;
  return (ft_past_use){.past = past, .position = position, .length = length};
}

/* Adds a zeroed buffer: rows not written yet have weight 0, and 0 times garbage could be a NaN. */
static filtra_status add_rows(ft_past *past, const char *name, int64_t rows, int64_t width,
                              ft_past_tensor **out) {
  FT_TRY(FT_GROW(past->tensors, past->count, past->room));
  ft_past_tensor *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  snprintf(t->name, sizeof t->name, "%s", name);
  t->rows = rows;
  t->width = width;
  uint64_t bytes = ft_dtype_extent(FILTRA_F32, past->size * rows * width);
  filtra_status status = ft_buffer_zeroed(past->device, bytes, &t->buffer);
  if (status) {
    free(t);
    return ft_fail_context(status, "%s: what is kept of %lld sequences, %lld rows of %lld numbers",
                           name, (long long)past->size, (long long)rows, (long long)width);
  }
  *out = past->tensors[past->count++] = t;
  return FILTRA_OK;
}

/* The tensor with that scope, kind and name, created on first use; NULL after a graph error. */
static ft_past_tensor *find(const ft_scope *scope, const char *kind, const char *name, int64_t rows,
                            int64_t width) {
  ft_past *past = scope->past->past;
  char full[FT_NAME_TEXT];
  if (!ft_scope_name(scope, kind, name, full)) return NULL;
  for (size_t i = 0; i < past->count; i++) {
    ft_past_tensor *t = past->tensors[i];
    if (strcmp(t->name, full) != 0) continue;
    if (t->rows == rows && t->width == width) return t;
    return ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT,
                         "%s: kept with %lld numbers before, now with %lld", full,
                         (long long)t->width, (long long)width);
  }
  ft_past_tensor *t = NULL;
  filtra_status status = add_rows(past, full, rows, width, &t);
  return status ? ft_graph_fail(scope->graph, status, "%s", filtra_error_message()) : t;
}

/* Takes a tensor that the graph is to write. Fails if it does already: the first would be lost. */
static bool take(const ft_scope *scope, ft_past_tensor *t) {
  const ft_past *past = scope->past->past;
  if (!t) return false;
  if (t->written == past->graphs) {
    ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT,
                  "%s: kept twice in one pass; each tensor needs a name of its own", t->name);
    return false;
  }
  t->written = past->graphs;
  return true;
}

/* ---- rows ---- */

/* Rows [0, length) of the tensor as [B,H,length,D] in token-major order. */
static filtra_tensor *rows_view(filtra_graph *g, const ft_past *past, const ft_past_tensor *t,
                                int64_t heads, int64_t length) {
  const int64_t whole[3] = {past->size, past->capacity, t->width}, d = t->width / heads;
  filtra_tensor *rows = ft_tensor_external(g, t->name, FILTRA_F32, 3, whole, &t->buffer, 0);
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

filtra_tensor *filtra_scope_keep(const ft_scope *scope, const char *name, filtra_tensor *x) {
  const ft_past_use *use = scope ? scope->past : NULL;
  if (!use) return x;
  filtra_graph *g = scope->graph;
  if (!fits(g, use, x)) return NULL;
  ft_past_tensor *t = find(scope, "past.", name, use->past->capacity, x->shape[1] * x->shape[3]);
  if (!take(scope, t)) return NULL;
  int64_t length = use->position ? use->length : x->shape[2];
  filtra_tensor *rows =
      ft_cache_write(g, rows_view(g, use->past, t, x->shape[1], length), x, use->position);
  return use->position ? rows : x;
}

/* ---- states ---- */

filtra_pass filtra_scope_pass(const filtra_scope *scope) {
  if (!scope || !scope->past) return FILTRA_PASS_WHOLE;
  return scope->past->position ? FILTRA_PASS_DECODE : FILTRA_PASS_PREFILL;
}

/* The state with that name and shape; NULL after a graph error. */
static ft_past_tensor *find_state(const ft_scope *scope, const char *name, int ndim,
                                  const int64_t *shape) {
  filtra_graph *g = scope->graph;
  int64_t size = scope->past->past->size, width = 1;
  if (!shape || ndim < 1 || ndim > FILTRA_MAX_DIMS || shape[0] != size)
    return ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "state %s%s: must have 1 to %d dimensions, the first of the %lld sequences", scope->prefix,
        name, FILTRA_MAX_DIMS, (long long)size);
  for (int i = 1; i < ndim; i++) {
    if (shape[i] < 1 || width > INT64_C(0x7fffffff) / size / shape[i])
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                           "state %s%s: dimension %d is %lld; accepted are at least 1 and at most "
                           "2^31-1 elements in all",
                           scope->prefix, name ? name : "(NULL)", i, (long long)shape[i]);
    width *= shape[i];
  }
  return find(scope, "state.", name, 1, width);
}

filtra_tensor *filtra_scope_state(const filtra_scope *scope, const char *name, int ndim,
                                  const int64_t *shape) {
  if (!ft_scope_usable(scope)) return NULL;
  filtra_graph *g = scope->graph;
  if (filtra_scope_pass(scope) != FILTRA_PASS_DECODE)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "state %s%s: only a DECODE pass has tokens before its own", scope->prefix,
                         name ? name : "(NULL)");
  ft_past_tensor *t = find_state(scope, name, ndim, shape);
  if (!t) return NULL;
  if (t->written == scope->past->past->graphs)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "%s: read after it was set; call filtra_scope_state first", t->name);
  return ft_state_read(g, ft_tensor_external(g, t->name, FILTRA_F32, ndim, shape, &t->buffer, 0),
                       scope->past->position);
}

void filtra_scope_set_state(const filtra_scope *scope, const char *name, filtra_tensor *state) {
  if (filtra_scope_pass(scope) == FILTRA_PASS_WHOLE || !ft_usable(scope->graph, state)) return;
  filtra_graph *g = scope->graph;
  ft_past_tensor *t = find_state(scope, name, state->ndim, state->shape);
  if (!take(scope, t)) return;
  ft_state_write(
      g, ft_tensor_external(g, t->name, FILTRA_F32, state->ndim, state->shape, &t->buffer, 0),
      state);
}

void ft_past_close(ft_past *past) {
  for (size_t i = 0; i < past->count; i++) {
    ft_buffer_destroy(past->device, &past->tensors[i]->buffer);
    free(past->tensors[i]);
  }
  free(past->tensors);
  past->tensors = NULL;
  past->count = past->room = 0;
}
