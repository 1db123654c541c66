#include "reference/gfsa.h"

#include "reference/matmul.h"

#include <stdlib.h>
#include <string.h>

/* Attention applied to the identity gives its matrix, [batches,heads,n,n]. */
static double *matrices(const reference_attention_problem *p, const double *q, const double *k) {
  int64_t n = p->keys, heads = p->batches * p->heads;
  reference_attention_problem whole = *p;
  whole.value_columns = n;
  double *identity = calloc((size_t)(heads * n * n), sizeof *identity);
  double *a = malloc((size_t)(heads * n * n) * sizeof *a);
  if (!identity || !a) abort();
  for (int64_t i = 0; i < heads * n; i++)
    identity[i * n + i % n] = 1;
  reference_attention(&whole, q, k, identity, a);
  free(identity);
  return a;
}

void reference_gfsa(const reference_attention_problem *p, int order, const double *q,
                    const double *k, const double *v, const double *w0, const double *w1,
                    const double *wK, double *y) {
  int64_t n = p->keys, width = p->value_columns;
  double *all = matrices(p, q, k), *filter = malloc((size_t)n * sizeof *filter);
  if (!filter) abort();
  for (int64_t row = 0; row < p->batches * p->heads * n; row++) {
    int64_t head = row / n, h = head % p->heads;
    const double *a = all + head * n * n, *own = all + row * n;
    memset(filter, 0, (size_t)n * sizeof *filter);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        filter[j] += wK[h] * (order - 1) * own[i] * a[i * n + j];
    for (int64_t j = 0; j < n; j++)
      filter[j] += (w1[h] + wK[h] * (2 - order)) * own[j] + (j == row % n ? w0[h] : 0);
    for (int64_t j = 0; j < n && p->filter_dropout > 0; j++)
      filter[j] *= reference_dropout(p->seed, p->step, p->dropout > 0, (uint32_t)(row * n + j),
                                     p->filter_dropout);
    memset(y + row * width, 0, (size_t)width * sizeof *y);
    for (int64_t j = 0; j < n; j++)
      for (int64_t d = 0; d < width; d++)
        y[row * width + d] += filter[j] * v[(head * n + j) * width + d];
  }
  free(filter);
  free(all);
}
