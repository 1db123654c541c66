/* The self-test of products on matrix units. Whole numbers whose sums stay below 2^24, times a
 * power of two, are exact in any order. So each result must equal the naive kernel's; NaNs and
 * infinities must be in the same elements. Called by matrices.c. */
#include "devices/matrices.h"

#include "base/memory.h"
#include "base/rng.h"
#include "ops/gemm_matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- products ---- */

typedef struct product {
  int64_t m, n, k, outer, inner;
  uint32_t parts; /* chunks of k */
  bool transpose_a, transpose_b;
  filtra_tensor *a, *b, *got, *want;
} product;

enum { PRODUCTS = 4 };

static int64_t elements(const product *p, int64_t rows, int64_t columns) {
  return p->outer * p->inner * rows * columns;
}

/* Lists products: whole tiles with the widest loads; partial tiles on all sides; batches with k in
 * chunks; a batch of whole tiles. Transpositions alternate from row to row of the table. */
static void list_products(const ft_gemm_plan *plan, int turn, product out[PRODUCTS]) {
  const int64_t m = plan->tile_m, n = plan->tile_n, step = plan->step;
  const product list[PRODUCTS] = {
      {.m = m, .n = n, .k = 3 * step, .outer = 1, .inner = 1, .parts = 1},
      {.m = m + 5, .n = n + 3, .k = 2 * step + 7, .outer = 1, .inner = 1, .parts = 1},
      {.m = 19, .n = 11, .k = step + 131, .outer = 2, .inner = 3, .parts = 2},
      {.m = m, .n = 8, .k = step, .outer = 1, .inner = 2, .parts = 1},
  };
  for (int i = 0; i < PRODUCTS; i++) {
    out[i] = list[i];
    out[i].transpose_a = (i + turn) & 1;
    out[i].transpose_b = (i + turn) & 2;
  }
}

static ft_matrix operand(filtra_tensor *t, const product *p, int64_t rows, int64_t columns,
                         bool transposed) {
  return (ft_matrix){.tensor = t,
                     .row = transposed ? 1 : columns,
                     .column = transposed ? rows : 1,
                     .outer = p->inner * rows * columns,
                     .inner = rows * columns};
}

/* Records C with the kernel that `tuning` forces. */
static filtra_tensor *multiply(filtra_graph *g, const product *p, filtra_tensor *a,
                               filtra_tensor *b, ft_tuning *tuning) {
  filtra_device *dev = ft_graph_device(g);
  const int64_t count = elements(p, p->m, p->n);
  filtra_tensor *c = ft_tensor_new(g, "c", FILTRA_F32, 1, &count);
  ft_tuning *before = ft_tuning_use(dev, tuning);
  if (c)
    ft_emit_gemm(g, &(ft_gemm){.label = "matrix_test",
                               .a = operand(a, p, p->m, p->k, p->transpose_a),
                               .b = operand(b, p, p->k, p->n, p->transpose_b),
                               .c = operand(c, p, p->m, p->n, false),
                               .m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .outer = p->outer,
                               .inner = p->inner});
  ft_tuning_use(dev, before);
  return filtra_graph_output(g, c);
}

static void record(filtra_graph *g, filtra_dtype type, const ft_configuration *row, product *p) {
  ft_tuning plainest = {.reference = true};
  ft_tuning forced = {
      .forced = true, .forced_family = FT_TUNE_GEMM_MATRIX, .forced_configuration = *row};
  const int64_t size_a = elements(p, p->m, p->k), size_b = elements(p, p->k, p->n);
  const ft_configuration_table *table = ft_configurations(FT_TUNE_GEMM_MATRIX);
  forced.forced_configuration.value[table->field_count - 1] = p->parts;
  p->a = filtra_graph_input(g, "a", FILTRA_F32, 1, &size_a);
  p->b = filtra_graph_input(g, "b", FILTRA_F32, 1, &size_b);
  filtra_tensor *a = filtra_cast(g, p->a, type), *b = filtra_cast(g, p->b, type);
  p->got = multiply(g, p, a, b, &forced);
  p->want = multiply(g, p, a, b, &plainest);
}

/* ---- numbers ---- */

typedef enum numbers { SMALL, LARGE, FULL_A, FULL_B, SPECIAL, KINDS } numbers;
static const char *const NAMES[KINDS] = {"small numbers", "large numbers", "all bits of A",
                                         "all bits of B", "NaN and infinities"};

static float whole(ft_rng *rng, int most) {
  return (float)((int)ft_rng_below(rng, 2 * (uint64_t)most + 1) - most);
}

/* LARGE: products exceed F16. FULL: one side uses all bits of a mantissa, with sums of at most 400
 * products staying below 2^24. */
static void draw(numbers kind, filtra_dtype type, bool is_b, float *out, size_t count) {
  const bool full = kind == (is_b ? FULL_B : FULL_A), other = kind == (is_b ? FULL_A : FULL_B);
  const int most = full ? (type == FILTRA_F16 ? 2047 : 255) : other ? 1 : 4;
  const float unit = kind != LARGE ? 1 : type == FILTRA_F16 ? 0x1p12f : 0x1p40f;
  ft_rng rng = ft_rng_make(1, 2 * (uint64_t)kind + is_b);
  for (size_t i = 0; i < count; i++)
    out[i] = unit * whole(&rng, most);
  if (kind != SPECIAL) return;
  out[count / 5] = NAN;
  out[count / 2] = INFINITY;
  out[count - 1 - count / 4] = -INFINITY;
}

