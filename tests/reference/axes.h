/* Float64 references of ops along axes, one element at a time. Tensors are dense [outer, n, inner],
 * n the length of the axis; results that lose it are [outer, inner]. */
#ifndef TEST_REFERENCE_AXES_H
#define TEST_REFERENCE_AXES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct reference_axis {
  int64_t outer, n, inner;
} reference_axis;
reference_axis reference_axis_of(int ndim, const int64_t *shape, int axis);

void reference_sum(const double *x, double *y, reference_axis axis);
void reference_max(const double *x, double *y, reference_axis axis);
void reference_softmax(const double *x, double *y, reference_axis axis);
void reference_cumulative_sum(const double *x, double *y, reference_axis axis, bool reverse);
/** y [outer, count, inner]; indices outside of [0,n) give zeros. */
void reference_gather(const double *x, const double *indices, double *y, reference_axis axis,
                      int64_t count);

#endif
