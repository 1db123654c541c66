/* Measures a device's peaks with kernels that do nothing else, for comparison with results. Called
 * by bench.c. */
#include "bench.h"
#include "probes.h"

#include "base/memory.h"
#include "gpu/matrix.h"
#include "model/model.h"
#include "ops/support.h"
#include "probe/contract.h"

#include <math.h>
#include <stdio.h>

/* ---- multiply-adds ---- */

typedef struct chain_probe {
  const bench_chains *chains;
  filtra_dtype type;
  uint32_t rounds;
} chain_probe;

static filtra_tensor *build_chains(bench_graph *g, const void *what) {
  const chain_probe *probe = what;
  return bench_chains_of(g->graph, probe->chains, probe->type, bench_chain_groups(g->device),
                         probe->rounds);
}

static double number(const json_t *entry, const char *key) {
  return json_number_value(json_object_get(entry, key));
}

/* Chooses the number of rounds for about 25 ms: long compared with a submission's overhead, short
 * enough for watchdogs. */
static filtra_status run_chains(const bench *b, const bench_chains *chains, filtra_dtype type,
                                json_t *entry) {
  const double wanted = 0.025;
  chain_probe probe = {chains, type, 4};
  for (;;) {
    FT_TRY(bench_op(b, b->device, entry, build_chains, &probe, false));
    double seconds = number(entry, "seconds_best");
    if (seconds > 0.5 * wanted || probe.rounds >= 1u << 20) return FILTRA_OK;
    double factor = seconds > 0.0 ? wanted / seconds : 32.0;
    probe.rounds = (uint32_t)((double)probe.rounds * (factor > 32.0 ? 32.0 : factor)) + 1;
  }
}

/* ---- copies ---- */

static const struct copy_variant {
  const char *name, *kernel;
  int words; /* words that an invocation copies at once */
} COPY_VARIANTS[] = {
    {"vec4", "probe/copy", 4}, {"scalar", "probe/copy.scalar", 1}, {"transfer", NULL, 0}};

typedef struct copy_probe {
  const struct copy_variant *variant;
  int64_t words;
} copy_probe;

/* Words of a tensor that exceeds caches, or of available memory if that is less. */
static int64_t most_words(const bench *b) {
  const filtra_device *device = b->device;
  const filtra_device_info *info = filtra_device_get_info(device);
  uint64_t bytes = (b->arguments->quick ? 128 : 256) << 20;
  while (bytes > ft_buffer_limit(device) || bytes > info->memory_bytes / 8)
    bytes /= 2;
  return (int64_t)(bytes / sizeof(float));
}

static filtra_tensor *build_copy(bench_graph *g, const void *what) {
  const copy_probe *probe = what;
  filtra_tensor *x = bench_operand(g, "x", FILTRA_F32, 1, &probe->words, NULL);
  filtra_tensor *y = bench_operand(g, "y", FILTRA_F32, 1, &probe->words, NULL);
  uint32_t items = (uint32_t)(probe->words / probe->variant->words);
  ft_record_call(g->graph, &(ft_kernel_call){.label = "copy",
                                             .kernel = probe->variant->kernel,
                                             FT_ARGUMENTS(probe_copy, .x = FT_READ(x),
                                                          .y = FT_WRITE(y), .count = items),
                                             .workgroup = FT_FLAT_WORKGROUP,
                                             .groups = {ft_flat_groups(g->graph, items)},
                                             .bytes = 8.0 * (double)probe->words});
  return y;
}

/* Grows the tensor until a copy takes long enough to time, or to the limit. A device that is slow
 * within its caches does not get faster beyond them. */
static filtra_status run_copy_variant(const bench *b, const struct copy_variant *variant,
                                      json_t *entry) {
  const double wanted = 0.025;
  const int64_t most = most_words(b);
  for (copy_probe probe = {variant, most / 16};; probe.words *= 4) {
    FT_TRY(bench_op(b, b->device, entry, build_copy, &probe, false));
    json_object_set_new(entry, "buffer_bytes", json_integer(4 * (json_int_t)probe.words));
    if (probe.words == most || number(entry, "seconds_best") > wanted) return FILTRA_OK;
  }
}

/* The driver's own copy, which may be faster than kernels' loads and stores. */
typedef struct transfer {
  filtra_device *device;
  ft_buffer from, to;
  ft_command_pool pool;
  ft_commands commands;
} transfer;

