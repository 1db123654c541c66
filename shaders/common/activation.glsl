// Activations, numbered as filtra_activation, and their derivatives. What is not a number stays
// not a number: max(x, 0) and the like would hide it.
#include "common/sine.glsl"

const uint ACTIVATION_NONE = 0, ACTIVATION_RELU = 1, ACTIVATION_GELU = 2, ACTIVATION_SIN = 3,
           ACTIVATION_TANH = 4, ACTIVATION_SOFTPLUS = 5, ACTIVATION_SOFTPLUS5 = 6,
           ACTIVATION_LEAKY_RELU = 7, ACTIVATION_SIGMOID = 8, ACTIVATION_EXP = 9,
           ACTIVATION_LOG = 10, ACTIVATION_SQRT = 11, ACTIVATION_RECIPROCAL = 12,
           ACTIVATION_ELU = 13, ACTIVATION_GELU_TANH = 14;

// 0 for negative numbers, infinity included, by their bits.
float relu(float x) { return floatBitsToUint(x) - 0x80000000u <= 0x7f800000u ? 0.0 : x; }

// Standard normal distribution function and density at x. With t = |x|, Phi(-t) is exp(-t^2/2)
// times a smooth function of t: a minimax polynomial in y = 1/(1 + 0.35 t), relative error 4e-8 up
// to t = 14, where exp(-t^2/2) leaves the range of floats. No branch, and accurate in both tails.
vec2 normal_distribution(float x) {
  float t = abs(x), y = 1.0 / (1.0 + 0.35 * t), decay = exp(-0.5 * t * t);
  float tail = -0.0291459749;
  tail = tail * y + 0.143971897;
  tail = tail * y - 0.255714629;
  tail = tail * y + 0.159174544;
  tail = tail * y - 0.0231100688;
  tail = tail * y + 0.10550809;
  tail = tail * y + 0.119832849;
  tail = tail * y + 0.139861872;
  tail = (tail * y + 0.139621404) * y * decay;
  return vec2(x < 0.0 ? tail : 1.0 - tail, 0.398942280 * decay);
}

float sigmoid(float x) { return 1.0 / (1.0 + exp(-x)); }

// tanh(x) in relative accuracy, for all x: Vulkan derives its own from sinh and cosh, which
// overflow. Up to 0.625 by a minimax polynomial in x^2, relative error 5e-9.
float hyperbolic_tangent(float x) {
  float s = x * x, tail = -0.00570498686;
  tail = tail * s + 0.020639088;
  tail = tail * s - 0.0537397154;
  tail = tail * s + 0.133314416;
  tail = tail * s - 0.333332807;
  float t = exp(-2.0 * abs(x)), far = (1.0 - t) / (1.0 + t);
  return abs(x) < 0.625 ? x + x * s * tail : x < 0.0 ? -far : far;
}

// log(1 + e^x) = max(x, 0) + log(1 + d), d = e^-|x|; the logarithm as 2 artanh(d / (2 + d)), by a
// minimax polynomial with relative error 5e-9.
float softplus(float x) {
  float d = exp(-abs(x)), u = d / (2.0 + d), v = u * u, tail = 0.140063331;
  tail = tail * v + 0.14000839;
  tail = tail * v + 0.200107664;
  tail = tail * v + 0.333332092;
  return relu(x) + 2.0 * (u + u * v * tail);
}

// e^x - 1 without cancellation near 0.
float exponential_minus_one(float x) {
  float t = hyperbolic_tangent(0.5 * x);
  return 2.0 * t / (1.0 - t);
}

// 2 u of GELU_TANH(x) = x/2 (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3).
float gelu_tanh_argument(float x) { return 1.59576912 * (x + 0.044715 * x * x * x); }

// Where |x| > 12 its factor is 0, and x^2 could be infinite.
float gelu_tanh_derivative(float x) {
  float u = gelu_tanh_argument(x), t = exp(-abs(u)), q = 1.0 + t, c = min(max(x, -12.0), 12.0);
  return sigmoid(u) + c * (t / (q * q)) * 1.59576912 * (1.0 + 0.134145 * c * c);
}

// GELU(x) = x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (Hendrycks & Gimpel 2016).
float activate(uint activation, float x) {
  if (activation == ACTIVATION_RELU) return relu(x);
  if (activation == ACTIVATION_GELU) return x * normal_distribution(x).x;
  if (activation == ACTIVATION_SIN) return sine(x);
  if (activation == ACTIVATION_TANH) return hyperbolic_tangent(x);
  if (activation == ACTIVATION_SOFTPLUS) return softplus(x);
  if (activation == ACTIVATION_SOFTPLUS5) return x > 5.0 ? x : softplus(x);
  if (activation == ACTIVATION_LEAKY_RELU) return x > 0.0 ? x : 0.01 * x;
  if (activation == ACTIVATION_SIGMOID) return sigmoid(x);
  if (activation == ACTIVATION_EXP) return exp(x);
  if (activation == ACTIVATION_LOG) return log(x);
  if (activation == ACTIVATION_SQRT) return sqrt(x);
  if (activation == ACTIVATION_RECIPROCAL) return 1.0 / x;
  if (activation == ACTIVATION_ELU) return x > 0.0 ? x : exponential_minus_one(x);
  if (activation == ACTIVATION_GELU_TANH) return x * sigmoid(gelu_tanh_argument(x));
  return x;
}

float activate_derivative(uint activation, float x) {
  if (activation == ACTIVATION_RELU) return x > 0.0 ? 1.0 : 0.0;
  if (activation == ACTIVATION_GELU) {
    vec2 normal = normal_distribution(x);
    return normal.x + x * normal.y;
  }
  if (activation == ACTIVATION_SIN) return cosine(x);
  if (activation == ACTIVATION_TANH) {
    float t = exp(-2.0 * abs(x)), q = 1.0 + t;
    return 4.0 * t / (q * q);
  }
  if (activation == ACTIVATION_SOFTPLUS) return sigmoid(x);
  if (activation == ACTIVATION_SOFTPLUS5) return x > 5.0 ? 1.0 : sigmoid(x);
  if (activation == ACTIVATION_LEAKY_RELU) return x > 0.0 ? 1.0 : 0.01;
  if (activation == ACTIVATION_SIGMOID) {
    float t = exp(-abs(x)), q = 1.0 + t;
    return t / (q * q);
  }
  if (activation == ACTIVATION_EXP) return exp(x);
  if (activation == ACTIVATION_LOG) return 1.0 / x;
  if (activation == ACTIVATION_SQRT) return 0.5 / sqrt(x);
  if (activation == ACTIVATION_RECIPROCAL) {
    float y = 1.0 / x;
    return -y * y;
  }
  if (activation == ACTIVATION_ELU) return x > 0.0 ? 1.0 : exp(x);
  if (activation == ACTIVATION_GELU_TANH) return gelu_tanh_derivative(x);
  return 1.0;
}
