/* Axes of dense tensors, and sums along them. */
#ifndef FT_OPS_REDUCE_H
#define FT_OPS_REDUCE_H

#include "ops/support.h"

/** A dense tensor as [outer, n, inner], n the length of an axis. */
typedef struct ft_axis {
  int64_t outer, n, inner;
} ft_axis;
ft_axis ft_axis_of(const filtra_tensor *x, int axis);
/** Into how many parts of up to 64 elements the axis is cut for the next step; 1: for the last. */
int64_t ft_axis_parts(ft_axis axis);
/** As ft_usable_dense for x, and it has that axis, which may be empty only if `empty` says so. */
bool ft_usable_axis(filtra_graph *g, const filtra_tensor *x, int axis, bool empty, const char *op);

/** y [outer, inner] = scale * sum of x along the axis, or of x * z, or y += it. All dense. */
void ft_emit_axis_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                      const filtra_tensor *z, ft_axis axis, float scale, const filtra_tensor *y,
                      bool accumulate);

#endif
