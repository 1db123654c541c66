// Sine and cosine to 2e-7. Vulkan's own sin and cos only promise 2^-11, and that on [-pi, pi].

// sin(r) for |r| <= pi/2: minimax polynomial in r^2, relative error 1.1e-8. Beyond, where the
// reduction has failed, 0, so that no result leaves [-1, 1].
float sine_polynomial(float r) {
  float s = r * r, tail = 2.60501952e-06;
  tail = tail * s - 0.000198098933;
  tail = tail * s + 0.00833308324;
  tail = tail * s - 0.166666612;
  return abs(r) > 1.6 ? 0.0 : r + r * s * tail;
}

// -1 to the power k, for whole k of any size.
float alternating_sign(float k) { return 1.0 - 2.0 * (k - 2.0 * floor(0.5 * k)); }

// x; |x| is less than 1e6 where sines are accurate, but compilers do not know. Without this they
// merge x - k a - k b into x - k (a + b), which rounds otherwise. What is `precise` they leave, but
// glslc loses that when it unrolls a loop around it.
float as_it_is(float x) { return min(max(x, -1e6), 1e6); }

// x - k pi in three steps (Cody & Waite 1980): the first two products are exact for |k| < 4096
// (half integers too), so nothing is lost where x is close to k pi.
float subtract_half_turns(float x, float k) {
  float r = as_it_is(x - k * 3.140625);
  r = as_it_is(r - k * 0.00096750259399414062);
  return r - k * 1.50995803e-07;
}

const float ONE_OVER_PI = 0.318309886;

// Absolute error 2e-7 up to |x| = 1e4, 1e-6 up to 1e5, growing from there.
float sine(float x) {
  float k = floor(x * ONE_OVER_PI + 0.5);
  return alternating_sign(k) * sine_polynomial(subtract_half_turns(x, k));
}

// cos(x) = -(-1)^k sin(x - (k + 1/2) pi)
float cosine(float x) {
  float k = floor(x * ONE_OVER_PI);
  return -alternating_sign(k) * sine_polynomial(subtract_half_turns(x, k + 0.5));
}

// (cos, sin) of 2 pi t, t in turns: the reduction is exact.
vec2 unit_of_turns(float t) {
  const float pi = 3.14159265;
  float half_turns = 2.0 * t, k = floor(half_turns), m = floor(half_turns + 0.5);
  return vec2(-alternating_sign(k) * sine_polynomial((half_turns - (k + 0.5)) * pi),
              alternating_sign(m) * sine_polynomial((half_turns - m) * pi));
}
