/* Element types: names, sizes, and conversions from and to float, also of F16 and BF16. Called by
 * base/safetensors.c, graph/ and ops/ for tensors and their files. */
#include "base/element.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name;
  uint8_t bytes;
  bool device, is_float;
} TYPES[] = {
    [FILTRA_F32] = {"F32", 4, true, true},   [FILTRA_I32] = {"I32", 4, true, false},
    [FILTRA_F16] = {"F16", 2, true, true},   [FILTRA_BF16] = {"BF16", 2, true, true},
    [FILTRA_F64] = {"F64", 8, false, true},  [FILTRA_I64] = {"I64", 8, false, false},
    [FILTRA_I16] = {"I16", 2, false, false}, [FILTRA_I8] = {"I8", 1, false, false},
    [FILTRA_U8] = {"U8", 1, false, false},   [FILTRA_BOOL] = {"BOOL", 1, false, false},
};

static bool is_type(filtra_dtype dtype) {
  return (size_t)dtype < FT_COUNT(TYPES);
}

size_t filtra_dtype_bytes(filtra_dtype dtype) {
  return is_type(dtype) ? TYPES[dtype].bytes : 0;
}

const char *filtra_dtype_name(filtra_dtype dtype) {
  return is_type(dtype) ? TYPES[dtype].name : "unknown";
}

bool ft_dtype_on_device(filtra_dtype dtype) {
  return is_type(dtype) && TYPES[dtype].device;
}

bool ft_dtype_is_float(filtra_dtype dtype) {
  return is_type(dtype) && TYPES[dtype].is_float;
}

bool ft_dtype_find(const char *name, filtra_dtype *dtype) {
  for (size_t i = 0; i < FT_COUNT(TYPES); i++) {
    if (strcmp(TYPES[i].name, name)) continue;
    *dtype = (filtra_dtype)i;
    return true;
  }
  return false;
}

const char *ft_dtype_names(void) {
  return "F32, I32, F16, BF16, F64, I64, I16, I8, U8 and BOOL";
}

/* ---- 16-bit floats ---- */

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Shifts `dropped` bits out; rounds to nearest, ties to even. */
static uint32_t round_off(uint32_t bits, uint32_t dropped) {
  uint32_t odd = bits >> dropped & 1;
  return (bits + (UINT32_C(1) << (dropped - 1)) - 1 + odd) >> dropped;
}

static uint16_t bf16_of(float value) {
  uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN */
  return (uint16_t)round_off(bits, 16);
}

static uint16_t f16_of(float value) {
  uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds beyond 65504, the largest */
  if (size >= 0x38800000) return (uint16_t)(sign | round_off(size - 0x38000000, 13));
  if (size < 0x33000000) return (uint16_t)sign; /* below half the smallest, 2^-24: rounds to 0 */
  uint32_t shift = 126 - (size >> 23);          /* subnormal: units of 2^-24 */
  return (uint16_t)(sign | round_off((size & 0x7fffff) | 0x800000, shift));
}

static float f16_value(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, rest = half & 1023;
  if (exponent == 31) return float_of(sign | 0x7f800000 | rest << 13);
  if (exponent) return float_of(sign | (exponent + 112) << 23 | rest << 13);
  float value = (float)rest * 0x1p-24f;
  return sign ? -value : value;
}

/* ---- elements ---- */

#define AT(type) (((const type *)elements)[index])

double ft_element_get(filtra_dtype dtype, const void *elements, size_t index) {
  switch (dtype) {
  case FILTRA_F32:
    return (double)AT(float);
  case FILTRA_I32:
    return AT(int32_t);
  case FILTRA_F16:
    return (double)f16_value(AT(uint16_t));
  case FILTRA_BF16:
    return (double)float_of((uint32_t)AT(uint16_t) << 16);
  case FILTRA_F64:
    return AT(double);
  case FILTRA_I64:
    return (double)AT(int64_t);
  case FILTRA_I16:
    return AT(int16_t);
  case FILTRA_I8:
    return AT(int8_t);
  case FILTRA_U8:
  case FILTRA_BOOL:
    return AT(uint8_t);
  }
  return 0.0;
}

void ft_elements_get(filtra_dtype dtype, const void *elements, size_t count, float *to) {
  if (dtype == FILTRA_F32) {
    memcpy(to, elements, count * sizeof *to);
    return;
  }
  for (size_t i = 0; i < count; i++)
    to[i] = (float)ft_element_get(dtype, elements, i);
}

/* A sum of bits for F32, whose weights are checked whenever a model is loaded: an exponent of ones,
 * and no other, carries into the sign's place. */
bool ft_elements_finite(filtra_dtype dtype, const void *elements, size_t count) {
  uint32_t carried = 0, bits;
  for (size_t i = 0; i < count && dtype == FILTRA_F32; i++) {
    memcpy(&bits, (const char *)elements + i * sizeof bits, sizeof bits);
    carried |= (bits & 0x7fffffff) + 0x00800000;
  }
  if (dtype == FILTRA_F32) return !(carried >> 31);
  for (size_t i = 0; i < count; i++)
    if (!isfinite((float)ft_element_get(dtype, elements, i))) return false;
  return true;
}

void ft_element_set(filtra_dtype dtype, void *elements, size_t index, float value) {
  if (dtype == FILTRA_F32) ((float *)elements)[index] = value;
  if (dtype == FILTRA_F64) ((double *)elements)[index] = (double)value;
  if (dtype == FILTRA_F16) ((uint16_t *)elements)[index] = f16_of(value);
  if (dtype == FILTRA_BF16) ((uint16_t *)elements)[index] = bf16_of(value);
}
