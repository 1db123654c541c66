/* Operations that Vulkan allows an error: the result is moved by as much as that, to the side that
 * the seed says. The same operands always give the same result, as on a device. Bounds are those of
 * the table "Precision of GLSL.std.450 Instructions" in Vulkan's appendix on SPIR-V. */
#include "adversary/machine.h"

#include <fenv.h>
#include <math.h>
#include <spirv/unified1/GLSL.std.450.h>
#include <string.h>

uint32_t adv_float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* ---- floats of 16 bits ---- */

enum { HALF_DIGITS = 11, HALF_LEAST = -14, HALF_MOST = 65504 };

/* Rounded once, in the present mode. */
float adv_round_half(double x, bool flush) {
  if (!isfinite(x) || x == 0.0) return (float)x;
  int exponent = ilogb(x);
  if (exponent < HALF_LEAST) exponent = HALF_LEAST;
  const double unit = ldexp(1.0, exponent - HALF_DIGITS + 1), y = nearbyint(x / unit) * unit;
  if (flush && fabs(y) < ldexp(1.0, HALF_LEAST)) return (float)copysign(0.0, x);
  if (fabs(y) <= HALF_MOST) return (float)y;
  const int mode = fegetround();
  const bool stays = mode == FE_TOWARDZERO || mode == (x > 0 ? FE_DOWNWARD : FE_UPWARD);
  return (float)copysign(stays ? HALF_MOST : INFINITY, x);
}

float adv_half_of(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double x = exponent == 31 ? (fraction ? NAN : INFINITY)
             : exponent     ? ldexp(1024 + fraction, exponent - 25)
                            : ldexp(fraction, -24);
  return (float)(bits >> 15 ? -x : x);
}

/* Of a float that is one of 16 bits. */
uint16_t adv_half_bits(float x) {
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  if (isnan(x)) return 0x7e00;
  if (isinf(x)) return sign | 0x7c00;
  if (fabsf(x) < ldexpf(1.0f, HALF_LEAST))
    return (uint16_t)(sign | (uint16_t)ldexp(fabs((double)x), 24));
  const int exponent = ilogb((double)x);
  return (uint16_t)(sign | ((exponent + 14) << 10)) +
         (uint16_t)ldexp(fabs((double)x), 10 - exponent);
}

/* ---- errors that are allowed ---- */

/* A number between -1 and 1 that says which way this operation errs, and how far. */
static double side(const adv_machine *m, uint32_t what, double a, double b) {
  if (m->manner->loose != 2) return m->manner->loose;
  uint64_t drawn = adv_mix(m->manner->seed, (uint64_t)what << 32 | adv_float_bits((float)a),
                           adv_float_bits((float)b));
  return (double)(drawn >> 40) / (double)(1 << 23) - 1.0;
}

/* `exact` and at most so many units in the last place from it, in a float of 16 or 32 bits. */
static double within_ulps(const adv_machine *m, uint32_t what, uint32_t bits, double a, double b,
                          double exact, double ulps) {
  if (bits == 64 || !m->manner->loose || !isfinite((float)exact) || (float)exact == 0.0f)
    return exact;
  int exponent;
  frexp(exact, &exponent);
  const int least = bits == 16 ? HALF_LEAST + 1 : -125, digits = bits == 16 ? HALF_DIGITS : 24;
  double unit = ldexp(1.0, (exponent < least ? least : exponent) - digits);
  /* rounding to a float may add half a unit: what is left is the operation's to use */
  return exact + side(m, what, a, b) * (ulps - 0.5) * unit;
}

static double within(const adv_machine *m, uint32_t what, uint32_t bits, double a, double exact,
                     double error) {
  if (bits == 64 || !m->manner->loose || !isfinite(exact)) return exact;
  return exact + side(m, what, a, 0) * error;
}

double adv_divide(const adv_machine *m, uint32_t bits, double a, double b) {
  enum { DIVISION = 1000 }; /* a number that no function has */
  return within_ulps(m, DIVISION, bits, a, b, a / b, 2.5);
}

/* "Inherited from a * b + c": two roundings will do for an fma. */
bool adv_two_roundings(const adv_machine *m) {
  return m->manner->contracts && m->manner->seed & 1;
}

static double logarithm(const adv_machine *m, uint32_t function, uint32_t bits, double a,
                        double exact) {
  if (a >= 0.5 && a <= 2.0)
    return within(m, function, bits, a, exact, bits == 16 ? 0x1p-7 : 0x1p-21);
  return within_ulps(m, function, bits, a, 0, exact, 3.0);
}

static double plain(uint32_t function, double a, double b) {
  switch (function) {
  case GLSLstd450FAbs:
    return fabs(a);
  case GLSLstd450FSign:
    return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0;
  case GLSLstd450Floor:
    return floor(a);
  case GLSLstd450Ceil:
    return ceil(a);
  case GLSLstd450Fract:
    return a - floor(a);
  case GLSLstd450Trunc:
    return trunc(a);
  case GLSLstd450Round:
  case GLSLstd450RoundEven:
    return a - remainder(a, 1.0);
  case GLSLstd450Step:
    return b < a ? 0.0 : 1.0;
  default:
    return NAN;
  }
}

double adv_math(const adv_machine *m, uint32_t function, uint32_t bits, double a, double b) {
  const double exponential = (bits == 16 ? 1.0 : 3.0) + 2.0 * fabs(a);
  const double angle = bits == 16 ? 0x1p-7 : 0x1p-11;
  switch (function) {
  case GLSLstd450Exp:
    return within_ulps(m, function, bits, a, 0, exp(a), exponential);
  case GLSLstd450Exp2:
    return within_ulps(m, function, bits, a, 0, exp2(a), exponential);
  case GLSLstd450Log:
    return logarithm(m, function, bits, a, log(a));
  case GLSLstd450Log2:
    return logarithm(m, function, bits, a, log2(a));
  case GLSLstd450Pow: /* exp2(b * log2(a)) */
    a = (float)b * (float)adv_math(m, GLSLstd450Log2, bits, a, a);
    return adv_math(m, GLSLstd450Exp2, bits, (float)a, a);
  case GLSLstd450Sqrt: /* 1.0 / inversesqrt(), which has 2 units */
    return within_ulps(m, function, bits, a, 0, sqrt(a), 4.0);
  case GLSLstd450InverseSqrt:
    return within_ulps(m, function, bits, a, 0, 1.0 / sqrt(a), 2.0);
  case GLSLstd450Sin:
    return within(m, function, bits, a, sin(a), angle);
  case GLSLstd450Cos:
    return within(m, function, bits, a, cos(a), angle);
  case GLSLstd450Tanh: /* sinh / cosh, which come from exp */
    return within_ulps(m, function, bits, a, 0, tanh(a), 8.0 + 4.0 * fabs(a));
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
