#include "reference/attention.h"

#include "reference/matmul.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool admissible(const reference_attention_problem *p, int64_t b, int64_t i, int64_t j) {
  if (p->causal && j > i + p->keys - p->queries) return false;
  return !p->mask || p->mask[b * p->keys + j] > 0;
}

static double bias_at(const reference_attention_problem *p, int64_t head, int64_t i, int64_t j) {
  if (!p->bias) return 0;
  int64_t matrix = p->bias_dims == 4 ? head : p->bias_dims == 3 ? head % p->heads : 0;
  return p->bias[(matrix * p->queries + i) * p->keys + j];
}

/* Computes row i of the weights; false if no key is admissible. */
static bool weigh(const reference_attention_problem *p, int64_t head, int64_t i, const double *q,
                  const double *k, double *weight) {
  double largest = -INFINITY, total = 0;
  for (int64_t j = 0; j < p->keys; j++) {
    double s = 0;
    for (int64_t d = 0; d < p->columns; d++)
      s += q[d] * k[j * p->columns + d];
    weight[j] =
        admissible(p, head / p->heads, i, j) ? s * p->scale + bias_at(p, head, i, j) : -INFINITY;
    largest = fmax(largest, weight[j]);
  }
  if (largest == -INFINITY) return false;
  for (int64_t j = 0; j < p->keys; j++)
    total += weight[j] = exp(weight[j] - largest);
  for (int64_t j = 0; j < p->keys; j++)
    weight[j] /= total;
  return true;
}

/* Rows of random numbers start at whole blocks of four. */
static double factor(const reference_attention_problem *p, int64_t head, int64_t i, int64_t j) {
  if (p->dropout == 0) return 1;
  int64_t row = head * p->queries + i, pitch = (p->keys + 3) / 4 * 4;
  return reference_dropout(p->seed, p->step, 0, (uint32_t)(row * pitch + j), p->dropout);
}

void reference_attention_row(const reference_attention_problem *p, int64_t head, int64_t i,
                             const double *q, const double *k, double *weight) {
  bool seen = weigh(p, head, i, q, k, weight);
  for (int64_t j = 0; j < p->keys; j++)
    weight[j] = seen ? weight[j] * factor(p, head, i, j) : 0;
}

void reference_attention(const reference_attention_problem *p, const double *q, const double *k,
                         const double *v, double *y) {
  double *weight = malloc((size_t)p->keys * sizeof *weight);
  if (!weight) abort();
  for (int64_t head = 0; head < p->batches * p->heads; head++)
    for (int64_t i = 0; i < p->queries; i++) {
      int64_t row = head * p->queries + i;
      double *to = y + row * p->value_columns;
      memset(to, 0, (size_t)p->value_columns * sizeof *to);
      reference_attention_row(p, head, i, q + row * p->columns, k + head * p->keys * p->columns,
                              weight);
      for (int64_t j = 0; j < p->keys; j++)
        for (int64_t d = 0; d < p->value_columns; d++)
          to[d] += weight[j] * v[(head * p->keys + j) * p->value_columns + d];
    }
  free(weight);
}
