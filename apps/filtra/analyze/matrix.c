/* Forms the matrices that attention mixers apply, and measures row sums, eigenvalues, values and
 * errors of powers. Called by measure.c. */
#include "matrix.h"

#include <math.h>
#include <string.h>

double matrix_bound(size_t order_index) {
  return 2.0 * (double)(order_index + MATRIX_FIRST_ORDER);
}

size_t matrix_scratch(size_t tokens) {
  return 4 * tokens * tokens + 4 * tokens;
}

/* ---- the matrices ---- */

static double dot(const float *x, const float *y, size_t count) {
  double sum = 0.0;
  for (size_t c = 0; c < count; c++)
    sum += (double)x[c] * (double)y[c];
  return sum;
}

static double square_distance(const float *x, const float *y, size_t count) {
  double sum = 0.0;
  for (size_t c = 0; c < count; c++)
    sum += ((double)x[c] - (double)y[c]) * ((double)x[c] - (double)y[c]);
  return sum;
}

void matrix_attention(const matrix_head *h, bool causal, double *a) {
  for (size_t i = 0; i < h->tokens; i++) {
    double *row = a + i * h->tokens, most = -INFINITY, sum = 0.0;
    size_t seen = causal ? i + 1 : h->tokens;
    for (size_t j = 0; j < seen; j++) {
      row[j] =
          dot(h->q + i * h->stride, h->k + j * h->stride, h->columns) / sqrt((double)h->columns);
      most = fmax(most, row[j]);
    }
    for (size_t j = 0; j < seen; j++)
      sum += row[j] = exp(row[j] - most);
    for (size_t j = 0; j < h->tokens; j++)
      row[j] = j < seen ? row[j] / sum : 0.0;
  }
}

static double diagonal_factor(const matrix_rule *r) {
  if (!strcmp(r->diagonal, "zero")) return 0.0;
  return strcmp(r->diagonal, "one") ? pow(r->eps, 0.5 * (r->p - 2.0)) : 1.0;
}

/* Computes W from A. */
static void weigh_distances(const matrix_rule *r, const matrix_head *h, const double *a,
                            double *w) {
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t j = 0; j < h->tokens; j++) {
      double square = square_distance(h->v + i * h->stride, h->v + j * h->stride, h->columns);
      double factor = i == j ? diagonal_factor(r) : pow(square + r->eps, 0.5 * (r->p - 2.0));
      w[i * h->tokens + j] = a[i * h->tokens + j] * factor;
    }
}

/* ---- applying H ---- */

static void multiply(const double *w, size_t tokens, const double *x, double *y) {
  for (size_t i = 0; i < tokens; i++) {
    y[i] = 0.0;
    for (size_t j = 0; j < tokens; j++)
      y[i] += w[i * tokens + j] * x[j];
  }
}

/* y = H x; `room` holds 2 * tokens numbers. */
static void apply(const matrix_rule *r, const double *w, size_t tokens, const double *x, double *y,
                  double *room) {
  double *wx = room, *wwx = room + tokens;
  multiply(w, tokens, x, wx);
  if (r->euler) {
    for (size_t i = 0; i < tokens; i++) {
      double sum = 0.0;
      for (size_t j = 0; j < tokens; j++)
        sum += w[i * tokens + j];
      y[i] = x[i] + wx[i] - sum * x[i];
    }
    return;
  }
  multiply(w, tokens, wx, wwx);
  for (size_t i = 0; i < tokens; i++)
    y[i] = r->w0 * x[i] + r->w1 * wx[i] + r->wK * (wx[i] + (r->order - 1.0) * (wwx[i] - wx[i]));
}

static void measure_rows(const matrix_rule *r, const double *w, size_t tokens, double *room,
                         matrix_measures *out) {
  double *ones = room, *sums = room + tokens;
  for (size_t i = 0; i < tokens; i++)
    ones[i] = 1.0;
  apply(r, w, tokens, ones, sums, room + 2 * tokens);
  out->row_sum = 0.0;
  out->least_row_sum = out->most_row_sum = sums[0];
  for (size_t i = 0; i < tokens; i++) {
    out->row_sum += sums[i] / (double)tokens;
    out->least_row_sum = fmin(out->least_row_sum, sums[i]);
    out->most_row_sum = fmax(out->most_row_sum, sums[i]);
  }
}

/* Power iteration: returns the geometric mean of the norm's growth over the second half, which is
 * the modulus also if the largest eigenvalues are a complex pair. It starts from an arbitrary
 * vector. */
