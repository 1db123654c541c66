/* Makes graphs of one op, to time it. Called by gemm.c, layers.c, ops.c and peaks.c. */
#include "bench.h"

#include "base/memory.h"

#include <stdlib.h>

static int64_t elements(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++)
    count *= shape[i];
  return count;
}

/* Creates the next operand's buffer; NULL after an error. */
static ft_buffer *add_buffer(bench_graph *g, const char *name, uint64_t bytes) {
  ft_buffer *buffer = &g->operands[g->count];
  filtra_status status = g->count < BENCH_OPERANDS
                             ? ft_buffer_create(g->device, bytes, FT_MEMORY_DEVICE, buffer)
                             : ft_fail(FILTRA_ERROR_ARGUMENT, "%s: too many operands", name);
  if (status) return ft_graph_fail(g->graph, status, "%s", filtra_error_message());
  g->count++;
  return buffer;
}

filtra_tensor *bench_operand(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape, const void *words) {
  uint64_t bytes = ft_dtype_extent(dtype, elements(ndim, shape));
  ft_buffer *buffer = add_buffer(g, name, bytes);
  if (!buffer) return NULL;
  filtra_status status = words ? ft_upload(g->device, buffer, 0, words, bytes)
                               : ft_fill(g->device, buffer, 0, bytes, 0);
  if (status) return ft_graph_fail(g->graph, status, "%s", filtra_error_message());
  return ft_tensor_external(g->graph, name, dtype, ndim, shape, buffer, 0);
}

/* A pseudo-random number that depends only on i: Knuth's multiplicative hash. */
static uint32_t scatter(int64_t i) {
  return (uint32_t)i * 2654435761u >> 8;
}

static filtra_tensor *numbers(bench_graph *g, const char *name, filtra_dtype dtype, float offset,
                              int ndim, const int64_t *shape) {
  int64_t count = elements(ndim, shape);
  void *values = ft_calloc(1, ft_dtype_extent(dtype, count));
  if (!values) return ft_graph_fail(g->graph, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (int64_t i = 0; i < count; i++)
    ft_element_set(dtype, values, (size_t)i, offset + (float)(scatter(i) & 1023) / 1024.0f - 0.5f);
  filtra_tensor *t = bench_operand(g, name, dtype, ndim, shape, values);
  if (t) t->requires_grad = g->backward;
  free(values);
  return t;
}

filtra_tensor *bench_floats(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                            const int64_t *shape) {
  return numbers(g, name, dtype, 0.0f, ndim, shape);
}

filtra_tensor *bench_numbers(bench_graph *g, const char *name, float offset, int ndim,
                             const int64_t *shape) {
  return numbers(g, name, FILTRA_F32, offset, ndim, shape);
}

filtra_tensor *bench_integers(bench_graph *g, const char *name, int64_t bound, int ndim,
                              const int64_t *shape) {
  int64_t count = elements(ndim, shape);
  int32_t *values = ft_calloc((size_t)count, sizeof *values);
  if (!values) return ft_graph_fail(g->graph, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (int64_t i = 0; i < count; i++)
    values[i] = (int32_t)(scatter(i) % (uint32_t)bound);
  filtra_tensor *t = bench_operand(g, name, FILTRA_I32, ndim, shape, values);
  free(values);
  return t;
}

void bench_graph_close(bench_graph *g) {
  filtra_graph_destroy(&g->graph);
  for (int i = 0; i < g->count; i++)
    ft_buffer_destroy(g->device, &g->operands[i]);
  g->count = 0;
}

static filtra_status measure(const bench *b, bench_graph *g, json_t *entry, uint64_t before,
                             filtra_tensor *y) {
  bench_timing t;
  FT_TRY(ft_graph_status(g->graph));
  if (g->backward) FT_TRY(filtra_graph_backward(g->graph, 1, &y, NULL));
  FT_TRY(filtra_graph_compile(g->graph));
  uint64_t memory = filtra_device_memory_used(g->device) - before;
  FT_TRY(bench_time_graph(g->graph, b->arguments->quick, &t));
  bench_add_work(b, entry, ft_graph_work(g->graph), &t);
  json_object_set_new(entry, "memory_bytes", json_integer((json_int_t)memory));
  return FILTRA_OK;
}

filtra_status bench_op(const bench *b, filtra_device *device, json_t *entry,
                       filtra_tensor *(*build)(bench_graph *g, const void *what), const void *what,
                       bool backward) {
  bench_graph g = {.device = device, .backward = backward};
  uint64_t before = filtra_device_memory_used(device);
  FT_TRY(
      filtra_graph_create(device, &(filtra_graph_options){.slots = 1, .training = true}, &g.graph));
  filtra_tensor *y = build(&g, what);
  filtra_status status = measure(b, &g, entry, before, y);
  bench_graph_close(&g);
  return status;
}
