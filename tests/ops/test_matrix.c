/* Products on matrix units, in every configuration: the same numbers as the plainest kernel's, for
 * all transpositions, alignments, edges and epilogues, and the same NaN and infinities. The test
 * runs where the driver has matrix units (lavapipe 26), and in the adversary, which needs none. */
#include "base/file.h"
#include "base/json.h"
#include "gpu/matrix.h"
#include "gpu/plan.h"
#include "graph/tape.h"
#include "ops/gemm_matrix.h"
#include "ops/tuning.h"
#include "support/harness.h"
#include "support/matrices.h"
#include "support/seen.h"

typedef struct product {
  int64_t m, n, k, outer, inner;
  bool transpose_a, transpose_b, narrow; /* narrow: C has the operands' type */
  int64_t skip;                          /* elements of A and B before their first */
  bool bias, z, residual, accumulate;
  filtra_activation activation;
  float dropout, scale;
} product;

static const product products[] = {
    {.m = 64, .n = 64, .k = 64},
    {.m = 72, .n = 40, .k = 96, .narrow = true},
    {.m = 33, .n = 70, .k = 45, .scale = -0.5f},
    {.m = 1, .n = 1, .k = 1},
    {.m = 40, .n = 24, .k = 72, .outer = 2, .inner = 3, .bias = true},
    {.m = 17, .n = 24, .k = 40, .bias = true, .z = true, .activation = FILTRA_ACTIVATION_GELU},
    {.m = 24,
     .n = 31,
     .k = 33,
     .bias = true,
     .z = true,
     .activation = FILTRA_ACTIVATION_RELU,
     .narrow = true},
    {.m = 40, .n = 32, .k = 32, .residual = true, .dropout = 0.25f},
    {.m = 9, .n = 35, .k = 64, .residual = true, .dropout = 0.5f, .bias = true},
    {.m = 32, .n = 16, .k = 80, .accumulate = true},
    {.m = 30, .n = 18, .k = 50, .accumulate = true, .narrow = true},
    {.m = 24, .n = 24, .k = 64, .skip = 3},
    {.m = 8, .n = 8, .k = 1100}, /* K in parts */
    {.m = 7, .n = 9, .k = 1043},
};

static int64_t at_least_1(int64_t x) {
  return x ? x : 1;
}

/* `count` numbers of an operand, from `skip` on in a tensor of its own. */
static ft_matrix operand(filtra_graph *g, const char *name, filtra_dtype type, const product *p,
                         int64_t rows, int64_t columns, bool transposed, filtra_tensor **input) {
  const int64_t each = rows * columns, outer = at_least_1(p->outer), inner = at_least_1(p->inner);
  const int64_t all = p->skip + outer * inner * each;
  *input = filtra_graph_input(g, name, FILTRA_F32, 1, &all);
  filtra_tensor *t = filtra_cast(g, *input, type);
  if (p->skip) t = filtra_slice(g, t, &p->skip, (int64_t[]){all - p->skip});
  return (ft_matrix){.tensor = t,
                     .row = transposed ? 1 : columns,
                     .column = transposed ? rows : 1,
                     .outer = inner * each,
                     .inner = each};
}

typedef struct numbers {
  const float *a, *b, *bias, *residual;
  float *c, *z, *row_sums;
} numbers;

/* Whether the product sums A's rows as well. */
static bool sums_rows(const product *p) {
  return p->transpose_a && !p->bias && !p->skip && p->outer * p->inner <= 1;
}

static bool uses(const filtra_graph *g, const char *kernel) {
  for (size_t i = 0; i < g->tape.call_count; i++)
    if (!strncmp(g->tape.calls[i].key.kernel, kernel, strlen(kernel))) return true;
  return false;
}

static filtra_tensor *output(filtra_graph *g, filtra_tensor *t) {
  const bool narrow = filtra_tensor_dtype(t) != FILTRA_F32;
  return filtra_graph_output(g, narrow ? filtra_cast(g, t, FILTRA_F32) : t);
}

