/* Matrix products: the sizes that machines are compared by, and shapes of training. */
#include "bench.h"

#include "base/memory.h"
#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct gemm_case {
  const char *name;
  int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
} gemm_case;

/* Squares, then a projection, a head's scores, a weight gradient. */
static const gemm_case GEMM_CASES[] = {
    {"square 1024, A B", 1, 1024, 1024, 1024, false, false},
    {"square 1024, A B^T", 1, 1024, 1024, 1024, false, true},
    {"square 1024, A^T B", 1, 1024, 1024, 1024, true, false},
    {"projection, A B^T", 1, 8192, 128, 128, false, true},
    {"heads, A B^T", 64, 256, 256, 64, false, true},
    {"weight gradient, A^T B", 1, 128, 128, 8192, true, false},
};
static const gemm_case QUICK_CASES[] = {
    {"square 512, A B", 1, 512, 512, 512, false, false},
    {"projection, A B^T", 1, 2048, 128, 128, false, true},
    {"weight gradient, A^T B", 1, 128, 128, 2048, true, false},
};

static const char *const GEMM_VARIANTS[] = {"naive", "tiled", "s64"};

static filtra_status time_gemm(filtra_device *device, const gemm_case *c, int repeats,
                               bench_timing *out) {
  filtra_graph *g;
  FT_TRY(filtra_graph_create(device, NULL, &g));
  filtra_tensor *a = filtra_graph_input(
      g, "a", FILTRA_F32, 3,
      (int64_t[]){c->batch, c->transpose_a ? c->k : c->m, c->transpose_a ? c->m : c->k});
  filtra_tensor *b = filtra_graph_input(
      g, "b", FILTRA_F32, 3,
      (int64_t[]){c->batch, c->transpose_b ? c->n : c->k, c->transpose_b ? c->k : c->n});
  filtra_matmul(
      g, a, b,
      &(filtra_matmul_options){.transpose_a = c->transpose_a, .transpose_b = c->transpose_b});
  filtra_status status = filtra_graph_compile(g);
  if (!status) status = bench_fill(g, a, 0.0f);
  if (!status) status = bench_fill(g, b, 0.0f);
  if (!status) status = bench_time_graph(g, repeats, out);
  filtra_graph_destroy(&g);
  return status;
}

static json_t *gemm_json(const gemm_case *c, const char *variant, const bench_timing *t,
                         double flops) {
  json_t *object = json_pack("{ss ss ss sI sI sI sI sb sb sf sf}", "op", "gemm", "variant", variant,
                             "case", c->name, "batch", (json_int_t)c->batch, "m", (json_int_t)c->m,
                             "n", (json_int_t)c->n, "k", (json_int_t)c->k, "transpose_a",
                             c->transpose_a, "transpose_b", c->transpose_b, "gflops_best",
                             1e-9 * flops / t->best, "gflops_median", 1e-9 * flops / t->median);
  bench_timing_json(object, "", t);
  return object;
}

/* One variant on a device handle of its own, forced by the caps override. */
static filtra_status bench_variant(const bench_arguments *a, const char *variant, json_t *results) {
  const gemm_case *cases = a->quick ? QUICK_CASES : GEMM_CASES;
  size_t count = a->quick ? FT_COUNT(QUICK_CASES) : FT_COUNT(GEMM_CASES);
  filtra_device_options options = a->device;
  const char *given = options.caps ? options.caps : getenv("FILTRA_CAPS");
  char *caps = ft_format("%s%sgemm=%s", given ? given : "", given && *given ? "," : "", variant);
  if (!caps) return FILTRA_ERROR_HOST_MEMORY;
  options.caps = caps;
  filtra_device *device = NULL;
  filtra_status status = filtra_device_open(&options, &device);
  free(caps);
  if (status == FILTRA_ERROR_UNSUPPORTED) {
    fprintf(stderr, "gemm %s: left out: %s\n", variant, filtra_error_message());
    return FILTRA_OK;
  }
  for (size_t i = 0; i < count && !status; i++) {
    bench_timing t;
    status = time_gemm(device, &cases[i], a->quick ? BENCH_QUICK_REPEATS : BENCH_REPEATS, &t);
    if (status) break;
    double flops = 2.0 * (double)(cases[i].batch * cases[i].m * cases[i].n) * (double)cases[i].k;
    json_array_append_new(results, gemm_json(&cases[i], variant, &t, flops));
    if (!a->json)
      printf("gemm %-6s %-24s %8.2f GFLOP/s best %8.2f median  (%.3f to %.3f ms)\n", variant,
             cases[i].name, 1e-9 * flops / t.best, 1e-9 * flops / t.median, 1e3 * t.best,
             1e3 * t.worst);
  }
  filtra_device_close(&device);
  return status;
}

filtra_status bench_gemm(const bench_arguments *a, json_t *results) {
  for (size_t i = 0; i < FT_COUNT(GEMM_VARIANTS); i++)
    FT_TRY(bench_variant(a, GEMM_VARIANTS[i], results));
  return FILTRA_OK;
}
