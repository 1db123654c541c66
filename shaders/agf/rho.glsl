// The functions that turn projections into singular vectors; numbered as filtra_rho.
const uint rho_softmax = 0, rho_sigmoid = 1, rho_tanh = 2;

float sigmoid(float x) { return 1 / (1 + exp(-x)); }

// The built-in tanh may overflow for large arguments and is inexact for small ones.
float saturating_tanh(float x) {
  const float square = x * x;
  if (square < 0.0025) return x - x * square * (1 / 3.0 - square * (2 / 15.0));
  return 1 - 2 / (exp(2 * x) + 1);
}

float elementwise_rho(uint rho, float x) {
  return rho == rho_sigmoid ? sigmoid(x) : rho == rho_tanh ? saturating_tanh(x) : x;
}

// rho'(x) from y = rho(x).
float elementwise_rho_slope(uint rho, float y) {
  return rho == rho_sigmoid ? y * (1 - y) : rho == rho_tanh ? 1 - y * y : 1;
}