/* Computes the product on the device; `kernel`: what has to do it. */
static void run(filtra_device *device, filtra_dtype type, const product *p, const char *kernel,
                const numbers *x) {
  const int64_t outer = at_least_1(p->outer), inner = at_least_1(p->inner);
  const int64_t count = outer * inner * p->m * p->n;
  filtra_tensor *a, *b;
  filtra_graph *g = test_graph(device, &(filtra_graph_options){.training = true});
  const filtra_dtype result = p->narrow ? type : FILTRA_F32;
  ft_gemm gemm = {.label = "product",
                  .a = operand(g, "a", type, p, p->m, p->k, p->transpose_a, &a),
                  .b = operand(g, "b", type, p, p->k, p->n, p->transpose_b, &b),
                  .m = p->m,
                  .n = p->n,
                  .k = p->k,
                  .outer = outer,
                  .inner = inner,
                  .scale = p->scale,
                  .accumulate = p->accumulate,
                  .activation = p->activation,
                  .dropout = p->dropout,
                  .random_id = p->dropout > 0 ? ft_graph_random_id(g) : 0};
  filtra_tensor *residual = NULL, *bias = NULL;
  if (p->residual || p->accumulate)
    residual = filtra_graph_input(g, "residual", FILTRA_F32, 1, &count);
  if (p->bias) gemm.bias = bias = filtra_graph_input(g, "bias", FILTRA_F32, 1, &p->n);
  if (p->residual) gemm.residual = residual;
  if (p->z) gemm.z = ft_tensor_new(g, "z", result, 1, &count);
  filtra_tensor *c = !p->accumulate ? ft_tensor_new(g, "c", result, 1, &count)
                     : p->narrow    ? filtra_cast(g, residual, result)
                                    : filtra_affine(g, residual, 1, 0);
  gemm.c = (ft_matrix){c, p->n, 1, inner * p->m * p->n, p->m * p->n};
  if (sums_rows(p)) {
    gemm.a.tensor = filtra_reshape(g, gemm.a.tensor, 2, (int64_t[]){p->k, p->m});
    gemm.row_sums = p->accumulate ? filtra_affine(g, filtra_constant(g, 1, &p->m, 3), 1, 0)
                                  : ft_tensor_new(g, "row sums", FILTRA_F32, 1, &p->m);
  }
  gemm.add_row_sums = p->accumulate;
  ft_emit_gemm(g, &gemm);
  filtra_tensor *sums = sums_rows(p) ? output(g, gemm.row_sums) : NULL;
  filtra_tensor *out = output(g, c), *z = p->z ? output(g, gemm.z) : NULL;
  assert_true(uses(g, kernel));
  assert_ok(filtra_graph_compile(g));
  filtra_graph_set_step(g, 5, 7);
  assert_ok(filtra_graph_set(g, a, x->a));
  assert_ok(filtra_graph_set(g, b, x->b));
  if (residual) assert_ok(filtra_graph_set(g, residual, x->residual));
  if (bias) assert_ok(filtra_graph_set(g, bias, x->bias));
  test_run_graph(g, NULL, TEST_GET({out, x->c}));
  if (z) assert_ok(filtra_graph_get(g, z, x->z));
  if (sums && x->row_sums) assert_ok(filtra_graph_get(g, sums, x->row_sums));
  filtra_graph_destroy(&g);
}

/* Numbers as large as `range`, of which some are NaN or infinite. */
static float *draw(uint64_t seed, size_t count, float range, bool special) {
  float *x = test_alloc((count + 1) * sizeof *x);
  test_random(seed, -range, range, x, count);
  for (size_t i = 0; special && i < count; i += 97)
    x[i] = i % 2 ? INFINITY : i % 3 ? NAN : -INFINITY;
  return x;
}

static bool close_to(float got, float want, float most, const product *p, filtra_dtype type) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return got == want;
  const float unit = !p->narrow ? 0 : type == FILTRA_F16 ? 0x1p-10f : 0x1p-7f;
  const float sums =
      2e-5f * (1 + (float)p->k / 256); /* of so many terms, rounded one way at worst */
  return fabsf(got - want) <= sums * most + unit * fabsf(want);
}

