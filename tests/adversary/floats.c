/* Operations that Vulkan allows an error: the result is moved by as much as that, to the side that
 * the seed says. The same operands always give the same result, as on a device. Bounds are those of
 * the table "Precision of GLSL.std.450 Instructions" in Vulkan's appendix on SPIR-V. */
#include "adversary/machine.h"

#include <math.h>
#include <spirv/unified1/GLSL.std.450.h>
#include <string.h>

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* A number between -1 and 1 that says which way this operation errs, and how far. */
static double side(const adv_machine *m, uint32_t what, float a, float b) {
  if (m->manner->loose != 2) return m->manner->loose;
  uint64_t drawn = adv_mix(m->manner->seed, (uint64_t)what << 32 | bits_of(a), bits_of(b));
  return (double)(drawn >> 40) / (double)(1 << 23) - 1.0;
}

/* `exact` and at most so many units in the last place from it. */
static float within_ulps(const adv_machine *m, uint32_t what, float a, float b, double exact,
                         double ulps) {
  float nearest = (float)exact;
  if (!m->manner->loose || !isfinite(nearest) || nearest == 0.0f) return nearest;
  int exponent;
  frexp(exact, &exponent);
  double unit = ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
  /* rounding to a float may add half a unit: what is left is the operation's to use */
  return (float)(exact + side(m, what, a, b) * (ulps - 0.5) * unit);
}

static float within(const adv_machine *m, uint32_t what, float a, double exact, double error) {
  if (!m->manner->loose || !isfinite(exact)) return (float)exact;
  return (float)(exact + side(m, what, a, 0) * error);
}

float adv_divide(const adv_machine *m, float a, float b) {
  enum { DIVISION = 1000 }; /* a number that no function has */
  return within_ulps(m, DIVISION, a, b, (double)a / (double)b, 2.5);
}

float adv_fma(const adv_machine *m, float a, float b, float c) {
  if (m->manner->contracts &&
      m->manner->seed & 1) { /* "inherited from a * b + c": two roundings will do */
    volatile float product = a * b;
    return product + c;
  }
  return fmaf(a, b, c);
}

static float logarithm(const adv_machine *m, uint32_t function, float a, double exact) {
  if (a >= 0.5f && a <= 2.0f) return within(m, function, a, exact, 0x1p-21);
  return within_ulps(m, function, a, 0, exact, 3.0);
}

static float plain(uint32_t function, float a, float b) {
  switch (function) {
  case GLSLstd450FAbs:
    return fabsf(a);
  case GLSLstd450FSign:
    return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : 0.0f;
  case GLSLstd450Floor:
    return floorf(a);
  case GLSLstd450Ceil:
    return ceilf(a);
  case GLSLstd450Fract:
    return a - floorf(a);
  case GLSLstd450Trunc:
    return truncf(a);
  case GLSLstd450Round:
  case GLSLstd450RoundEven:
    return (float)(a - remainder(a, 1.0));
  case GLSLstd450Step:
    return b < a ? 0.0f : 1.0f;
  default:
    return NAN;
  }
}

float adv_math(const adv_machine *m, uint32_t function, float a, float b) {
  const double x = a;
  switch (function) {
  case GLSLstd450Exp:
    return within_ulps(m, function, a, 0, exp(x), 3.0 + 2.0 * fabs(x));
  case GLSLstd450Exp2:
    return within_ulps(m, function, a, 0, exp2(x), 3.0 + 2.0 * fabs(x));
  case GLSLstd450Log:
    return logarithm(m, function, a, log(x));
  case GLSLstd450Log2:
    return logarithm(m, function, a, log2(x));
  case GLSLstd450Pow: /* exp2(b * log2(a)) */
    return adv_math(m, GLSLstd450Exp2, b * adv_math(m, GLSLstd450Log2, a, a), a);
  case GLSLstd450Sqrt: /* 1.0 / inversesqrt(), which has 2 units */
    return within_ulps(m, function, a, 0, sqrt(x), 4.0);
  case GLSLstd450InverseSqrt:
    return within_ulps(m, function, a, 0, 1.0 / sqrt(x), 2.0);
  case GLSLstd450Sin:
    return within(m, function, a, sin(x), 0x1p-11);
  case GLSLstd450Cos:
    return within(m, function, a, cos(x), 0x1p-11);
  case GLSLstd450Tanh: /* sinh / cosh, which come from exp */
    return within_ulps(m, function, a, 0, tanh(x), 8.0 + 4.0 * fabs(x));
  default:
    return plain(function, a, b);
  }
}

bool adv_math_known(uint32_t function) {
  static const uint32_t known[] = {
      GLSLstd450Exp,   GLSLstd450Exp2,  GLSLstd450Log,   GLSLstd450Log2,     GLSLstd450Pow,
      GLSLstd450Sqrt,  GLSLstd450Sin,   GLSLstd450Cos,   GLSLstd450Tanh,     GLSLstd450InverseSqrt,
      GLSLstd450FAbs,  GLSLstd450FSign, GLSLstd450Floor, GLSLstd450Ceil,     GLSLstd450Fract,
      GLSLstd450Trunc, GLSLstd450Round, GLSLstd450Step,  GLSLstd450RoundEven};
  for (size_t i = 0; i < FT_COUNT(known); i++)
    if (known[i] == function) return true;
  return false;
}
