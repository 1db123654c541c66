/* Keeping what depends on a parameter alone: graphs of a fixed set compute it when the first of
 * them is compiled, not in every execution, and again after the parameter was set. Called by op
 * files. */
#include "graph/kept.h"

#include "graph/tape.h"

#include <string.h>

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

uint64_t ft_kept_extent(const filtra_parameters *params) {
  uint64_t sum = 0;
  if (!affordable(params)) return 0; /* known only now, of parameters that were being declared */
  for (const ft_kept *k = params->kept; k; k = k->next)
    sum += ft_buffer_extent(k->bytes);
  return sum;
}

/* ---- computing ---- */

static void record_one(filtra_graph *g, const filtra_parameters *params, const ft_kept *k) {
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
    if (!k->current) record_one(g, params, k);
  filtra_status status = filtra_graph_compile(g);
  if (!status) status = filtra_graph_execute(g);
  filtra_graph_destroy(&g);
  return status;
}

/* ---- recording ---- */

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
  like.bytes = ft_dtype_extent(FILTRA_F32, like.elements);
  filtra_parameters *params = g->tape.params;
  params->compute_kept = compute;
  g->tape.keeps = true;
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
