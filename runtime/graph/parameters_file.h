/* Parameters, and flat buffers of the same layout, in safetensors files. */
#ifndef FT_GRAPH_PARAMETERS_FILE_H
#define FT_GRAPH_PARAMETERS_FILE_H

#include "base/safetensors.h"
#include "graph/parameters.h"

/** Allocates a list for `groups` flat buffers of the parameters' layout. */
typedef struct ft_weight_list {
  ft_safetensor *tensors;
  struct ft_weight_source *sources;
  size_t count;
} ft_weight_list;
filtra_status ft_weight_list_open(const filtra_parameters *params, size_t groups,
                                  ft_weight_list *list);
/** Adds prefix + name for every parameter, or every trained one; data is read from `flat` while the
 * file is written, which fails with NONFINITE if a value is not finite. */
filtra_status ft_weight_list_add(const filtra_parameters *params, const ft_buffer *flat,
                                 const char *prefix, bool trained, ft_weight_list *list);
void ft_weight_list_close(ft_weight_list *list);

/** Checks that the file has prefix + name for every parameter, or every trained one, with its shape
 * and finite values, and nothing else of that prefix. The parameters need only be declared. */
filtra_status ft_weights_check(const filtra_parameters *params, const ft_safetensors *file,
                               const char *path, const char *prefix, bool trained);
/** After the check: copies the tensors into a flat buffer of trained parameters or, if it is NULL,
 * into the parameters and their copies. */
filtra_status ft_weights_upload(filtra_parameters *params, const ft_safetensors *file,
                                const char *prefix, const ft_buffer *flat);

/** filtra_parameters_save with metadata; if `path` is NULL, to memory that the caller frees. */
filtra_status ft_parameters_write(filtra_parameters *params, const char *within, const char *path,
                                  const ft_safetensors_meta_pair *meta, size_t count, void **bytes,
                                  size_t *size);

#endif