static filtra_status record_transfer(transfer *t) {
  filtra_device *dev = t->device;
  FT_TRY(ft_commands_new(dev, &t->pool, 1, &t->commands));
  FT_TRY(ft_commands_begin(dev, t->commands));
  ft_commands_copy(dev, t->commands, &t->from, 0, &t->to, 0, t->from.size);
  return ft_commands_end(dev, t->commands);
}

static filtra_status do_transfer(void *context) {
  transfer *t = context;
  uint64_t ticket;
  FT_TRY(ft_submit(t->device, &t->commands, 1, &ticket));
  return ft_wait(t->device, ticket);
}

static filtra_status run_transfer(const bench *b, json_t *entry) {
  filtra_device *dev = b->device;
  transfer t = {.device = dev};
  bench_timing timing;
  uint64_t bytes = 4 * (uint64_t)most_words(b), before = filtra_device_memory_used(dev);
  filtra_status status = ft_buffer_create(dev, bytes, FT_MEMORY_DEVICE, &t.from);
  if (!status) status = ft_buffer_create(dev, bytes, FT_MEMORY_DEVICE, &t.to);
  if (!status) status = ft_fill(dev, &t.from, 0, bytes, 0);
  if (!status) status = record_transfer(&t);
  if (!status) status = bench_time(do_transfer, &t, b->arguments->quick, &timing);
  if (!status) {
    uint64_t memory = filtra_device_memory_used(dev) - before;
    json_object_update_new(entry, json_pack("{sI sI}", "buffer_bytes", (json_int_t)bytes,
                                            "memory_bytes", (json_int_t)memory));
    bench_add_work(b, entry, (ft_work){.bytes = 2.0 * (double)bytes}, &timing);
  }
  ft_wait_whatever(dev); /* a copy may still run if waiting failed */
  ft_command_pool_destroy(dev, t.pool);
  ft_buffer_destroy(dev, &t.from);
  ft_buffer_destroy(dev, &t.to);
  return status;
}

/* ---- the best of the variants ---- */

/* Removes the rates that a probe does not measure. */
static void drop_work(json_t *candidate, const char *rate, const char *amount) {
  json_object_del(candidate, rate);
  json_object_del(candidate, amount);
  json_object_del(candidate, "fraction_of_peak");
  json_object_del(candidate, "roof");
  json_object_del(candidate, "matrix_flops");
}

/* Replaces `entry` by the candidate if that has a higher rate; sets the rates of the best and the
 * median run. */
static void keep_best(json_t *entry, json_t *candidate, const char *rate, const char *amount) {
  char median[48];
  double best = 1e-9 * number(candidate, amount) / number(candidate, "seconds_best");
  if (best <= number(entry, rate)) return;
  snprintf(median, sizeof median, "%s_median", rate);
  json_object_set(candidate, median, json_object_get(candidate, rate));
  json_object_set_new(candidate, rate, json_real(best));
  json_object_update(entry, candidate);
}

static filtra_status keep_best_chains(const bench *b, const bench_chains *chains, filtra_dtype type,
                                      json_t *entry) {
  json_t *candidate = json_pack("{ss}", "variant", chains->name);
  filtra_status status = run_chains(b, chains, type, candidate);
  drop_work(candidate, "gbytes_per_second", "bytes");
  if (!status) keep_best(entry, candidate, "gflops", "flops");
  json_decref(candidate);
  return status;
}

static filtra_status run_fma(bench *b, const bench_task *task) {
  for (size_t i = 0; i < bench_fma_chain_count; i++)
    FT_TRY(keep_best_chains(b, &bench_fma_chains[i], FILTRA_F32, task->entry));
  b->peak_flops = fmax(b->peak_flops, 1e9 * number(task->entry, "gflops"));
  return FILTRA_OK;
}

static filtra_status run_copy(bench *b, const bench_task *task) {
  for (size_t i = 0; i < FT_COUNT(COPY_VARIANTS); i++) {
    json_t *candidate = json_pack("{ss}", "variant", COPY_VARIANTS[i].name);
    filtra_status status = COPY_VARIANTS[i].kernel
                               ? run_copy_variant(b, &COPY_VARIANTS[i], candidate)
                               : run_transfer(b, candidate);
    drop_work(candidate, "gflops", "flops");
    if (!status) keep_best(task->entry, candidate, "gbytes_per_second", "bytes");
    json_decref(candidate);
    FT_TRY(status);
  }
  b->peak_bytes = fmax(b->peak_bytes, 1e9 * number(task->entry, "gbytes_per_second"));
  return FILTRA_OK;
}

/* ---- matrix units ---- */

