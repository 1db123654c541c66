/* Pieces of the attentive graph filter, each an op with its gradient; see filtra_agf. Arguments
 * have been checked. [B,N,H,D] stands for a [B,H,N,D] tensor stored token by token. */
#ifndef FT_OPS_AGF_H
#define FT_OPS_AGF_H

#include "ops/support.h"

#include <filtra/ops.h>

/** Fails, saying why, where the basis' three-term recurrence does not exist up to `order`. */
bool ft_agf_check_basis(filtra_graph *g, const filtra_agf_options *options, int64_t order);

/** g(x) = sum_k theta_k P_k(x), k = 0 .. order, on the host; x as the basis takes it. */
double ft_agf_response(filtra_basis basis, double a, double b, const float *theta, int order,
                       double x);

/** W = U * g(sigmoid(s)), U = rho(u) -> [B,N,H,D] of u's type (ops/agf_filter.c). `raw` NULL: W =
 * U, s is not read. *factor, unless the pointer is NULL, receives U, with zeros at padding unless
 * options->ortho_padding. */
filtra_tensor *ft_agf_filter(filtra_graph *g, filtra_tensor *u, filtra_tensor *s,
                             filtra_tensor *raw, const filtra_agf_options *options,
                             filtra_tensor **factor);

/** V = rho(v) over the tokens of each feature, padding zero -> [B,N,H,D] of v's type
 * (ops/agf_columns.c). A softmax of 16 bits stays exponentials, in (0,1] whatever N is, and *scale
 * receives one over their sums, F32 [B,H,D,1]: what is summed over tokens is to be multiplied by
 * it. Nobody takes a gradient of it; V's rule knows what it is. Otherwise *scale becomes NULL. */
filtra_tensor *ft_agf_columns(filtra_graph *g, filtra_tensor *v, filtra_tensor *mask,
                              filtra_rho rho, filtra_tensor **scale);

#endif
