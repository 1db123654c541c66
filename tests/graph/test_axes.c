/* Axes of two tensors, walked as shaders/common/axes.glsl does. */
#include "support/harness.h"

static uint32_t quotient(uint32_t n, uint32_t factor, uint32_t shift) {
  return (uint32_t)(((uint64_t)n * factor >> 32) + n) >> shift;
}

static void find(const ft_axes *axes, uint32_t i, int64_t *a, int64_t *b) {
  *a = *b = i;
  if (!axes->axes) return;
  *a = *b = 0;
  int first = FILTRA_MAX_DIMS - (int)axes->axes;
  for (int axis = FILTRA_MAX_DIMS - 1; axis > first; axis--) {
    uint32_t outer = quotient(i, axes->factor[axis - 1], axes->shift[axis - 1]);
    uint32_t k = i - outer * axes->shape[axis - 1];
    *a += (int64_t)k * axes->a_stride[axis];
    *b += (int64_t)k * axes->b_stride[axis];
    i = outer;
  }
  *a += (int64_t)i * axes->a_stride[first];
  *b += (int64_t)i * axes->b_stride[first];
}

/* Lengths up to 2^31 - 1, and numbers at their multiples. */
TEST(divides_all_numbers) {
  static const int64_t LENGTHS[] = {2,    3,     5,       7,          12,         255,       256,
                                    1000, 65537, 1234567, 1073741823, 1073741825, 2147483647};
  for (size_t i = 0; i < FT_COUNT(LENGTHS); i++) {
    const int64_t shape[] = {1, 2, LENGTHS[i]}, stride[] = {0, 1, 2}, none[] = {0, 0, 0};
    const ft_axes axes = ft_axes_of(3, shape, stride, none, false, false);
    assert_int_equal(axes.axes, 2);
    for (int64_t outer = 0; outer * LENGTHS[i] <= INT32_MAX; outer += 1 + outer / 3)
      for (int64_t n = outer * LENGTHS[i] - 1; n <= outer * LENGTHS[i] + 1; n++)
        if (n >= 0 && n <= INT32_MAX)
          assert_int_equal(quotient((uint32_t)n, axes.factor[2], axes.shift[2]), n / LENGTHS[i]);
  }
}

/* Where element i of the shape lies. */
static int64_t place(const int64_t *shape, const int64_t *stride, int64_t i) {
  int64_t at = 0;
  for (int axis = FILTRA_MAX_DIMS; axis-- > 0; i /= shape[axis])
    at += i % shape[axis] * stride[axis];
  return at;
}

/* Strides of the shape's axes in this order from the inside; 0 for those in `repeated`. */
static void lay(const int64_t *shape, const int *order, unsigned repeated, int64_t *stride) {
  int64_t next = 1;
  for (int i = 0; i < FILTRA_MAX_DIMS; i++) {
    int axis = order[i];
    bool same = repeated >> axis & 1;
    stride[axis] = same ? 0 : next;
    if (!same) next *= shape[axis];
  }
}

static void compare(const int64_t *shape, const int64_t *a_stride, const int64_t *b_stride) {
  const ft_axes axes = ft_axes_of(FILTRA_MAX_DIMS, shape, a_stride, b_stride, true, true);
  const int64_t count = shape[0] * shape[1] * shape[2] * shape[3], four = axes.whole ? 4 : 1;
  assert_int_equal(axes.count * four, count);
  for (int64_t i = 0; i < count; i++) {
    int64_t a, b, within = i % four;
    find(&axes, (uint32_t)(i / four), &a, &b);
    a = axes.repeated & FT_AXES_A ? a : a * four + within;
    b = axes.repeated & FT_AXES_B ? b : b * four + within;
    assert_int_equal(a, place(shape, a_stride, i));
    assert_int_equal(b, place(shape, b_stride, i));
  }
}

/* Every way to repeat a tensor that lies beside a dense or a permuted one. */
TEST(finds_all_elements) {
  static const int64_t SHAPES[][FILTRA_MAX_DIMS] = {{2, 3, 5, 4}, {3, 1, 2, 8}, {2, 4, 3, 5},
                                                    {1, 1, 1, 1}, {1, 6, 1, 4}, {4, 1, 7, 1}};
  static const int ORDERS[][FILTRA_MAX_DIMS] = {{3, 2, 1, 0}, {3, 1, 2, 0}, {0, 1, 2, 3}};
  for (size_t i = 0; i < FT_COUNT(SHAPES); i++)
    for (size_t j = 0; j < FT_COUNT(ORDERS); j++)
      for (unsigned repeated = 0; repeated < 16; repeated++) {
        int64_t a[FILTRA_MAX_DIMS], b[FILTRA_MAX_DIMS];
        lay(SHAPES[i], ORDERS[0], repeated, a);
        lay(SHAPES[i], ORDERS[j], 0, b);
        compare(SHAPES[i], a, b);
        compare(SHAPES[i], b, a);
      }
}

/* Fewer axes cost fewer divisions. */
TEST(joins_axes) {
  const int64_t shape[] = {2, 3, 5, 8}, dense[] = {120, 40, 8, 1}, rows[] = {15, 5, 1, 0};
  const int64_t columns[] = {0, 0, 0, 1};
  const ft_axes same = ft_axes_of(4, shape, dense, dense, true, false);
  assert_int_equal(same.axes, 0);
  assert_true(same.whole && same.count == 60);
  const ft_axes by_row = ft_axes_of(4, shape, dense, rows, true, true);
  assert_int_equal(by_row.axes, 2);
  assert_true(by_row.whole && by_row.repeated == FT_AXES_B);
  assert_false(ft_axes_of(4, shape, dense, rows, true, false).whole);
  assert_false(ft_axes_of(4, shape, dense, rows, false, true).whole);
  assert_int_equal(ft_axes_of(4, shape, dense, columns, true, false).axes, 2);
  const int64_t empty[] = {2, 0, 5, 8};
  assert_int_equal(ft_axes_of(4, empty, dense, dense, true, false).count, 0);
}

TEST_MAIN(NULL, NULL)
