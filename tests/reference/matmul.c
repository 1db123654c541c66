#include "reference/matmul.h"

#include "base/rng.h"

#include <math.h>

void reference_matmul(reference_matrix a, reference_matrix b, reference_matrix c, int64_t outer,
                      int64_t inner, int64_t m, int64_t n, int64_t k, double scale) {
  for (int64_t cell = 0; cell < outer * inner * m * n; cell++) {
    int64_t x = cell % n, y = cell / n % m, i = cell / n / m % inner, o = cell / n / m / inner;
    const double *row = a.data + o * a.outer + i * a.inner + y * a.row;
    const double *column = b.data + o * b.outer + i * b.inner + x * b.column;
    double sum = 0;
    for (int64_t j = 0; j < k; j++)
      sum += row[j * a.column] * column[j * b.row];
    c.data[o * c.outer + i * c.inner + y * c.row + x * c.column] = scale * sum;
  }
}

/* u of GELU_TANH(x) = x/2 (1 + tanh u), and its derivative. */
static double gelu_argument(double x) {
  return sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}
static double gelu_argument_derivative(double x) {
  return sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

double reference_activation(filtra_activation activation, double x) {
  switch (activation) {
  case FILTRA_ACTIVATION_RELU:
    return x > 0 ? x : 0;
  case FILTRA_ACTIVATION_GELU:
    return 0.5 * x * erfc(-x * M_SQRT1_2);
  case FILTRA_ACTIVATION_SIN:
    return sin(x);
  case FILTRA_ACTIVATION_TANH:
    return tanh(x);
  case FILTRA_ACTIVATION_SOFTPLUS:
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
  case FILTRA_ACTIVATION_SOFTPLUS5:
    return x > 5 ? x : log1p(exp(x));
  case FILTRA_ACTIVATION_LEAKY_RELU:
    return x > 0 ? x : 0.01 * x;
  case FILTRA_ACTIVATION_SIGMOID:
    return 1 / (1 + exp(-x));
  case FILTRA_ACTIVATION_EXP:
    return exp(x);
  case FILTRA_ACTIVATION_LOG:
    return log(x);
  case FILTRA_ACTIVATION_SQRT:
    return sqrt(x);
  case FILTRA_ACTIVATION_RECIPROCAL:
    return 1 / x;
  case FILTRA_ACTIVATION_ELU:
    return x > 0 ? x : expm1(x);
  case FILTRA_ACTIVATION_GELU_TANH:
    return x / (1 + exp(-2 * gelu_argument(x)));
  default:
    return x;
  }
}

double reference_activation_derivative(filtra_activation activation, double x) {
  switch (activation) {
  case FILTRA_ACTIVATION_RELU:
    return x > 0;
  case FILTRA_ACTIVATION_GELU:
    return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
  case FILTRA_ACTIVATION_SIN:
    return cos(x);
  case FILTRA_ACTIVATION_TANH:
    return 1 / (cosh(x) * cosh(x));
  case FILTRA_ACTIVATION_SOFTPLUS:
    return 1 / (1 + exp(-x));
  case FILTRA_ACTIVATION_SOFTPLUS5:
    return x > 5 ? 1 : 1 / (1 + exp(-x));
  case FILTRA_ACTIVATION_LEAKY_RELU:
    return x > 0 ? 1 : 0.01;
  case FILTRA_ACTIVATION_SIGMOID:
    return exp(-x) / ((1 + exp(-x)) * (1 + exp(-x)));
  case FILTRA_ACTIVATION_EXP:
    return exp(x);
  case FILTRA_ACTIVATION_LOG:
    return 1 / x;
  case FILTRA_ACTIVATION_SQRT:
    return 0.5 / sqrt(x);
  case FILTRA_ACTIVATION_RECIPROCAL:
    return -1 / (x * x);
  case FILTRA_ACTIVATION_ELU:
    return x > 0 ? 1 : exp(x);
  case FILTRA_ACTIVATION_GELU_TANH: {
    double s = 1 / (1 + exp(-2 * gelu_argument(x)));
    return s + 2 * x * s * (1 - s) * gelu_argument_derivative(x);
  }
  default:
    return 1;
  }
}

double reference_dropout(uint64_t seed, uint64_t step, uint32_t op_id, uint32_t index, float rate) {
  uint32_t words[4];
  ft_philox((uint32_t[]){index / 4, op_id, (uint32_t)step, (uint32_t)(step >> 32)},
            (uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, words);
  bool kept = (float)(words[index % 4] >> 8) * 0x1p-24f >= rate;
  return kept ? 1 / (1 - (double)rate) : 0;
}

void reference_linear(const double *x, const double *w, const double *b, double *y, int64_t rows,
                      int64_t in, int64_t out, filtra_activation activation) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t o = 0; o < out; o++) {
      double sum = b ? b[o] : 0;
      for (int64_t i = 0; i < in; i++)
        sum += x[r * in + i] * w[o * in + i];
      y[r * out + o] = reference_activation(activation, sum);
    }
}
