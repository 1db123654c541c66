/* Times mixers side by side: how one layer's time and memory grow with the sequence's length,
 * forward and backward. nn/mixer.h lists the mixers. Called by bench.c. */
#include "bench.h"
#include "common/options.h"

#include "base/memory.h"
#include "nn/mixer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIDTH = 64,
  HEADS = 2,
  SHORTEST = 1024,
  LONGEST = 32768,
  SHORTEST_QUICK = 256,
  LONGEST_QUICK = 1024,
  GPU_BATCH = 16 /* one short sequence leaves most of a GPU idle */
};

/* ---- one layer ---- */

typedef struct layer {
  filtra_device *device;
  ft_mixer mixer;
  int64_t batch, length;
  filtra_parameters *params;
  bench_graph g;
  filtra_tensor *out[2]; /* the result; a loss or NULL */
} layer;

/* A mask without padding or gradient. */
static filtra_tensor *whole_mask(layer *l) {
  const int64_t shape[] = {l->batch, l->length}, count = l->batch * l->length;
  float *ones = ft_calloc((size_t)count, sizeof *ones);
  if (!ones) return ft_graph_fail(l->g.graph, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (int64_t i = 0; i < count; i++)
    ones[i] = 1.0f;
  filtra_tensor *mask = bench_operand(&l->g, "mask", FILTRA_F32, 2, shape, ones);
  free(ones);
  return mask;
}

static filtra_status build_layer(layer *l) {
  FT_TRY(filtra_graph_create(l->device, &(filtra_graph_options){.slots = 1, .training = true},
                             &l->g.graph));
  const int64_t shape[] = {l->batch, l->length, WIDTH};
  ft_scope scope = {.graph = l->g.graph, .params = l->params};
  /* with a gradient of the input, as in a stack of layers */
  filtra_mixer_input in = {.x = bench_numbers(&l->g, "x", 0.0f, 3, shape),
                           .mask = whole_mask(l),
                           .heads = HEADS,
                           .max_length = l->length};
  l->out[1] = NULL;
  l->out[0] = l->mixer.kind->build(&scope, l->mixer.options, &in, &l->out[1]);
  return ft_graph_status(l->g.graph);
}

static filtra_status compile_layer(layer *l) {
  FT_TRY(filtra_parameters_create(l->device, &l->params));
  FT_TRY(build_layer(l));
  if (filtra_parameters_count(l->params)) /* some mixers have no parameters */
    FT_TRY(filtra_parameters_commit(l->params, 1, FILTRA_TRAINABLE));
  FT_TRY(filtra_graph_backward(l->g.graph, l->out[1] ? 2 : 1, l->out, NULL));
  return filtra_graph_compile(l->g.graph);
}

/* ---- measurements of shorter sequences ---- */

typedef struct measured {
  double length[BENCH_LENGTHS], seconds[BENCH_LENGTHS], memory[BENCH_LENGTHS];
  size_t count;
  bool failed;    /* at another length */
  double skipped; /* the last length if it was skipped; else 0 */
} measured;

static double number(const json_t *entry, const char *key) {
  return json_number_value(json_object_get(entry, key));
}

static void find_measured(const bench *b, const ft_mixer_class *kind, measured *m) {
  size_t i;
  const json_t *e;
  *m = (measured){0};
  json_array_foreach(b->results, i, e) {
    if (strcmp(json_string_value(json_object_get(e, "op")), "mixer_layer") ||
        strcmp(json_string_value(json_object_get(e, "mixer")), kind->name))
      continue;
    m->failed = m->failed || json_object_get(e, "error");
    if (json_object_get(e, "error") || m->count == BENCH_LENGTHS) continue;
    m->skipped = json_object_get(e, "skipped") ? number(e, "length") : 0.0;
    if (m->skipped > 0.0) continue;
    m->length[m->count] = number(e, "length");
    m->seconds[m->count] = number(e, "seconds_best");
    m->memory[m->count++] = number(e, "memory_bytes");
  }
}

/* Extrapolates by the power law through the last two, or by the power `alone` from a single one; 0
 * if there is none. */
static double expected(const measured *m, const double *values, double alone, double length) {
  if (!m->count) return 0.0;
  size_t last = m->count - 1;
  double power = last ? bench_exponent(m->length + last - 1, values + last - 1, 2) : alone;
  return values[last] * pow(length / m->length[last], power);
}

/* ---- lengths left out ---- */

/* Skips a length that would exceed the limits, as extrapolated from shorter ones. After one length
 * a run counts as long as if it were of pairs of tokens, the longest that it can be; memory, which
 * check_memory knows before a run, as constant. */
static filtra_status check_bounds(const bench *b, const layer *l, json_t *entry) {
  const bench_arguments *a = b->arguments;
  measured m;
  find_measured(b, l->mixer.kind, &m);
  double seconds = expected(&m, m.seconds, 2.0, (double)l->length);
  double memory = expected(&m, m.memory, 0.0, (double)l->length) / (1 << 20);
  if (m.skipped > 0.0) return bench_skip(entry, "%.0f tokens were", m.skipped);
  if (a->most_seconds > 0.0f && seconds > (double)a->most_seconds)
    return bench_skip(entry, "a run would take %s %.3g s, --most-seconds is %g",
                      m.count > 1 ? "about" : "up to", seconds, (double)a->most_seconds);
  if (a->most_memory && memory > (double)a->most_memory)
    return bench_skip(entry, "it would take about %.0f MiB, --most-memory is %llu", memory,
                      (unsigned long long)a->most_memory);
  return FILTRA_OK;
}

/* Skips a length whose compiled graph uses more memory than allowed. */
static filtra_status check_memory(const bench *b, uint64_t memory, json_t *entry) {
  uint64_t mebibytes = memory >> 20;
  if (!b->arguments->most_memory || mebibytes <= b->arguments->most_memory) return FILTRA_OK;
  return bench_skip(entry, "it takes %llu MiB, --most-memory is %llu",
                    (unsigned long long)mebibytes, (unsigned long long)b->arguments->most_memory);
}

/* ---- measuring ---- */

static bool is_skipped(const json_t *entry) {
  return json_object_get(entry, "skipped") != NULL;
}

/* Running out of device memory is an error in a full benchmark; with a list of lengths it is a
 * result. */
static filtra_status compile_or_skip(const bench *b, layer *l, json_t *entry) {
  filtra_status status = compile_layer(l);
  if (status != FILTRA_ERROR_DEVICE_MEMORY || !b->arguments->length_count) return status;
  return bench_skip(entry, "%s", filtra_error_message());
}

static filtra_status time_layer(const bench *b, layer *l, json_t *entry) {
  bench_timing t;
  uint64_t before = filtra_device_memory_used(l->device);
  FT_TRY(check_bounds(b, l, entry));
  if (!is_skipped(entry)) FT_TRY(compile_or_skip(b, l, entry));
  uint64_t memory = filtra_device_memory_used(l->device) - before;
  if (!is_skipped(entry)) FT_TRY(check_memory(b, memory, entry));
  if (is_skipped(entry)) return FILTRA_OK;
  FT_TRY(bench_time_graph(l->g.graph, b->arguments->quick, &t));
  bench_add_work(b, entry, ft_graph_work(l->g.graph), &t);
  json_object_set_new(entry, "memory_bytes", json_integer((json_int_t)memory));
  return FILTRA_OK;
}

static filtra_status run_layer(bench *b, const bench_task *task) {
  const ft_mixer_class *kind = task->what;
  layer l = {.device = b->device,
             .batch = json_integer_value(json_object_get(task->entry, "batch")),
             .length = task->number};
  l.g = (bench_graph){.device = b->device, .backward = true};
  json_t *name = json_string(kind->name);
  filtra_status status = ft_mixer_read(name, "filtra bench", &l.mixer);
  json_decref(name);
  if (!status) status = time_layer(b, &l, task->entry);
  bench_graph_close(&l.g);
  filtra_parameters_destroy(&l.params);
  return status;
}

/* ---- growth ---- */

/* Fits exponents to the measured layers. */
static filtra_status run_scaling(bench *b, const bench_task *task) {
  measured m;
  find_measured(b, task->what, &m);
  if (m.count < 2 && !m.failed)
    return bench_skip(task->entry, "growth needs two lengths, measured was %s",
                      m.count ? "one" : "none");
  if (m.count < 2)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "fewer than two lengths could be measured");
  json_object_update_new(task->entry,
                         json_pack("{sf sf sf sf}", "from_length", m.length[0], "to_length",
                                   m.length[m.count - 1], "time_exponent",
                                   bench_exponent(m.length, m.seconds, m.count), "memory_exponent",
                                   bench_exponent(m.length, m.memory, m.count)));
  return FILTRA_OK;
}

