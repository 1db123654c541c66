/* Tensors that are computed from one parameter alone and kept on the device: a weight in the order
 * that a kernel reads fastest. Graphs of a fixed parameter set share them. */
#ifndef FT_GRAPH_KEPT_H
#define FT_GRAPH_KEPT_H

#include "graph/parameters.h"

/** Computes every kept tensor that is not current: new ones, and those whose parameter was set
 * since, or may have been trained. Waits. Compiling and each execution call it. */
filtra_status ft_kept_refresh(filtra_parameters *params);
/** The parameter has new values. */
void ft_kept_expire(filtra_parameters *params, const ft_parameter *p);
/** Bytes on the device, including those that the next refresh allocates; parameters are laid out.
 */
uint64_t ft_kept_extent(const filtra_parameters *params);
void ft_kept_free(filtra_parameters *params);

#endif
