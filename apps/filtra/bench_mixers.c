/* Mixers side by side: how one layer's time and memory grow with the length of a sequence, forward
 * and backward, and what a whole train step takes. Which mixers there are, the table of nn/mixer.h
 * says. */
#include "bench.h"

#include "base/memory.h"
#include "model/model.h"
#include "nn/mixer.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIDTH = 64,
  HEADS = 2,
  SHORTEST = 1024,
  LONGEST = 32768,
  LONGEST_QUICK = 4096,
  MOST_LENGTHS = 8,
  GPU_BATCH = 16 /* one sequence of the shortest would leave most of a GPU idle */
};

/* ---- one layer ---- */

typedef struct layer {
  filtra_device *device;
  const ft_mixer *mixer;
  int64_t batch, length;
  filtra_parameters *params;
  filtra_graph *graph;
  filtra_tensor *x, *mask, *out[2]; /* the result, and a loss or NULL */
} layer;

static filtra_status build_layer(layer *l) {
  FT_TRY(filtra_graph_create(l->device, &(filtra_graph_options){.slots = 1, .training = true},
                             &l->graph));
  filtra_graph *g = l->graph;
  l->x = filtra_graph_input(g, "x", FILTRA_F32, 3, (int64_t[]){l->batch, l->length, WIDTH});
  l->mask = filtra_graph_input(g, "mask", FILTRA_F32, 2, (int64_t[]){l->batch, l->length});
  if (l->x) filtra_graph_require_gradient(g, l->x);
  ft_scope scope = {.graph = g, .params = l->params};
  ft_mixer_input in = {.x = l->x, .mask = l->mask, .heads = HEADS};
  l->out[1] = NULL;
  l->out[0] = l->mixer->kind->build(&scope, l->mixer->options, &in, &l->out[1]);
  return ft_graph_status(g);
}

/* Parameters are declared by building once. The gradient reaches the input as in a stack of layers.
 */
static filtra_status compile_layer(layer *l) {
  FT_TRY(filtra_parameters_create(l->device, &l->params));
  FT_TRY(build_layer(l));
  filtra_graph_destroy(&l->graph);
  FT_TRY(filtra_parameters_commit(l->params, 1, true));
  FT_TRY(build_layer(l));
  FT_TRY(filtra_graph_backward(l->graph, l->out[1] ? 2 : 1, l->out, NULL));
  FT_TRY(filtra_graph_compile(l->graph));
  FT_TRY(bench_fill(l->graph, l->x, 0.0f));
  return bench_fill(l->graph, l->mask, 1.0f); /* above 0 */
}

static filtra_status time_layer(layer *l, int repeats, bench_timing *t, uint64_t *memory) {
  uint64_t before = filtra_device_memory_used(l->device);
  filtra_status status = compile_layer(l);
  *memory = filtra_device_memory_used(l->device) - before;
  if (!status) status = bench_time_graph(l->graph, repeats, t);
  filtra_graph_destroy(&l->graph);
  filtra_parameters_destroy(&l->params);
  return status;
}

/* ---- growth ---- */

typedef struct growth {
  double length[MOST_LENGTHS], seconds[MOST_LENGTHS], bytes[MOST_LENGTHS];
  size_t count;
} growth;

static json_t *shape_json(const char *op, const char *mixer, int64_t batch, int64_t length) {
  return json_pack("{ss ss sI sI si si}", "op", op, "mixer", mixer, "batch", (json_int_t)batch,
                   "length", (json_int_t)length, "width", WIDTH, "heads", HEADS);
}

static void report_layer(const bench_arguments *a, const layer *l, const bench_timing *t,
                         uint64_t memory, json_t *results) {
  const char *name = l->mixer->kind->name;
  json_t *object = shape_json("mixer_layer", name, l->batch, l->length);
  bench_timing_json(object, "", t);
  json_object_set_new(object, "memory_bytes", json_integer((json_int_t)memory));
  json_array_append_new(results, object);
  if (!a->json)
    printf("%-12s %6lld tokens x %-3lld %11.3f ms best %11.3f median %11.3f worst %9.1f MiB\n",
           name, (long long)l->length, (long long)l->batch, 1e3 * t->best, 1e3 * t->median,
           1e3 * t->worst, (double)memory / (1 << 20));
  fflush(stdout);
}

static void report_growth(const bench_arguments *a, const ft_mixer *mixer, const growth *s,
                          json_t *results) {
  double time = bench_exponent(s->length, s->seconds, s->count);
  double memory = bench_exponent(s->length, s->bytes, s->count);
  json_array_append_new(results, json_pack("{ss ss sf sf sf sf}", "op", "mixer_scaling", "mixer",
                                           mixer->kind->name, "from_length", s->length[0],
                                           "to_length", s->length[s->count - 1], "time_exponent",
                                           time, "memory_exponent", memory));
  if (!a->json)
    printf("%-12s time grows as n^%.2f, memory as n^%.2f, n from %.0f to %.0f\n", mixer->kind->name,
           time, memory, s->length[0], s->length[s->count - 1]);
}

static filtra_status bench_growth(const bench_arguments *a, filtra_device *device,
                                  const ft_mixer *mixer, json_t *results) {
  bool cpu = filtra_device_get_info(device)->device_class == FILTRA_DEVICE_CPU;
  growth s = {.count = 0};
  for (int64_t n = SHORTEST; n <= (a->quick ? LONGEST_QUICK : LONGEST); n *= 2) {
    layer l = {.device = device, .mixer = mixer, .batch = cpu ? 1 : GPU_BATCH, .length = n};
    bench_timing t;
    uint64_t memory;
    FT_TRY(time_layer(&l, a->quick ? BENCH_QUICK_REPEATS : BENCH_REPEATS, &t, &memory));
    report_layer(a, &l, &t, memory, results);
    s.length[s.count] = (double)n;
    s.seconds[s.count] = t.best;
    s.bytes[s.count++] = (double)memory;
  }
  report_growth(a, mixer, &s, results);
  return FILTRA_OK;
}

