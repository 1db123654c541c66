/* The kept tensors of a parameter set: when they are computed and freed (graph/keep.c says how).
 * Called by compiling, execution and parameters. */
#include "graph/kept.h"

#include <stdlib.h>

/* Allocates what is not there; counts tensors that are not current in *count. */
static filtra_status prepare(filtra_parameters *params, size_t *count) {
  for (ft_kept *k = params->kept; k; k = k->next) {
    if (params->trainable) k->current = false;
    *count += !k->current;
    if (!k->buffer.size)
      FT_TRY(ft_buffer_create(params->device, k->bytes, FT_MEMORY_DEVICE, &k->buffer));
  }
  return FILTRA_OK;
}

filtra_status ft_kept_refresh(filtra_parameters *params) {
  size_t count = 0;
  filtra_status status = prepare(params, &count);
  if (!status && count) status = params->compute_kept(params);
  if (status) return ft_fail_context(status, "weights in the order that kernels read them");
  for (ft_kept *k = params->kept; k; k = k->next)
    k->current = true;
  return FILTRA_OK;
}

void ft_kept_expire(filtra_parameters *params, const ft_parameter *p) {
  for (ft_kept *k = params->kept; k; k = k->next)
    if (&params->list[k->parameter] == p) k->current = false;
}

void ft_kept_free(filtra_parameters *params) {
  for (ft_kept *k = params->kept, *next; k; k = next) {
    next = k->next;
    ft_buffer_destroy(params->device, &k->buffer);
    free(k);
  }
  params->kept = NULL;
}
