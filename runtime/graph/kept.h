/* Tensors that are computed from one parameter alone and kept on the device: a weight in the order
 * that a kernel reads fastest. Graphs of a fixed parameter set share them. */
#ifndef FT_GRAPH_KEPT_H
#define FT_GRAPH_KEPT_H

#include "graph/parameters.h"

/** A kept tensor. */
struct ft_kept {
  ft_kept *next;
  size_t parameter;
  ft_home home; /* of the parameter's values or its copy */
  ft_keep_fn record;
  ft_keep_numbers numbers;
  int64_t elements;
  uint64_t bytes;
  ft_buffer buffer; /* empty until the first refresh */
  bool current;
};

/** Computes every kept tensor that is not current: new ones, and those whose parameter was set
 * since, or may have been trained. Waits. Compiling and executing a graph that reads kept tensors
 * call it. */
filtra_status ft_kept_refresh(filtra_parameters *params);
/** The parameter has new values. */
void ft_kept_expire(filtra_parameters *params, const ft_parameter *p);
void ft_kept_free(filtra_parameters *params);
/** Bytes on the device, including those that the next refresh allocates; parameters are laid out.
 */
uint64_t ft_kept_extent(const filtra_parameters *params);

#endif
