/* Element types: every 16-bit float there and back, and rounding to nearest even. */
#include "support/harness.h"

#include "base/element.h"

static uint16_t rounded(filtra_dtype dtype, double value) {
  uint16_t bits[2] = {0};
  ft_element_set(dtype, bits, 1, (float)value);
  return bits[1];
}

/* A value from the definition: sign, exponent, fraction. */
static double defined(uint16_t bits, int exponent_bits) {
  int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  double fraction = (bits & ((1 << fraction_bits) - 1)) * ldexp(1, -fraction_bits);
  double size = exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias);
  if (exponent == (1 << exponent_bits) - 1) size = fraction != 0 ? (double)NAN : (double)INFINITY;
  return bits & 0x8000 ? -size : size;
}

TEST(test_all_16_bit_floats) {
  for (uint32_t i = 0; i < 0x10000; i++) {
    const uint16_t bits = (uint16_t)i;
    const struct {
      filtra_dtype dtype;
      int exponent_bits;
    } types[] = {{FILTRA_F16, 5}, {FILTRA_BF16, 8}};
    for (size_t k = 0; k < FT_COUNT(types); k++) {
      double want = defined(bits, types[k].exponent_bits);
      double got = ft_element_get(types[k].dtype, &bits, 0);
      if (isnan(want)) {
        assert_true(isnan(got));
        assert_true(isnan(defined(rounded(types[k].dtype, got), types[k].exponent_bits)));
        continue;
      }
      assert_true(got == want && signbit(got) == signbit(want));
      assert_int_equal(rounded(types[k].dtype, got), bits);
    }
  }
}

TEST(test_many_elements) {
  enum { COUNT = 37 };
  static const filtra_dtype TYPES[] = {FILTRA_F32, FILTRA_F64, FILTRA_F16, FILTRA_BF16};
  for (size_t k = 0; k < FT_COUNT(TYPES); k++) {
    double elements[COUNT];
    float floats[COUNT];
    for (size_t i = 0; i < COUNT; i++)
      ft_element_set(TYPES[k], elements, i, sinf((float)i));
    ft_elements_get(TYPES[k], elements, COUNT, floats);
    for (size_t i = 0; i < COUNT; i++)
      assert_true((double)floats[i] == ft_element_get(TYPES[k], elements, i));
    assert_true(ft_elements_finite(TYPES[k], elements, COUNT));
    for (size_t at = 0; at < COUNT; at += COUNT - 1) {
      ft_element_set(TYPES[k], elements, at, at ? NAN : -INFINITY);
      assert_false(ft_elements_finite(TYPES[k], elements, COUNT));
      ft_element_set(TYPES[k], elements, at, 1);
    }
  }
}

TEST(test_rounding) {
  static const struct {
    double value;
    uint16_t f16, bf16;
  } cases[] = {
      {1 + 0x1p-11, 0x3c00, 0x3f80},     /* halfway: the even one below, */
      {1 + 3 * 0x1p-11, 0x3c02, 0x3f80}, /* and above */
      {1 + 0x1p-8, 0x3c04, 0x3f80},      {1 + 3 * 0x1p-8, 0x3c0c, 0x3f82},
      {65519.99, 0x7bff, 0x4780},        {65520, 0x7c00, 0x4780},
      {-1e30, 0xfc00, 0xf14a},           {0x1p-25, 0x0000, 0x3300},
      {0x1.8p-25, 0x0001, 0x3340},       {-0x1p-24, 0x8001, 0xb380},
      {0x1.ffcp-15, 0x0400, 0x3880}, /* rounds up to the least normal */
      {3.4e38, 0x7c00, 0x7f80},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_int_equal(rounded(FILTRA_F16, cases[i].value), cases[i].f16);
    assert_int_equal(rounded(FILTRA_BF16, cases[i].value), cases[i].bf16);
  }
}

TEST(test_names) {
  for (int i = FILTRA_F32; i <= FILTRA_BOOL; i++) {
    filtra_dtype found;
    assert_true(ft_dtype_find(filtra_dtype_name((filtra_dtype)i), &found));
    assert_int_equal(found, i);
    assert_non_null(strstr(ft_dtype_names(), filtra_dtype_name((filtra_dtype)i)));
    assert_true(filtra_dtype_bytes((filtra_dtype)i) > 0);
  }
  assert_int_equal(filtra_dtype_bytes((filtra_dtype)99), 0);
  assert_string_equal(filtra_dtype_name((filtra_dtype)99), "unknown");
  assert_false(ft_dtype_on_device(FILTRA_F64));
  assert_true(ft_dtype_on_device(FILTRA_BF16) && ft_dtype_is_float(FILTRA_BF16));
}

TEST_MAIN(NULL, test_teardown)