/* ---- the plan ---- */

bool bench_read_lengths(const char *name, bench_arguments *a) {
  const char *at = a->lengths;
  for (bool more = true; more;) {
    char text[32];
    uint64_t length;
    size_t end = strcspn(at, ",");
    snprintf(text, sizeof text, "%.*s", (int)(end < 30 ? end : 30), at);
    if (!command_number(name, "--lengths", text, 1, BENCH_LONGEST, &length)) return false;
    size_t count = a->length_count;
    if (count == BENCH_LENGTHS || (count && (int64_t)length <= a->length[count - 1])) {
      command_misused(name, "--lengths is %s, accepted are at most %d numbers, each above the last",
                      a->lengths, BENCH_LENGTHS);
      return false;
    }
    a->length[a->length_count++] = (int64_t)length;
    more = at[end] == ',';
    at += end + more;
  }
  return true;
}

static void plan_layer(bench_plan *plan, const ft_mixer_class *kind, int64_t batch, int64_t n) {
  char name[64];
  snprintf(name, sizeof name, "%s, %lld x %lld tokens", kind->name, (long long)batch, (long long)n);
  json_t *entry = json_pack("{ss ss ss ss sI sI si si}", "op", "mixer_layer", "case", name, "pass",
                            "forward+backward", "mixer", kind->name, "batch", (json_int_t)batch,
                            "length", (json_int_t)n, "width", WIDTH, "heads", HEADS);
  bench_plan_add(plan, &(bench_task){.entry = entry,
                                     .part = BENCH_RESULT,
                                     .run = run_layer,
                                     .what = kind,
                                     .number = n,
                                     .weight = 1.0});
}

void bench_plan_layers(const bench *b, bench_plan *plan) {
  const bench_arguments *a = b->arguments;
  bool cpu = filtra_device_get_info(b->device)->device_class == FILTRA_DEVICE_CPU;
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    const ft_mixer_class *kind = ft_mixer_at(i);
    if (!command_listed(a->mixers, kind->name)) continue;
    for (size_t k = 0; k < a->length_count; k++)
      plan_layer(plan, kind, cpu ? 1 : GPU_BATCH, a->length[k]);
    for (int64_t n = a->quick ? SHORTEST_QUICK : SHORTEST;
         n <= (a->quick ? LONGEST_QUICK : LONGEST) && !a->length_count; n *= 2)
      plan_layer(plan, kind, cpu ? 1 : GPU_BATCH, n);
    bench_plan_add(plan, &(bench_task){.entry = json_pack("{ss ss ss}", "op", "mixer_scaling",
                                                          "case", kind->name, "mixer", kind->name),
                                       .part = BENCH_RESULT,
                                       .run = run_scaling,
                                       .what = kind});
  }
}
