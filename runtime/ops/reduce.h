/* Axes of dense tensors, and sums along them. */
#ifndef FT_OPS_REDUCE_H
#define FT_OPS_REDUCE_H

#include "ops/support.h"

/** A dense tensor as [outer, n, inner], n the length of an axis. */
typedef struct ft_axis {
  int64_t outer, n, inner;
} ft_axis;
ft_axis ft_axis_of(const filtra_tensor *x, int axis);
/** Number of parts, of up to 64 elements, into which the next step cuts the axis; 1: the last step.
 */
int64_t ft_axis_parts(ft_axis axis);
/** As ft_usable_dense for x, which must have that axis; `empty`: the axis may be empty. */
bool ft_usable_axis(filtra_graph *g, const filtra_tensor *x, int axis, bool empty, const char *op);

/** y [outer, inner] = scale * sum of x, or of x * z if z is not NULL, along the axis, plus offset;
 * y += that if `accumulate`. All dense. */
void ft_emit_axis_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                      const filtra_tensor *z, ft_axis axis, float scale, float offset,
                      const filtra_tensor *y, bool accumulate);

#endif
