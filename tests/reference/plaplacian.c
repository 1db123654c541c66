#include "reference/plaplacian.h"

#include <math.h>
#include <stdlib.h>

static double norm_weight(const reference_norms *n, int64_t head, const double *a, const double *b,
                          int64_t columns) {
  double squares = 0;
  for (int64_t d = 0; d < columns; d++)
    squares += (a[d] - b[d]) * (a[d] - b[d]);
  if (a == b && n->diagonal == FILTRA_DIAGONAL_ZERO) return 0;
  if (a == b && n->diagonal == FILTRA_DIAGONAL_ONE) return 1;
  return pow(squares + n->eps, ((double)n->p[head] - 2) / 2);
}

void reference_plaplacian(const reference_attention_problem *p, const reference_norms *norms,
                          const double *q, const double *k, const double *v, double *y) {
  int64_t columns = p->value_columns;
  double *weight = malloc((size_t)p->keys * sizeof *weight);
  if (!weight) abort();
  for (int64_t head = 0; head < p->batches * p->heads; head++)
    for (int64_t i = 0; i < p->queries; i++) {
      int64_t row = head * p->queries + i;
      const double *values = v + head * p->keys * columns;
      const double *own = values + (i + p->keys - p->queries) * columns;
      double *to = y + row * columns;
      for (int64_t d = 0; d < columns; d++)
        to[d] = norms->euler ? own[d] : 0;
      reference_attention_row(p, head, i, q + row * p->columns, k + head * p->keys * p->columns,
                              weight);
      for (int64_t j = 0; j < p->keys; j++) {
        const double *other = values + j * columns;
        double w = weight[j] * norm_weight(norms, head % p->heads, own, other, columns);
        for (int64_t d = 0; d < columns; d++)
          to[d] += w * (other[d] - (norms->euler ? own[d] : 0));
      }
    }
  free(weight);
}
