/* Forms the matrices that attention mixers apply, and measures row sums, eigenvalues, values and
 * errors of powers. Called by measure.c. */
#include "matrix.h"

#include <math.h>
#include <string.h>

double matrix_bound(size_t order_index) {
  return 2.0 * (double)(order_index + MATRIX_FIRST_ORDER);
}

size_t matrix_scratch(size_t tokens, size_t columns) {
  return 4 * tokens * tokens + 4 * tokens + 2 * tokens * columns + 3 * columns * columns + columns;
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

/* Power iteration from an arbitrary vector: returns the geometric mean of the norm's growth over
 * the second half, which is the modulus even if the largest eigenvalues are a complex pair. */
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
      const float *x = h->v + i * h->stride, *y = h->v + j * h->stride;
      near += square_distance(x, y, h->columns) < 1.0;
    }
  return (double)near / (0.5 * (double)h->tokens * (double)(h->tokens - 1));
}

/* The functional that Nguyen et al. 2023 minimise: for symmetric A, its gradient at v_x is the sum
 * over y of A_xy |v_x - v_y|^(p-2) (v_x - v_y). */
static double energy(const matrix_rule *r, const matrix_head *h, const double *a) {
  const double p = r->distances ? r->p : 2.0;
  double sum = 0.0;
  for (size_t i = 0; i < h->tokens; i++)
    for (size_t j = 0; j < h->tokens; j++) {
      const float *x = h->v + i * h->stride, *y = h->v + j * h->stride;
      const double square = square_distance(x, y, h->columns);
      sum += square > 0.0 ? a[i * h->tokens + j] * pow(square, 0.5 * p) / (2.0 * p) : 0.0;
    }
  return sum;
}

/* ---- powers ---- */

/* Adds |LC[x]|^2 and |HC[x]|^2 of x [tokens]. */
static void add_parts(const double *x, size_t tokens, double *low, double *high) {
  double mean = 0.0;
  for (size_t i = 0; i < tokens; i++)
    mean += x[i] / (double)tokens;
  *low += (double)tokens * mean * mean;
  for (size_t i = 0; i < tokens; i++)
    *high += (x[i] - mean) * (x[i] - mean);
}

/* Parts below the rounding of the other count as 1e-12 of it. `room` holds 4 * tokens numbers. */
static void measure_parts(const matrix_rule *r, const matrix_head *h, const double *w, double *room,
                          double *high_over_low) {
  double low[MATRIX_EXPONENTS] = {0}, high[MATRIX_EXPONENTS] = {0};
  for (size_t c = 0; c < h->columns; c++) {
    double *x = room, *y = room + h->tokens;
    for (size_t i = 0; i < h->tokens; i++)
      x[i] = (double)h->v[i * h->stride + c];
    for (size_t t = 0; t < MATRIX_EXPONENTS; t++) {
      add_parts(x, h->tokens, &low[t], &high[t]);
      apply(r, w, h->tokens, x, y, room + 2 * h->tokens);
      memcpy(x, y, h->tokens * sizeof *x);
    }
  }
  for (size_t t = 0; t < MATRIX_EXPONENTS; t++) {
    const double least = 1e-24 * (low[t] + high[t]);
    high_over_low[t] =
        least > 0.0 ? 0.5 * log10(fmax(high[t], least) / fmax(low[t], least)) : (double)NAN;
  }
}

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

/* Forms W of attention in `w`, whose 3 N^2 numbers first serve as scratch for powers of A. */
static void measure_attention(const matrix_rule *rule, const matrix_head *h, double *a, double *w,
                              matrix_measures *out) {
  matrix_attention(h, rule->causal, a);
  if (h->tokens <= MATRIX_MOST_FOR_POWERS) measure_powers(a, h->tokens, w, out->error);
  if (rule->distances)
    weigh_distances(rule, h, a, w);
  else
    memcpy(w, a, h->tokens * h->tokens * sizeof *w);
  out->energy = energy(rule, h, a);
}

/* Forms AGF's matrix in `w`. `room` is the scratch that matrix_scratch counts besides square
 * matrices. */
static void measure_factors(const matrix_rule *rule, const matrix_head *h, double *w, double *room,
                            matrix_measures *out) {
  double *left = room, *right = left + h->tokens * h->columns;
  double *square = right + h->tokens * h->columns, *values = square + 3 * h->columns * h->columns;
  factors_form(rule, h, left, right);
  factors_multiply(left, right, h->tokens, h->columns, w);
  factors_singular(left, right, h->tokens, h->columns, square, values);
  out->singular = values;
}

void matrix_measure(const matrix_rule *rule, const matrix_head *h, double *scratch,
                    matrix_measures *out) {
  size_t square = h->tokens * h->tokens;
  double *w = scratch + square, *vectors = scratch + 4 * square;
  *out = (matrix_measures){.energy = (double)NAN};
  for (size_t k = 0; k < MATRIX_ORDERS; k++)
    out->error[k] = (double)NAN;
  for (size_t t = 0; t < MATRIX_EXPONENTS; t++)
    out->high_over_low[t] = (double)NAN;
  if (rule->factored)
    measure_factors(rule, h, w, vectors + 4 * h->tokens, out);
  else
    measure_attention(rule, h, scratch, w, out);
  measure_rows(rule, w, h->tokens, vectors, out);
  out->eigenvalue = largest_eigenvalue(rule, w, h->tokens, vectors);
  if (h->tokens <= MATRIX_MOST_FOR_POWERS) measure_parts(rule, h, w, vectors, out->high_over_low);
  out->value_cosine = value_cosine(h, w);
  out->homophily = homophily(h);
}
