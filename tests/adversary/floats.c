/* Operations that Vulkan allows an error: the result is off by the full bound, in a direction that
 * the seed chooses. The same operands always give the same result, as on a device. Bounds are those
 * of the table "Precision of GLSL.std.450 Instructions" in Vulkan's appendix on SPIR-V. */
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

double adv_divide(const adv_machine *m, uint32_t bits, double a, double b) {
  enum { DIVISION = 1000 }; /* a number that no function has */
  return within_ulps(m, DIVISION, bits, a, b, a / b, 2.5);
}

/* "Inherited from a * b + c": two roundings will do for an fma. */
bool adv_two_roundings(const adv_machine *m) {
  return m->manner->contracts && m->manner->seed & 1;
}

/* ---- functions of one operand ---- */

static double inverse_sqrt(double x) {
  return 1.0 / sqrt(x);
}

static double sign(double x) {
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
}

/* Errors are of floats of 32 bits, then of 16: `ulps` and as many more for each 1 of |x|, or what
 * is absolute, of logarithms for numbers from 0.5 to 2. Exact functions have none. */
static const struct function {
  uint32_t number;
  double (*exact)(double);
  double ulps[2], more, absolute[2];
} functions[] = {
    {GLSLstd450Exp, exp, {3, 1}, 2, {0, 0}},
    {GLSLstd450Exp2, exp2, {3, 1}, 2, {0, 0}},
    {GLSLstd450Log, log, {3, 3}, 0, {0x1p-21, 0x1p-7}},
    {GLSLstd450Log2, log2, {3, 3}, 0, {0x1p-21, 0x1p-7}},
    {GLSLstd450Sqrt, sqrt, {4, 4}, 0, {0, 0}}, /* 1.0 / inversesqrt(), which has 2 units */
    {GLSLstd450InverseSqrt, inverse_sqrt, {2, 2}, 0, {0, 0}},
    {GLSLstd450Sin, sin, {0, 0}, 0, {0x1p-11, 0x1p-7}},
    {GLSLstd450Cos, cos, {0, 0}, 0, {0x1p-11, 0x1p-7}},
    {GLSLstd450Tanh, tanh, {8, 8}, 4, {0, 0}}, /* sinh / cosh, which come from exp */
    {GLSLstd450FAbs, fabs, {0, 0}, 0, {0, 0}},
    {GLSLstd450FSign, sign, {0, 0}, 0, {0, 0}},
    {GLSLstd450Floor, floor, {0, 0}, 0, {0, 0}},
    {GLSLstd450Ceil, ceil, {0, 0}, 0, {0, 0}},
    {GLSLstd450Trunc, trunc, {0, 0}, 0, {0, 0}},
};

static const struct function *find(uint32_t number) {
  for (size_t i = 0; i < FT_COUNT(functions); i++)
    if (functions[i].number == number) return &functions[i];
  return NULL;
}

double adv_math(const adv_machine *m, uint32_t number, uint32_t bits, double a) {
  const struct function *f = find(number);
  const int half = bits == 16;
  const double exact = f->exact(a), ulps = f->ulps[half] + f->more * fabs(a);
  const bool is_absolute = f->absolute[half] > 0.0 && (ulps == 0.0 || (a >= 0.5 && a <= 2.0));
  if (!is_absolute) return ulps > 0.0 ? within_ulps(m, number, bits, a, 0, exact, ulps) : exact;
  if (bits == 64 || !m->manner->loose || !isfinite(exact)) return exact;
  return exact + side(m, number, a, 0) * f->absolute[half];
}

/* Minima and maxima, too, which have two operands. */
bool adv_math_known(uint32_t number) {
  return (number >= GLSLstd450FMin && number <= GLSLstd450SMax) || find(number);
}
