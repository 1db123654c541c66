/* Parts of the attentive graph filter (filtra_agf), each an op with its gradient. Arguments have
 * been checked. [B,N,H,D] means a [B,H,N,D] tensor in token-major order. */
#ifndef FT_OPS_AGF_H
#define FT_OPS_AGF_H

#include "ops/support.h"

#include <filtra/ops.h>

/** Fails, with the reason, if the basis has no three-term recurrence up to `order`. */
bool ft_agf_check_basis(filtra_graph *g, const filtra_agf_options *options, int64_t order);

/** g(x) = sum_k theta_k P_k(x), k = 0 .. order, computed on the host; x is the basis's argument. */
double ft_agf_response(filtra_basis basis, double a, double b, const float *theta, int order,
                       double x);

/** W = U * g(sigmoid(s)) with U = rho(u) -> [B,N,H,D] of u's type (ops/agf_filter.c). `raw` NULL: W
 * = U, and s is not read. *factor, unless `factor` is NULL, receives U, with zeros at padding
 * unless options->ortho_padding is set. */
filtra_tensor *ft_agf_filter(filtra_graph *g, filtra_tensor *u, filtra_tensor *s,
                             filtra_tensor *raw, const filtra_agf_options *options,
                             filtra_tensor **factor);

/** V = rho(v) over the tokens of each feature, zero at padding -> [B,N,H,D] of v's type
 * (ops/agf_columns.c). A 16-bit softmax is not normalised: V holds exponentials, in (0,1] for any
 * N, and *scale receives 1 / their sums, F32 [B,H,D,1]; multiply sums over tokens by it. *scale has
 * no gradient; V's rule accounts for it. In other cases *scale becomes NULL. */
filtra_tensor *ft_agf_columns(filtra_graph *g, filtra_tensor *v, filtra_tensor *mask,
                              filtra_rho rho, filtra_tensor **scale);

#endif