static void expect_close(const float *got, const float *want, size_t count, const product *p,
                         filtra_dtype type, const char *what) {
  float most = 0;
  for (size_t i = 0; i < count; i++)
    if (isfinite(want[i]) && fabsf(want[i]) > most) most = fabsf(want[i]);
  for (size_t i = 0; i < count; i++)
    if (!close_to(got[i], want[i], most, p, type))
      fail_msg("%s: element %zu is %g and should be %g (m %lld n %lld k %lld)", what, i,
               (double)got[i], (double)want[i], (long long)p->m, (long long)p->n, (long long)p->k);
}

static void compare(filtra_device *device, const ft_configuration *row, filtra_dtype type,
                    const product *p, float range, bool special) {
  const size_t batch = (size_t)(at_least_1(p->outer) * at_least_1(p->inner));
  const size_t size_a = (size_t)p->skip + batch * (size_t)(p->m * p->k);
  const size_t size_b = (size_t)p->skip + batch * (size_t)(p->k * p->n);
  const size_t count = batch * (size_t)(p->m * p->n);
  float *a = draw(1, size_a, range, special), *b = draw(2, size_b, range, special);
  float *bias = draw(3, (size_t)p->n, 1, false), *residual = draw(4, count, 1, false);
  float *c[2], *z[2], *row_sums[2];
  for (int i = 0; i < 2; i++) {
    c[i] = draw(5, count, 0, false);
    z[i] = draw(5, count, 0, false);
    row_sums[i] = draw(5, (size_t)p->m, 0, false);
  }
  test_use_row(device, FT_TUNE_GEMM_MATRIX, row, false);
  run(device, type, p, "gemm/matrix", &(numbers){a, b, bias, residual, c[0], z[0], row_sums[0]});
  test_use_row(device, FT_TUNE_GEMM_MATRIX, NULL, true);
  run(device, type, p, "gemm/naive", &(numbers){a, b, bias, residual, c[1], z[1], row_sums[1]});
  expect_close(c[0], c[1], count, p, type, "c");
  if (p->z) expect_close(z[0], z[1], count, p, type, "z");
  if (sums_rows(p)) expect_close(row_sums[0], row_sums[1], (size_t)p->m, p, FILTRA_F32, "row sums");
  for (int i = 0; i < 2; i++) {
    free(c[i]);
    free(z[i]);
    free(row_sums[i]);
  }
  free(a);
  free(b);
  free(bias);
  free(residual);
}

/* All products of a type, the transpositions in turns; then large and special numbers. */
static void compare_all(filtra_device *device, const ft_configuration *c, filtra_dtype type,
                        int turn) {
  for (size_t i = 0; i < FT_COUNT(products); i++) {
    product p = products[i];
    p.transpose_a = (i + (size_t)turn) & 1;
    p.transpose_b = (i + (size_t)turn) & 2;
    compare(device, c, type, &p, 1, false);
  }
  for (int t = 0; t < 4; t++) {
    product p = {.m = 41, .n = 48, .k = 56, .transpose_a = t & 1, .transpose_b = t & 2};
    compare(device, c, type, &p, 200, false); /* 56 times 40,000: beyond F16 */
    compare(device, c, type, &p, 1, true);
  }
}

static void compare_rows(filtra_device *device) {
  const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  int done = 0;
  for (int i = 0; i < 2; i++) {
    if (!ft_matrix_shape_of(ft_caps_of(device), types[i]).m) continue;
    if (types[i] == FILTRA_BF16 && test_interprets()) continue; /* it knows no bfloat16 */
    if (!ft_caps_of(device)->for_cpu || test_interprets())
      compare_all(device, NULL, types[i], 0); /* as the op chooses */
    for (uint32_t row = 1; row < ft_configurations(FT_TUNE_GEMM_MATRIX)->row_count; row++) {
      const ft_configuration c = ft_configuration_at(FT_TUNE_GEMM_MATRIX, row);
      if (!ft_gemm_matrix_usable(device, types[i], &c)) continue;
      compare_all(device, &c, types[i], (int)row);
      done++;
    }
  }
  assert_true(done > 0);
  test_close_device(&device);
}

TEST(test_own_shape) {
  ft_caps caps;
  if (!test_has_matrices(&caps)) skip();
  compare_rows(test_open_device("matrix=force"));
}

