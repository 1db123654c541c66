/* Kept tensors: graphs of a fixed parameter set compute what depends on a parameter alone when the
 * first of them is compiled, not in every execution, and again after the parameter was set. Called
 * by op files, compiling and execution. */
#include "graph/kept.h"

#include "graph/tape.h"

#include <stdlib.h>
#include <string.h>

struct ft_kept {
  ft_kept *next;
  size_t parameter;
  ft_home home; /* of the parameter's values or its copy */
  ft_keep_fn record;
  ft_keep_numbers numbers;
  int64_t elements;
  ft_buffer buffer; /* empty until the first refresh */
  bool current;
};

/* Whether the parameters take little of the device's memory: kept tensors take as much again, and
 * twice as much beside weights of 16 bits. */
static bool affordable(const filtra_parameters *params) {
  enum { SHARE = 8 };
  return ft_parameters_extent(params) <= ft_caps_of(params->device)->info.memory_bytes / SHARE;
}

bool ft_graph_keeps(const filtra_graph *g, const filtra_tensor *t) {
  const filtra_parameters *params = g->tape.params;
  const ft_storage *s = t->storage;
  return params && params->fixed && !g->training && !t->offset &&
         (s->home == FT_HOME_VALUES || s->home == FT_HOME_COPIES) && affordable(params);
}

static ft_kept *find(const filtra_parameters *params, const ft_kept *like) {
  for (ft_kept *k = params->kept; k; k = k->next)
    if (k->parameter == like->parameter && k->home == like->home && k->record == like->record &&
        !memcmp(&k->numbers, &like->numbers, sizeof k->numbers))
      return k;
  return NULL;
}

filtra_tensor *ft_graph_keep(filtra_graph *g, const filtra_tensor *x, ft_keep_fn record,
                             const ft_keep_numbers *numbers, int ndim, const int64_t *shape) {
  ft_kept like = {.parameter = x->storage->parameter,
                  .home = x->storage->home,
                  .record = record,
                  .numbers = *numbers,
                  .elements = 1};
  for (int i = 0; i < ndim; i++)
    like.elements *= shape[i];
  filtra_parameters *params = g->tape.params;
  ft_kept *k = find(params, &like);
  if (!k) {
    k = ft_calloc(1, sizeof *k);
    if (!k) return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    *k = like;
    k->next = params->kept;
    params->kept = k;
  }
  return ft_tensor_external(g, x->name, FILTRA_F32, ndim, shape, &k->buffer, 0);
}

/* ---- computing them ---- */

static uint64_t bytes_of(const ft_kept *k) {
  return ft_dtype_extent(FILTRA_F32, k->elements);
}

static void record(filtra_graph *g, const filtra_parameters *params, const ft_kept *k) {
  const ft_parameter *p = &params->list[k->parameter];
  const bool copy = k->home == FT_HOME_COPIES;
  filtra_tensor *x = ft_tensor_external(g, p->name, copy ? p->options.copy : FILTRA_F32, p->ndim,
                                        p->shape, copy ? &params->copies : &params->values,
                                        copy ? p->copy_offset : p->offset);
  filtra_tensor *y = ft_tensor_external(g, p->name, FILTRA_F32, 1, &k->elements, &k->buffer, 0);
  if (x && y) k->record(g, x, y, &k->numbers);
}

static filtra_status compute(filtra_parameters *params) {
  filtra_graph *g;
  FT_TRY(filtra_graph_create(params->device, &(filtra_graph_options){.slots = 1}, &g));
  for (const ft_kept *k = params->kept; k; k = k->next)
    if (!k->current) record(g, params, k);
  filtra_status status = filtra_graph_compile(g);
  if (!status) status = filtra_graph_execute(g);
  filtra_graph_destroy(&g);
  return status;
}

/* Allocates what is not there; counts tensors that are not current in *count. */
static filtra_status prepare(filtra_parameters *params, size_t *count) {
  for (ft_kept *k = params->kept; k; k = k->next) {
    if (params->trainable) k->current = false;
    *count += !k->current;
    if (!k->buffer.size)
      FT_TRY(ft_buffer_create(params->device, bytes_of(k), FT_MEMORY_DEVICE, &k->buffer));
  }
  return FILTRA_OK;
}

filtra_status ft_kept_refresh(filtra_parameters *params) {
  size_t count = 0;
  if (!params || !params->kept) return FILTRA_OK;
  filtra_status status = prepare(params, &count);
  if (!status && count) status = compute(params);
  if (status) return ft_fail_context(status, "weights in the order that kernels read them");
  for (ft_kept *k = params->kept; k; k = k->next)
    k->current = true;
  return FILTRA_OK;
}

void ft_kept_expire(filtra_parameters *params, const ft_parameter *p) {
  for (ft_kept *k = params->kept; k; k = k->next)
    if (&params->list[k->parameter] == p) k->current = false;
}

uint64_t ft_kept_extent(const filtra_parameters *params) {
  uint64_t sum = 0;
  if (!affordable(params)) return 0; /* known only now, of parameters that were being declared */
  for (const ft_kept *k = params->kept; k; k = k->next)
    sum += ft_buffer_extent(bytes_of(k));
  return sum;
}

void ft_kept_free(filtra_parameters *params) {
  for (ft_kept *k = params->kept, *next; k; k = next) {
    next = k->next;
    ft_buffer_destroy(params->device, &k->buffer);
    free(k);
  }
  params->kept = NULL;
}
