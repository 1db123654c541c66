/* Pseudoinverses of small matrices, for nn/mixer/nystrom.c. */
#ifndef FT_OPS_PSEUDOINVERSE_H
#define FT_OPS_PSEUDOINVERSE_H

#include "ops/support.h"

/** Whether the device has workgroups of 256 invocations and shared memory for two matrices. */
bool ft_pseudoinverse_runs(const filtra_device *dev);
/** Whether it is faster than products of `a`: on a GPU that runs it, for F32 matrices that fit. */
bool ft_pseudoinverse_pays(const filtra_graph *g, const filtra_tensor *a);

/** Iterations of Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4 (Razavi et al. 2014; equation 11 of
 * Xiong et al. 2021) for each matrix A of a [.., m, m], dense F32, m at most 64, starting from A^T
 * over the largest sum of a column of A. The pseudoinverse is (13/4)^iterations times the result,
 * which has the shape of `a`. One call, and one for the gradient; O(iterations m^3) each. For
 * devices that run it. */
filtra_tensor *ft_pseudoinverse(filtra_graph *g, filtra_tensor *a, int64_t iterations);

#endif