static filtra_device *open_own(const char *caps, const char *cache) {
  filtra_device *device = NULL;
  const filtra_device_options options = {
      .select = test_chosen_device(), .caps = caps, .cache_dir = cache, .tuning = ""};
  assert_ok(filtra_device_open(&options, &device));
  return device;
}

/* A product for which the tuning has a row of matrix units; `kernel`: what does it. */
static void multiply(const char *cache, const char *kernel, float c[64 * 64]) {
  const size_t smallest = ft_configurations(FT_TUNE_GEMM_MATRIX)->row_count - 1;
  const ft_configuration row = ft_configuration_at(FT_TUNE_GEMM_MATRIX, smallest);
  filtra_device *device = open_own("matrix=tuned", cache);
  float *a = draw(1, 64 * 64, 1, false), *b = draw(2, 64 * 64, 1, false);
  test_use_row(device, FT_TUNE_GEMM_MATRIX, &row, false);
  run(device, FILTRA_F16, &products[0], kernel, &(numbers){.a = a, .b = b, .c = c});
  free(a);
  free(b);
  filtra_device_close(&device);
}

static void keep_verdict(const char *cache, const ft_matrix_verdict *v) {
  filtra_device *device = open_own("matrix=tuned", cache);
  owned char *text = ft_json_line(ft_matrix_document(device, v), 0);
  assert_ok(ft_file_write_below(ft_matrix_path_of(device), text, strlen(text)));
  filtra_device_close(&device);
}

/* What was measured counts only where the self-test passed; else all is as without matrix units. */
TEST(test_trust) {
  static float untested[64 * 64], failed[64 * 64], passed[64 * 64];
  ft_caps own;
  if (!test_has_matrices(&own) || getenv("FILTRA_CAPS")) skip();
  const char *cache = test_folder();
  filtra_device *device = open_own("matrix=force", "");
  const ft_caps *caps = ft_caps_of(device);
  const char *plain = caps->product_style == FT_STYLE_SUBGROUP ? "gemm/s64" : "gemm/tiled";
  const ft_matrix_verdict good = {.passed = true, .f16 = caps->matrix_f16};
  const ft_matrix_verdict bad = {.why = "crashed"};
  filtra_device_close(&device);
  multiply(cache, plain, untested);
  keep_verdict(cache, &bad);
  multiply(cache, plain, failed);
  assert_memory_equal(untested, failed, sizeof failed);
  keep_verdict(cache, &good);
  multiply(cache, "gemm/matrix", passed);
  expect_close(passed, failed, 64 * 64, &products[0], FILTRA_F16, "c");
}

static void test_shape(void **state) {
  compare_rows(test_open_device(test_matrix_shape_caps(*state, "class=discrete,")));
}
TEST_OF(test_shape, "8x8x8")
TEST_OF(test_shape, "8x8x16")
TEST_OF(test_shape, "16x8x16")
TEST_OF(test_shape, "16x16x16")

static void test_lanes(void **state) {
  compare_rows(test_open_lanes(*state, "class=discrete,"));
}
TEST_OF(test_lanes, "16x8x16 by 32") /* NVIDIA's */

/* A device without matrix units says so; one that has them takes them only if asked. */
TEST(test_refusals) {
  filtra_device *device = NULL;
  const filtra_device_options masked = {.caps = "fp16=0,matrix=force", .cache_dir = ""};
  assert_fails(filtra_device_open(&masked, &device), FILTRA_ERROR_UNSUPPORTED,
               "matrix=force needs matrix units");
  ft_caps caps = *ft_caps_of(test_device());
  assert_ok(ft_caps_override(&caps, "matrix=off"));
  assert_int_equal(ft_matrix_shape_of(&caps, FILTRA_F16).m, 0);
  assert_fails(ft_caps_override(&caps, "matrix_shape=8x8x8"), FILTRA_ERROR_ARGUMENT,
               "goes with matrix=force");
  assert_ok(ft_caps_override(&caps, "matrix=force,matrix_shape=16x8x16"));
  assert_int_equal(ft_matrix_shape_of(&caps, FILTRA_F16).n, 8);
  assert_int_equal(ft_matrix_shape_of(&caps, FILTRA_F32).n, 0);
}

TEST_MAIN(NULL, test_teardown)