static double largest_eigenvalue(const matrix_rule *r, const double *w, size_t tokens,
                                 double *room) {
  enum { ITERATIONS = 64, COUNTED = ITERATIONS / 2 };
  double *x = room, *y = room + tokens, growth = 0.0;
  for (size_t i = 0; i < tokens; i++)
    x[i] = 1.0 + 0.5 * sin((double)(i + 1) * 12.9898);
  for (int k = 0; k < ITERATIONS; k++) {
    double before = 0.0, after = 0.0;
    apply(r, w, tokens, x, y, room + 2 * tokens);
    for (size_t i = 0; i < tokens; i++) {
      before += x[i] * x[i];
      after += y[i] * y[i];
    }
    if (!(after > 0.0)) return 0.0;
    if (k >= ITERATIONS - COUNTED) growth += 0.5 * log(after / before) / COUNTED;
    for (size_t i = 0; i < tokens; i++)
      x[i] = y[i] / sqrt(after);
  }
  return exp(growth);
}

/* ---- values ---- */

static double value_cosine(const matrix_head *h, const double *w) {
  double sum = 0.0, weights = 0.0;
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t j = 0; j < h->tokens; j++) {
      const float *x = h->v + i * h->stride, *y = h->v + j * h->stride;
      double weight = w[i * h->tokens + j];
      double norms = sqrt(dot(x, x, h->columns) * dot(y, y, h->columns));
      if (i == j || weight == 0.0 || !(norms > 0.0)) continue;
      sum += weight * dot(x, y, h->columns) / norms;
      weights += weight;
    }
  return weights > 0.0 ? sum / weights : (double)NAN;
}

static double homophily(const matrix_head *h) {
  size_t near = 0;
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t j = 0; j < i; j++) {
      double square = 0.0;
      for (size_t k = 0; k < h->columns; k++) {
        const double d = (double)h->v[i * h->stride + k] - (double)h->v[j * h->stride + k];
        square += d * d;
      }
      near += square < 1.0;
    }
  return (double)near / (0.5 * (double)h->tokens * (double)(h->tokens - 1));
}

/* ---- powers ---- */

static void product(const double *a, const double *b, size_t tokens, double *c) {
  memset(c, 0, tokens * tokens * sizeof *c);
  for (size_t i = 0; i < tokens; i++)
    for (size_t k = 0; k < tokens; k++)
      for (size_t j = 0; j < tokens; j++)
        c[i * tokens + j] += a[i * tokens + k] * b[k * tokens + j];
}

static double row_norm_of_error(const double *a, const double *square, const double *power,
                                size_t tokens, double order) {
  double most = 0.0;
  for (size_t i = 0; i < tokens; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < tokens; j++) {
      size_t at = i * tokens + j;
      sum += fabs(power[at] - (a[at] + (order - 1.0) * (square[at] - a[at])));
    }
    most = fmax(most, sum);
  }
  return most;
}

/* `room` holds 3 N^2 numbers. */
static void measure_powers(const double *a, size_t tokens, double *room, double *error) {
  double *square = room, *power = room + tokens * tokens, *next = power + tokens * tokens;
  product(a, a, tokens, square);
  memcpy(power, square, tokens * tokens * sizeof *power);
  for (size_t k = 0; k < MATRIX_ORDERS; k++) {
    error[k] = row_norm_of_error(a, square, power, tokens, (double)(k + MATRIX_FIRST_ORDER));
    product(power, a, tokens, next);
    memcpy(power, next, tokens * tokens * sizeof *power);
  }
}

void matrix_measure(const matrix_rule *rule, const matrix_head *h, double *scratch,
                    matrix_measures *out) {
  size_t square = h->tokens * h->tokens;
  double *a = scratch, *w = scratch + square, *vectors = scratch + 4 * square;
  matrix_attention(h, rule->causal, a);
  for (size_t k = 0; k < MATRIX_ORDERS; k++)
    out->error[k] = (double)NAN;
  if (h->tokens <= MATRIX_MOST_FOR_POWERS) measure_powers(a, h->tokens, w, out->error);
  if (rule->distances)
    weigh_distances(rule, h, a, w);
  else
    memcpy(w, a, square * sizeof *w);
  measure_rows(rule, w, h->tokens, vectors, out);
  out->eigenvalue = largest_eigenvalue(rule, w, h->tokens, vectors);
  out->value_cosine = value_cosine(h, w);
  out->homophily = homophily(h);
}