static filtra_status set_numbers(filtra_graph *g, filtra_tensor *t, numbers kind, filtra_dtype type,
                                 bool is_b) {
  const size_t count = (size_t)filtra_tensor_elements(t);
  float *x = ft_calloc(count, sizeof *x);
  if (!x) return FILTRA_ERROR_HOST_MEMORY;
  draw(kind, type, is_b, x, count);
  filtra_status status = filtra_graph_set(g, t, x);
  free(x);
  return status;
}

/* ---- comparing ---- */

static bool same(float got, float want) {
  return isnan(want) ? isnan(got) : got == want;
}

static filtra_status compare(filtra_graph *g, const product *p, const char *what,
                             char why[FT_MATRIX_REASON]) {
  const size_t count = (size_t)filtra_tensor_elements(p->got);
  float *got = ft_calloc(count, sizeof *got), *want = ft_calloc(count, sizeof *want);
  filtra_status status = got && want ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = filtra_graph_get(g, p->got, got);
  if (!status) status = filtra_graph_get(g, p->want, want);
  for (size_t i = 0; i < count && !status && !*why; i++)
    if (!same(got[i], want[i]))
      snprintf(why, FT_MATRIX_REASON,
               "found wrong numbers in %s, A%s B%s of %lld x %lld x %lld: element %zu is %g and "
               "should be %g",
               what, p->transpose_a ? "^T" : "", p->transpose_b ? "^T" : "", (long long)p->m,
               (long long)p->n, (long long)p->k, i, (double)got[i], (double)want[i]);
  free(got);
  free(want);
  return status;
}

static filtra_status run(filtra_graph *g, filtra_dtype type, const char *row,
                         const product list[PRODUCTS], char why[FT_MATRIX_REASON]) {
  for (numbers kind = 0; kind < KINDS && !*why; kind++) {
    char what[FT_MATRIX_REASON / 2];
    for (int i = 0; i < PRODUCTS; i++) {
      FT_TRY(set_numbers(g, list[i].a, kind, type, false));
      FT_TRY(set_numbers(g, list[i].b, kind, type, true));
    }
    FT_TRY(filtra_graph_execute(g));
    snprintf(what, sizeof what, "%s products of %s (%s)", filtra_dtype_name(type), NAMES[kind],
             row);
    for (int i = 0; i < PRODUCTS && !*why; i++)
      FT_TRY(compare(g, &list[i], what, why));
  }
  return FILTRA_OK;
}

/* ---- rows of the table ---- */

static size_t count_kernels(const filtra_device *dev, const char *kernel) {
  size_t count = 0;
  for (size_t i = 0; i < ft_pipeline_count(dev); i++)
    count += ft_pipeline_key(dev, i)->kernel && !strcmp(ft_pipeline_key(dev, i)->kernel, kernel);
  return count;
}

/* Tests a row's products in one graph, so that they compile in parallel. */
static filtra_status test_row(filtra_device *dev, filtra_dtype type, uint32_t index,
                              char why[FT_MATRIX_REASON]) {
  const ft_configuration row = ft_configuration_at(FT_TUNE_GEMM_MATRIX, index);
  const ft_gemm_plan plan = ft_gemm_matrix_plan(dev, type, &row);
  const char *kernel = ft_kernel_typed(dev, plan.kernel, type);
  const size_t before = count_kernels(dev, kernel);
  char text[FT_TUNING_KEY];
  product list[PRODUCTS];
  filtra_graph *g = NULL;
  list_products(&plan, (int)index, list);
  FT_TRY(filtra_graph_create(dev, NULL, &g));
  for (int i = 0; i < PRODUCTS; i++)
    record(g, type, &row, &list[i]);
  filtra_status status = filtra_graph_compile(g);
  if (!status && count_kernels(dev, kernel) != before + PRODUCTS)
    status = ft_fail(FILTRA_ERROR_UNSUPPORTED, "products did not take matrix units");
  if (!status)
    status = run(g, type, ft_configuration_text(FT_TUNE_GEMM_MATRIX, &row, text), list, why);
  filtra_graph_destroy(&g);
  return status;
}

/* Tests all rows that the device can use; there must be at least one. */
static filtra_status test_type(filtra_device *dev, filtra_dtype type, char why[FT_MATRIX_REASON]) {
  bool tested = false;
  if (!ft_gemm_matrix_there(dev, type)) return FILTRA_OK;
  for (uint32_t i = 0; i < ft_configurations(FT_TUNE_GEMM_MATRIX)->row_count && !*why; i++) {
    const ft_configuration row = ft_configuration_at(FT_TUNE_GEMM_MATRIX, i);
    if (!ft_gemm_matrix_taken(&row) || !ft_gemm_matrix_usable(dev, type, &row)) continue;
    FT_TRY(test_row(dev, type, i, why));
    tested = true;
  }
  if (!tested)
    snprintf(why, FT_MATRIX_REASON, "found no tile for %s that the device can do with",
             filtra_dtype_name(type));
  return *why ? FILTRA_OK : matrix_test_attention(dev, type, why);
}

filtra_status matrix_test(filtra_device *dev, char why[FT_MATRIX_REASON]) {
  *why = '\0';
  FT_TRY(test_type(dev, FILTRA_F16, why));
  return *why ? FILTRA_OK : test_type(dev, FILTRA_BF16, why);
}
