/* p-Laplacian attention on matrix units against the float64 reference: sizes that no tile divides,
 * every option, equal values, both types, and P beyond the range of 16 bits. The test runs where
 * the driver has matrix units (lavapipe 26), and in the adversary, which needs none and chooses
 * their shapes. */
#include "gpu/plan.h"
#include "ops/attention.h"
#include "support/attention.h"
#include "support/harness.h"
#include "support/matrices.h"
#include "support/plaplacian.h"
#include "support/seen.h"

static const float SMALL_P[TEST_NORM_HEADS] = {1, 1.23f, 1.5f};
static const float LARGE_P[TEST_NORM_HEADS] = {2, 2.5f, 3}; /* the first head is attention */
static const float HUGE_P[TEST_NORM_HEADS] = {1.5f, 6, 10};

/* Weights and the scores' gradients are rounded to 16 bits on the way, besides all that is
 * elsewhere; P makes the gradients of close values large. */
static void check(filtra_device *device, const test_norms *s, double values, bool gradients) {
  const double ulp = test_half_ulp(s->dtype);
  test_op op = test_norms_op(s, values);
  op.forward_tolerance = 4 * ulp;
  op.gradient_tolerance = 12 * ulp;
  for (int i = 0; i < op.inputs; i++)
    op.in[i].gradient = op.in[i].gradient && gradients;
  test_check_op(device, &op);
}

static void check_each(filtra_device *device, const test_norms *list, size_t count,
                       filtra_dtype type) {
  for (size_t i = 0; i < count; i++) {
    test_norms s = list[i];
    s.dtype = type;
    check(device, &s, 1, true);
  }
}

static const test_norms small[] = {
    /* Nothing is whole; most of the options. */
    {{2, 37, 41, 5, 7},
     SMALL_P,
     .eps = 0.02f,
     .causal = true,
     .mask = true,
     .bias_dims = 3,
     .dropout = 0.2f,
     .diagonal = FILTRA_DIAGONAL_ONE},
    /* Accesses by four, several blocks and steps, equal values. */
    {{1, 70, 75, 12, 8}, LARGE_P, .eps = 0.02f, .duplicates = true},
    {{1, 1, 2, 12, 8}, LARGE_P, .eps = 0.02f},
    {{1, 21, 37, 8, 12},
     SMALL_P,
     .euler = true,
     .duplicates = true,
     .dropout = 0.4f,
     .diagonal = FILTRA_DIAGONAL_ZERO},
    /* With `euler`, heads of attention, too. */
    {{1, 35, 35, 8, 8}, LARGE_P, .euler = true, .causal = true},
};
/* What takes drivers long to compile. */
static const test_norms large[] = {
    {{1, 9, 40, 128, 128}, NULL},
    {{1, 9, 35, 33, 100}, NULL, .causal = true, .dropout = 0.2f},
    {{1, 40, 40, 64, 64}, NULL},
};

static void check_all(const char *caps, bool with_large) {
  static const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  owned_device *device = test_open_device(caps);
  for (size_t i = 0; i < FT_COUNT(types); i++) {
    if (!ft_matrix_shape_of(ft_caps_of(device), types[i]).m) continue;
    if (types[i] == FILTRA_BF16 && test_interprets()) continue; /* it knows no bfloat16 */
    check_each(device, small, FT_COUNT(small), types[i]);
    if (with_large) check_each(device, large, FT_COUNT(large), types[i]);
  }
  assert_true(test_compiled(device, "plaplacian/forward_matrix"));
  assert_true(test_compiled(device, "plaplacian/backward_key_matrix"));
  assert_true(test_compiled(device, "plaplacian/backward_query_matrix"));
}

/* P beyond 65504, of values so small that y is not: the forward pass counts from the largest A P,
 * the backward pass goes by the other kernels. */
static void check_range(const char *caps) {
  static const test_norms wide = {
      {1, 3, 5, 8, 8}, HUGE_P, .eps = 17, .duplicates = true, .dtype = FILTRA_F16};
  static const test_norms close = {
      {1, 3, 5, 8, 8}, SMALL_P, .eps = 1e-10f, .duplicates = true, .dtype = FILTRA_F16};
  owned_device *device = test_open_device(caps);
  if (ft_caps_of(device)->matrix_f16.m) {
    check(device, &wide, 0.1, true);
    check(device, &close, 0.1, false);
    assert_true(test_compiled(device, "plaplacian/forward_matrix.f16"));
    assert_false(test_compiled(device, "plaplacian/backward_key_matrix.f16"));
    assert_false(test_compiled(device, "plaplacian/backward_query_matrix.f16"));
  }
}

/* Every tile that the tuner may choose. */
static void check_rows(const char *caps) {
  const ft_attention_widths widths = {5, 7, 7, FILTRA_F16, .norms = true};
  owned_device *device = test_open_device(caps);
  size_t done = 0;
  for (size_t i = 1; i < ft_configuration_count(FT_TUNE_ATTENTION_MATRIX); i++) {
    const ft_configuration row = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, i);
    if (!ft_attention_matrix_usable(device, &widths, &row)) continue;
    test_use_row(device, FT_TUNE_ATTENTION_MATRIX, &row, false);
    check_each(device, small, 1, FILTRA_F16);
    done++;
  }
  assert_true(done > 0);
}

TEST(test_own_shape) {
  ft_caps caps;
  if (!test_has_matrices(&caps)) skip();
  check_all("matrix=force", !caps.for_cpu);
  check_range("matrix=force");
  if (caps.matrix_f16.m) check_rows("matrix=force");
}

static void test_shape(void **state) {
  const char *caps = test_matrix_shape_caps(*state, "");
  check_all(caps, true);
  if (strcmp(*state, "16x16x16") != 0) return;
  check_range(caps);
  check_rows(caps);
}
TEST_OF(test_shape, "8x8x8")
TEST_OF(test_shape, "8x8x16")
TEST_OF(test_shape, "16x8x16")
TEST_OF(test_shape, "16x16x16")

static void test_lanes(void **state) {
  owned_device *device = test_open_lanes(*state, "");
  check_each(device, small, FT_COUNT(small), FILTRA_F16);
  assert_true(test_compiled(device, "plaplacian/backward_key_matrix"));
}
TEST_OF(test_lanes, "16x16x16 by 4")
TEST_OF(test_lanes, "16x8x16 by 32") /* NVIDIA's */
TEST_OF(test_lanes, "16x16x16 by 32")
TEST_OF(test_lanes, "16x16x16 by 64")

TEST_MAIN(NULL, test_teardown)