filtra_status bench_need_matrices(const bench *b, filtra_precision precision) {
  const ft_caps *caps = ft_caps_of(b->device);
  const ft_matrix_verdict *verdict = ft_matrix_verdict_of(b->device);
  const filtra_dtype type = ft_precision_dtype(precision);
  if (ft_matrix_shape_of(caps, type).m) return FILTRA_OK;
  if (caps->matrix_use == FT_MATRIX_OFF)
    return ft_fail(
        FILTRA_ERROR_UNSUPPORTED,
        "matrix units are off, as --caps matrix=off says or, for CPU drivers, which only "
        "imitate them, by default");
  if (caps->matrix_use == FT_MATRIX_TUNED && !verdict->passed)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "matrix units are not trusted: the self-test %s",
                   verdict->tested ? verdict->why : "was not made, which 'filtra tune' does");
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "the matrix units have no shape for %s operands",
                 filtra_dtype_name(type));
}

static filtra_status run_matrix(bench *b, const bench_task *task) {
  const filtra_dtype type = ft_precision_dtype(task->precision);
  char shape[FT_MATRIX_TEXT];
  FT_TRY(bench_need_matrices(b, task->precision));
  ft_matrix_shape_text(ft_matrix_shape_of(ft_caps_of(b->device), type), shape);
  json_object_set_new(task->entry, "shape", json_string(shape));
  for (size_t i = 0; i < bench_matrix_chain_count; i++)
    if (bench_chains_usable(b->device, &bench_matrix_chains[i], type))
      FT_TRY(keep_best_chains(b, &bench_matrix_chains[i], type, task->entry));
  double *peak = &b->peak_matrix_flops[task->precision];
  *peak = fmax(*peak, 1e9 * number(task->entry, "gflops"));
  return FILTRA_OK;
}

/* ---- overhead of submitting and waiting ---- */

static filtra_status run_graph(void *context) {
  return filtra_graph_execute(context);
}

static filtra_status run_dispatch(bench *b, const bench_task *task) {
  filtra_graph *g;
  bench_timing t;
  FT_TRY(filtra_graph_create(b->device, &(filtra_graph_options){.slots = 1}, &g));
  filtra_tensor *word = ft_tensor_new(g, "word", FILTRA_F32, 1, (int64_t[]){1});
  if (word) ft_emit_fill(g, word, 0.0f);
  filtra_status status = filtra_graph_compile(g);
  if (!status) status = bench_time(run_graph, g, false, &t);
  filtra_graph_destroy(&g);
  if (!status) bench_add_timing(task->entry, &t);
  return status;
}

/* ---- the plan ---- */

static const struct probe {
  const char *name;
  filtra_status (*run)(bench *b, const bench_task *task);
  const char *rate;           /* of several measurements, the one with the largest rate counts */
  filtra_precision precision; /* of matrix units */
} PROBES[] = {{"fma", run_fma, "gflops", FILTRA_PRECISION_FP32},
              {"matrix_bf16", run_matrix, "gflops", FILTRA_PRECISION_BF16},
              {"matrix_fp16", run_matrix, "gflops", FILTRA_PRECISION_FP16},
              {"copy", run_copy, "gbytes_per_second", FILTRA_PRECISION_FP32},
              {"dispatch", run_dispatch, NULL, FILTRA_PRECISION_FP32}};

/* Matrix units are probed if the device has them and results use their types. */
static bool is_wanted(const bench *b, const struct probe *probe, bool again) {
  if (again && !probe->rate) return false;
  return probe->run != run_matrix ||
         (ft_caps_of(b->device)->matrix && bench_precise(b->arguments, probe->precision));
}

void bench_plan_peaks(const bench *b, bench_plan *plan, bool again) {
  for (size_t i = 0; i < FT_COUNT(PROBES); i++)
    if (is_wanted(b, &PROBES[i], again))
      bench_plan_add(plan, &(bench_task){.part = BENCH_PEAK,
                                         .entry = json_object(),
                                         .run = PROBES[i].run,
                                         .what = PROBES[i].name,
                                         .number = again,
                                         .weight = 1.0,
                                         .precision = PROBES[i].precision});
}

void bench_keep_peak(bench *b, const bench_task *task) {
  const json_t *before = json_object_get(b->peaks, task->what);
  for (size_t i = 0; i < FT_COUNT(PROBES); i++)
    if (PROBES[i].name == task->what &&
        (!before || number(task->entry, PROBES[i].rate) > number(before, PROBES[i].rate)))
      json_object_set(b->peaks, task->what, task->entry);
}
