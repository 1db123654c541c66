#include "reference/tokenwise.h"

#include <math.h>
#include <stddef.h>

void reference_embedding(const double *table, const double *tokens, double *y, int64_t vocabulary,
                         int64_t count, int64_t columns) {
  for (int64_t t = 0; t < count; t++)
    for (int64_t c = 0; c < columns; c++) {
      int64_t token = (int64_t)tokens[t];
      bool known = token >= 0 && token < vocabulary;
      y[t * columns + c] = known ? table[token * columns + c] : 0;
    }
}

double reference_sinusoid(int64_t n, int64_t c, int64_t columns) {
  double angle = (double)n / pow(10000, (double)(c - c % 2) / (double)columns);
  return c % 2 ? cos(angle) : sin(angle);
}

void reference_pool_mean(const double *x, const double *mask, double *y, int64_t batch, int64_t n,
                         int64_t columns, bool over_all) {
  for (int64_t b = 0; b < batch; b++)
    for (int64_t c = 0; c < columns; c++) {
      double sum = 0, kept = 0;
      for (int64_t t = 0; t < n; t++) {
        if (mask && !(mask[b * n + t] > 0)) continue;
        sum += x[(b * n + t) * columns + c];
        kept++;
      }
      if (over_all) kept = (double)n;
      y[b * columns + c] = kept > 0 ? sum / kept : 0;
    }
}

void reference_binary_cross_entropy(const double *logits, const double *targets,
                                    const double *weights, double *loss, int64_t rows,
                                    int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    loss[r] = 0;
    for (int64_t k = r * columns; k < (r + 1) * columns; k++)
      loss[r] += weights[k] *
                 (fmax(logits[k], 0) - logits[k] * targets[k] + log1p(exp(-fabs(logits[k])))) /
                 (double)columns;
  }
}

void reference_cross_entropy(const double *logits, const double *labels, double *loss, int64_t rows,
                             int64_t columns, double smoothing) {
  for (int64_t r = 0; r < rows; r++) {
    const double *x = logits + r * columns;
    int64_t label = (int64_t)labels[r];
    double largest = x[0], sum = 0;
    for (int64_t k = 0; k < columns; k++)
      largest = fmax(largest, x[k]);
    for (int64_t k = 0; k < columns; k++)
      sum += exp(x[k] - largest);
    loss[r] = 0;
    if (label < 0 || label >= columns) continue;
    for (int64_t k = 0; k < columns; k++) {
      double target = smoothing / (double)columns + (k == label ? 1 - smoothing : 0);
      loss[r] -= target * (x[k] - largest - log(sum));
    }
  }
}

void reference_accuracy(const double *logits, const double *labels, double *hit, int64_t rows,
                        int64_t columns) {
  for (int64_t r = 0; r < rows; r++) {
    int64_t best = 0;
    for (int64_t k = 1; k < columns; k++)
      if (logits[r * columns + k] > logits[r * columns + best]) best = k;
    hit[r] = (double)best == labels[r];
  }
}

void reference_top_k_accuracy(const double *logits, const double *labels, double *hit, int64_t rows,
                              int64_t columns, int64_t k) {
  for (int64_t r = 0; r < rows; r++) {
    const double *x = logits + r * columns;
    int64_t label = (int64_t)labels[r], before = 0;
    hit[r] = 0;
    if (label < 0 || label >= columns) continue;
    for (int64_t i = 0; i < columns; i++)
      before += x[i] > x[label] || (x[i] == x[label] && i < label);
    hit[r] = before < k;
  }
}

double reference_weighted_mean(const double *x, const double *weights, int64_t count) {
  double sum = 0, weight = 0;
  for (int64_t r = 0; r < count; r++) {
    double w = weights ? weights[r] : 1;
    sum += w * x[r];
    weight += w;
  }
  return weight != 0 ? sum / weight : 0;
}

/* Liu et al. 2020, algorithm 2, line by line; returns the amount subtracted from the value. */
static double radam_update(const reference_adam_settings *s, double step, double m, double v) {
  double m_hat = m / (1 - pow(s->beta1, step));
  double rho_inf = 2 / (1 - s->beta2) - 1;
  double rho = rho_inf - 2 * step * pow(s->beta2, step) / (1 - pow(s->beta2, step));
  if (rho < 5) return s->learning_rate * m_hat;
  double r = sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho));
  double adaptive = sqrt(1 - pow(s->beta2, step)) / (sqrt(v) + s->epsilon);
  return s->learning_rate * r * m_hat * adaptive;
}

static double adam_update(const reference_adam_settings *s, double step, double m, double v) {
  double m_hat = m / (1 - pow(s->beta1, step)), v_hat = v / (1 - pow(s->beta2, step));
  return s->learning_rate * m_hat / (sqrt(v_hat) + s->epsilon);
}

double reference_adam(const reference_adam_settings *s, int64_t step, int64_t count,
                      int64_t decayed, double *values, const double *gradients, double *first,
                      double *second) {
  double squares = 0;
  for (int64_t i = 0; i < count; i++)
    squares += gradients[i] * gradients[i];
  double norm = sqrt(squares);
  double clip = s->clip_norm > 0 && norm > s->clip_norm ? s->clip_norm / norm : 1;
  for (int64_t i = 0; i < count; i++) {
    double decay = i < decayed ? s->weight_decay : 0, old = values[i];
    double g = clip * gradients[i] + (s->kind == REFERENCE_ADAM ? decay * old : 0);
    first[i] = s->beta1 * first[i] + (1 - s->beta1) * g;
    second[i] = s->beta2 * second[i] + (1 - s->beta2) * g * g;
    values[i] -= s->kind == REFERENCE_RADAM ? radam_update(s, (double)step, first[i], second[i])
                                            : adam_update(s, (double)step, first[i], second[i]);
    if (s->kind != REFERENCE_ADAM) values[i] -= s->learning_rate * decay * old;
  }
  return norm;
}
