/* Sums and products that exceed 64 bits. */
#include "base/overflow.h"
#include "support/case.h"

TEST(test_overflow) {
  uint64_t out;
  assert_false(ft_add_overflows(UINT64_MAX - 1, 1, &out));
  assert_true(out == UINT64_MAX);
  assert_true(ft_add_overflows(UINT64_MAX, 1, &out));
  assert_false(ft_multiply_overflows(0, UINT64_MAX, &out));
  assert_false(ft_multiply_overflows(UINT64_MAX, 0, &out));
  assert_false(ft_multiply_overflows(UINT32_MAX, UINT32_MAX, &out));
  assert_true(out == UINT64_C(0xfffffffe00000001));
  assert_true(ft_multiply_overflows(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
  assert_true(ft_multiply_overflows(3, UINT64_MAX / 2, &out));
}

TEST_MAIN(NULL, NULL)