/* ---- a train step ---- */

enum { BATCH = 4, LENGTH = 1024, LAYERS = 2, FFN = 128, VOCABULARY = 32, CLASSES = 10 };

typedef struct step {
  filtra_trainer *trainer;
  filtra_batch batch;
} step;

static filtra_status take_step(void *context) {
  step *s = context;
  FT_TRY(filtra_trainer_step(s->trainer, &s->batch, NULL));
  return filtra_trainer_finish(s->trainer, NULL);
}

/* *memory: what the device holds meanwhile. */
static filtra_status time_step(const bench_arguments *a, filtra_model *model,
                               const filtra_device *used, bench_timing *host, bench_timing *device,
                               uint64_t *memory) {
  static int32_t tokens[BATCH * LENGTH], lengths[BATCH], labels[BATCH];
  static float weights[BATCH];
  for (int i = 0; i < BATCH * LENGTH; i++)
    tokens[i] = 1 + (int32_t)((uint32_t)i * 2654435761u >> 16) % (VOCABULARY - 1);
  for (int i = 0; i < BATCH; i++) {
    lengths[i] = LENGTH;
    labels[i] = i % CLASSES;
    weights[i] = 1.0f;
  }
  step s = {.batch = {.size = BATCH,
                      .length = LENGTH,
                      .count = BATCH,
                      .tokens = tokens,
                      .lengths = lengths,
                      .labels = labels,
                      .weights = weights}};
  FT_TRY(filtra_trainer_create(model, &(filtra_train_options){.learning_rate = 1e-3f}, &s.trainer));
  int repeats = a->quick ? BENCH_QUICK_REPEATS : BENCH_REPEATS;
  filtra_status status = filtra_trainer_prepare(s.trainer, BATCH, LENGTH);
  if (!status) status = bench_time(take_step, &s, repeats, host);
  if (!status) status = bench_time_graph(s.trainer->graphs[0]->batch.graph, repeats, device);
  *memory = filtra_device_memory_used(used);
  filtra_trainer_destroy(&s.trainer);
  return status;
}

static void report_step(const bench_arguments *a, const ft_mixer *mixer, const bench_timing *host,
                        const bench_timing *device, uint64_t memory, json_t *results) {
  double tokens = (double)(BATCH * LENGTH) / host->median;
  json_t *object = shape_json("train_step", mixer->kind->name, BATCH, LENGTH);
  json_object_update_new(object, json_pack("{si si sf sI}", "layers", LAYERS, "ffn_width", FFN,
                                           "tokens_per_second", tokens, "memory_bytes",
                                           (json_int_t)memory));
  bench_timing_json(object, "", host);
  bench_timing_json(object, "device_", device);
  json_array_append_new(results, object);
  if (!a->json)
    printf("%-12s train step   %11.3f ms best %11.3f median %11.3f worst %9.1f MiB, on the device "
           "%.3f ms, %.0f tokens/s\n",
           mixer->kind->name, 1e3 * host->best, 1e3 * host->median, 1e3 * host->worst,
           (double)memory / (1 << 20), 1e3 * device->best, tokens);
  fflush(stdout);
}

static filtra_status bench_step(const bench_arguments *a, filtra_device *device,
                                const ft_mixer *mixer, json_t *results) {
  filtra_model *model;
  uint64_t before = filtra_device_memory_used(device), memory = 0;
  FT_TRY(filtra_model_create(device,
                             &(filtra_model_config){.mixer = mixer->kind->name,
                                                    .vocabulary = VOCABULARY,
                                                    .classes = CLASSES,
                                                    .max_length = LENGTH,
                                                    .layers = LAYERS,
                                                    .heads = HEADS,
                                                    .width = WIDTH,
                                                    .ffn_width = FFN,
                                                    .seed = 1},
                             &model));
  bench_timing host, on_device;
  filtra_status status = time_step(a, model, device, &host, &on_device, &memory);
  if (!status) report_step(a, mixer, &host, &on_device, memory - before, results);
  filtra_model_destroy(&model);
  return status;
}

/* ---- which mixers ---- */

static bool listed(const char *list, const char *name) {
  size_t length = strlen(name);
  if (!strcmp(list, "all")) return true;
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
    if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
  return false;
}

bool bench_mixers_known(const char *list, char unknown[64]) {
  if (!strcmp(list, "all")) return true;
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
    bool found = false;
    snprintf(unknown, 64, "%.*s", (int)strcspn(at, ","), at);
    for (size_t i = 0; i < ft_mixer_count; i++)
      found = found || !strcmp(unknown, ft_mixers[i]->name);
    if (!found) return false;
  }
  return true;
}

filtra_status bench_mixers(const bench_arguments *a, json_t *results) {
  filtra_device *device;
  FT_TRY(filtra_device_open(&a->device, &device));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < ft_mixer_count && !status; i++) {
    if (!listed(a->mixers, ft_mixers[i]->name)) continue;
    ft_mixer mixer;
    json_t *name = json_string(ft_mixers[i]->name);
    status = ft_mixer_read(name, "filtra bench", &mixer);
    json_decref(name);
    if (!status) status = bench_growth(a, device, &mixer, results);
    if (!status) status = bench_step(a, device, &mixer, results);
  }
  filtra_device_close(&device);
  return status;
}
