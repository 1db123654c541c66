/* Plans and times matrix products: sizes for comparing machines, and shapes of training. Called by
 * bench.c. */
#include "bench.h"

#include "common/options.h"

#include "base/memory.h"
#include "gpu/matrix.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct gemm_case {
  const char *name;
  int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
} gemm_case;

/* Squares, then a projection, a head's scores, and a weight gradient. */
static const gemm_case CASES[] = {
    {"square 1024, A B", 1, 1024, 1024, 1024, false, false},
    {"square 1024, A B^T", 1, 1024, 1024, 1024, false, true},
    {"square 1024, A^T B", 1, 1024, 1024, 1024, true, false},
    {"projection 8192 x 128, A B^T", 1, 8192, 128, 128, false, true},
    {"heads 64 x 256, A B^T", 64, 256, 256, 64, false, true},
    {"weight gradient 8192 x 128, A^T B", 1, 128, 128, 8192, true, false},
};
static const gemm_case QUICK_CASES[] = {
    {"square 256, A B", 1, 256, 256, 256, false, false},
    {"projection 2048 x 128, A B^T", 1, 2048, 128, 128, false, true},
    {"weight gradient 2048 x 128, A^T B", 1, 128, 128, 2048, true, false},
};

/* Values of the caps override's key gemm, and matrix units. */
static const char MATRIX[] = "matrix";
static const char *const VARIANTS[] = {"naive", "tiled", "s64", MATRIX};

typedef struct product {
  const gemm_case *shape;
  filtra_dtype dtype; /* of operands and result */
  bool on_matrices;
} product;

static filtra_tensor *build(bench_graph *g, const void *what) {
  const product *p = what;
  const gemm_case *c = p->shape;
  const int64_t a[] = {c->batch, c->transpose_a ? c->k : c->m, c->transpose_a ? c->m : c->k};
  const int64_t b[] = {c->batch, c->transpose_b ? c->n : c->k, c->transpose_b ? c->k : c->n};
  filtra_tensor *y = filtra_matmul(
      g->graph, bench_floats(g, "a", p->dtype, 3, a), bench_floats(g, "b", p->dtype, 3, b),
      &(filtra_matmul_options){
          .transpose_a = c->transpose_a, .transpose_b = c->transpose_b, .dtype = p->dtype});
  if (y && p->on_matrices && ft_graph_work(g->graph).matrix_flops <= 0.0)
    return ft_graph_fail(g->graph, FILTRA_ERROR_UNSUPPORTED,
                         "the tuning in use has another kernel for this product");
  return y;
}

/* The caps override for a variant. If matrix units are trusted, they are forced with their known
 * shape, which does not query the driver. For other variants they are turned off, since tuning may
 * have chosen them. */
static filtra_status caps_of(const bench *b, const bench_task *task, char caps[64]) {
  const filtra_dtype type = ft_precision_dtype(task->precision);
  const ft_matrix_shape shape = ft_matrix_shape_of(ft_caps_of(b->device), type);
  char text[FT_MATRIX_TEXT];
  if (task->what != MATRIX) {
    snprintf(caps, 64, "gemm=%s%s", (const char *)task->what, shape.m ? ",matrix=off" : "");
    return FILTRA_OK;
  }
  FT_TRY(bench_need_matrices(b, task->precision));
  snprintf(caps, 64, "gemm=tiled,matrix=force,matrix_shape=%s", ft_matrix_shape_text(shape, text));
  return FILTRA_OK;
}

/* Opens a second device handle on which the caps override forces the variant. */
static filtra_status open_variant(const bench *b, const bench_task *task, filtra_device **device) {
  char forced[64];
  filtra_device_options options = b->arguments->device;
  const char *given = options.caps ? options.caps : getenv("FILTRA_CAPS");
  FT_TRY(caps_of(b, task, forced));
  char *caps = ft_format("%s%s%s", given ? given : "", given && *given ? "," : "", forced);
  if (!caps) return FILTRA_ERROR_HOST_MEMORY;
  options.caps = caps;
  filtra_status status = filtra_device_open(&options, device);
  free(caps);
  return status;
}

static filtra_status run_product(bench *b, const bench_task *task) {
  const gemm_case *cases = b->arguments->quick ? QUICK_CASES : CASES;
  const product p = {&cases[task->number], ft_precision_dtype(task->precision),
                     task->what == MATRIX};
  filtra_device *device;
  FT_TRY(open_variant(b, task, &device));
  filtra_status status = bench_op(b, device, task->entry, build, &p, false);
  filtra_device_close(&device);
  return status;
}

static json_t *entry(const gemm_case *c, const char *variant, const char *precision) {
  return json_pack("{ss ss ss ss ss sI sI sI sI sb sb}", "op", "gemm", "case", c->name, "variant",
                   variant, "precision", precision, "pass", "forward", "batch",
                   (json_int_t)c->batch, "m", (json_int_t)c->m, "n", (json_int_t)c->n, "k",
                   (json_int_t)c->k, "transpose_a", c->transpose_a, "transpose_b", c->transpose_b);
}

/* Matrix units are a variant if the device has them, for 16-bit precisions. */
static bool is_wanted(const bench *b, const char *variant, filtra_precision precision) {
  return bench_precise(b->arguments, precision) &&
         (variant != MATRIX ||
          (precision != FILTRA_PRECISION_FP32 && ft_caps_of(b->device)->matrix));
}

void bench_plan_gemm(const bench *b, bench_plan *plan) {
  const bool quick = b->arguments->quick;
  const gemm_case *cases = quick ? QUICK_CASES : CASES;
  size_t count = quick ? FT_COUNT(QUICK_CASES) : FT_COUNT(CASES);
  for (size_t v = 0; v < FT_COUNT(VARIANTS); v++)
    for (int p = 0; p < BENCH_PRECISIONS; p++)
      for (size_t i = 0; i < count && is_wanted(b, VARIANTS[v], p); i++)
        bench_plan_add(
            plan, &(bench_task){.entry = entry(&cases[i], VARIANTS[v], filtra_precision_name(p)),
                                .part = BENCH_RESULT,
                                .run = run_product,
                                .what = VARIANTS[v],
                                .number = (int64_t)i,
                                .weight = 0.5,
                                .precision = p});
}
