#include "reference/axes.h"

#include <math.h>

reference_axis reference_axis_of(int ndim, const int64_t *shape, int axis) {
  reference_axis a = {1, shape[axis], 1};
  for (int i = 0; i < ndim; i++) {
    if (i < axis) a.outer *= shape[i];
    if (i > axis) a.inner *= shape[i];
  }
  return a;
}

static int64_t at(reference_axis a, int64_t o, int64_t i, int64_t k) {
  return (o * a.n + i) * a.inner + k;
}

void reference_sum(const double *x, double *y, reference_axis a) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t k = 0; k < a.inner; k++) {
      double sum = 0;
      for (int64_t i = 0; i < a.n; i++)
        sum += x[at(a, o, i, k)];
      y[o * a.inner + k] = sum;
    }
}

void reference_max(const double *x, double *y, reference_axis a) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t k = 0; k < a.inner; k++) {
      double largest = x[at(a, o, 0, k)];
      for (int64_t i = 1; i < a.n; i++)
        largest = fmax(largest, x[at(a, o, i, k)]);
      y[o * a.inner + k] = largest;
    }
}

void reference_softmax(const double *x, double *y, reference_axis a) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t k = 0; k < a.inner; k++) {
      double largest = -HUGE_VAL, sum = 0;
      for (int64_t i = 0; i < a.n; i++)
        largest = fmax(largest, x[at(a, o, i, k)]);
      for (int64_t i = 0; i < a.n; i++)
        sum += exp(x[at(a, o, i, k)] - largest);
      for (int64_t i = 0; i < a.n; i++)
        y[at(a, o, i, k)] = exp(x[at(a, o, i, k)] - largest) / sum;
    }
}

void reference_cumulative_sum(const double *x, double *y, reference_axis a, bool reverse) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t k = 0; k < a.inner; k++) {
      double sum = 0;
      for (int64_t i = 0; i < a.n; i++) {
        int64_t place = at(a, o, reverse ? a.n - 1 - i : i, k);
        y[place] = sum += x[place];
      }
    }
}

void reference_gather(const double *x, const double *indices, double *y, reference_axis a,
                      int64_t count) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t i = 0; i < count; i++)
      for (int64_t k = 0; k < a.inner; k++) {
        double from = indices[i];
        bool known = from >= 0 && from < (double)a.n;
        y[(o * count + i) * a.inner + k] = known ? x[at(a, o, (int64_t)from, k)] : 0;
      }
}
