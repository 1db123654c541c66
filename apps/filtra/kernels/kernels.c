/* filtra kernels: prints what a device's compiler reports about all kernels that models and the ops
 * of filtra/ops.h use. Nothing runs, so drivers without their GPU are enough. */
#include "common/options.h"

#include "base/memory.h"
#include "base/rng.h"
#include "ops/attention.h"
#include "ops/device.h"
#include "ops/trial.h"
#include "train/trainer.h"

#include <filtra/filtra.h>
#include <filtra/ops.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Models that together use all kernels; each is built with every possible mixer. Head widths and
 * lengths are those that select variants. */
static const struct {
  const char *options;
  int64_t batch, length;
} MODELS[] = {
    {"\"vocabulary\": 40, \"classes\": 10, \"max_length\": 1024, \"width\": 64, \"heads\": 2", 4,
     1024},
    {"\"vocabulary\": 40, \"classes\": 10, \"max_length\": 1024, \"width\": 64, \"heads\": 4", 32,
     1024},
    {"\"vocabulary\": 300, \"classes\": 2, \"max_length\": 4096, \"width\": 128, \"heads\": 1", 2,
     4096},
    {"\"vocabulary\": 300, \"classes\": 2, \"max_length\": 96, \"width\": 30, \"heads\": 3", 3, 77},
    {"\"features\": 12, \"classes\": 9, \"max_length\": 32, \"width\": 512, \"heads\": 8, "
     "\"norm\": "
     "\"post\", \"pooling\": \"flatten\", \"scale_embeddings\": true",
     16, 32},
    {"\"task\": \"pair_classification\", \"vocabulary\": 257, \"classes\": 2, \"max_length\": 256, "
     "\"width\": 64, \"heads\": 2",
     8, 256},
    {"\"task\": \"regression\", \"vocabulary\": 40, \"max_length\": 128, \"width\": 64, \"heads\": "
     "2",
     32, 128},
    {"\"task\": \"language_model\", \"vocabulary\": 65, \"max_length\": 256, \"width\": 128, "
     "\"heads\": 4",
     16, 256},
    {"\"features\": 3, \"classes\": 10, \"image_height\": 32, \"image_width\": 32, \"patch\": 4, "
     "\"max_length\": 1024, \"width\": 192, \"heads\": 3, \"pooling\": \"class_token\"",
     16, 1024},
};

typedef struct kernels_arguments {
  filtra_device_options device;
  bool json, markdown, strict, candidates, fingerprint;
} kernels_arguments;

/* A kernel, summarised over its variants. */
typedef struct kernel_row {
  const char *name;
  size_t variants, spilling;
  double registers, spills, scratch, shared, occupancy; /* the worst variant; < 0: unknown */
  uint32_t subgroup_low, subgroup_high;
} kernel_row;

typedef struct survey {
  filtra_device *device;
  kernel_row *rows;
  size_t count, capacity;
  size_t first; /* first pipeline to show */
  size_t shown; /* number of pipelines to show */
  bool compiling;
  uint64_t fingerprint; /* of the pipelines shown and the driver */
  json_t *list;         /* with --json: every executable */
} survey;

static void print_help(void) {
  command_print(
      "Usage: filtra kernels [OPTION]...\n"
      "Shows what the device's compiler makes of the kernels that models and ops ask for: "
      "registers,\n"
      "spills, scratch and shared memory, subgroup size and occupancy, the worst of each\n"
      "kernel's variants. Nothing runs: a driver without its GPU will do\n"
      "(docs/compilers.md). A dash: the driver does not tell.\n\n"
      "  --json             print one JSON object, with every variant and all numbers\n"
      "  --markdown         print a table for a document\n"
      "  --candidates       show what filtra tune may choose in place of the defaults, instead\n"
      "  --fingerprint      print a number for kernels, constants and driver; compile nothing\n"
      "  --strict           exit 1 when a variant spills or needs scratch memory\n%s",
      device_options_help);
}

/* ---- requesting the kernels ---- */

static filtra_status compile_model(survey *s, const ft_model_options *options, size_t number) {
  filtra_model *model = NULL;
  filtra_trainer *trainer = NULL;
  filtra_generator *generator = NULL;
  const filtra_train_options training = {
      .optimizer = {.kind = (filtra_optimizer_kind)(number % 3), .clip_norm = 1.0f}};
  FT_TRY(ft_model_new(s->device, options, 1, &model));
  filtra_status status = filtra_trainer_create(model, &training, &trainer);
  if (!status)
    status = filtra_trainer_prepare(trainer, MODELS[number].batch, MODELS[number].length);
  if (!status && options->config.task == FILTRA_TASK_LANGUAGE_MODEL)
    status = filtra_generator_create(model, NULL, &generator);
  filtra_generator_destroy(&generator);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  return status;
}

/* Some mixers cannot be used in some models; their error is ignored. */
static filtra_status survey_model(survey *s, const ft_mixer_class *mixer, size_t number) {
  ft_model_options options;
  json_t *object = NULL;
  char *text = ft_format("{\"mixer\": \"%s\", \"dropout\": 0.1, \"layers\": 1, %s}", mixer->name,
                         MODELS[number].options);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_json_parse(text, strlen(text), "model", &object);
  if (!status) {
    status = ft_model_options_read(object, "model", &options);
    if (status == FILTRA_ERROR_INPUT)
      status = FILTRA_OK;
    else if (!status)
      status = compile_model(s, &options, number);
  }
  json_decref(object);
  free(text);
  return status;
}

/* An input with a gradient. */
static filtra_tensor *numbers(filtra_graph *g, int ndim, const int64_t *shape) {
  filtra_tensor *t = filtra_graph_input(g, "numbers", FILTRA_F32, ndim, shape);
  filtra_graph_require_gradient(g, t);
  return t;
}

/* Requests kernels that the models do not use: ops for applications, and options. */
static filtra_status ask_for_ops(survey *s) {
  enum { B = 4, N = 1000, C = 64 };
  const int64_t shape[] = {B, N, C}, row[] = {C}, count[] = {N / 2}, gates[] = {3 * C, C},
                bias[] = {N, N}, plane[] = {B, N, 2};
  filtra_graph *g = NULL;
  FT_TRY(filtra_graph_create(s->device, &(filtra_graph_options){.slots = 1}, &g));
  filtra_tensor *x = numbers(g, 3, shape), *heads = filtra_split_heads(g, numbers(g, 3, shape), 2);
  filtra_tensor *indices = filtra_graph_input(g, "indices", FILTRA_I32, 1, count);
  filtra_tensor *z = filtra_complex(g, x, x), *re, *im, *scores = numbers(g, 2, bias);
  filtra_complex_parts(g, z, &re, &im);
  filtra_tensor *half = filtra_cast(g, x, FILTRA_F16), *brain = filtra_cast(g, x, FILTRA_BF16);
  filtra_tensor *y[] = {
      filtra_divide(g, x, numbers(g, 1, row)),
      filtra_softmax(g, x, 1),
      filtra_max(g, x, 2, FILTRA_DROP_AXIS),
      filtra_mean(g, x, 1, FILTRA_DROP_AXIS),
      filtra_cumulative_sum(g, x, 1, FILTRA_BACKWARD),
      filtra_transpose(g, x, 1, 2),
      filtra_gather(g, x, 1, indices),
      filtra_activate(g, x, FILTRA_ACTIVATION_SIGMOID),
      filtra_add_sinusoids(g, x),
      filtra_gru(g, x, numbers(g, 2, gates), numbers(g, 2, gates), numbers(g, 1, gates),
                 numbers(g, 1, gates)),
      re,
      im,
      filtra_complex_multiply(g, numbers(g, 3, plane), z),
      filtra_cast(g, half, FILTRA_F32),
      filtra_cast(g, half, FILTRA_F32),
      filtra_cast(g, brain, FILTRA_F32),
      filtra_cast(g, brain, FILTRA_F32),
      filtra_attention(g, heads, heads, heads, &(filtra_attention_options){.bias = scores}),
      filtra_plaplacian(g, heads, heads, heads,
                        &(filtra_plaplacian_options){.attention.bias = scores})};
  filtra_graph_output(
      g, filtra_argsort(g, filtra_graph_input(g, "keys", FILTRA_F32, 2, plane), NULL, FILTRA_SORT));
  filtra_status status = filtra_graph_backward(g, FT_COUNT(y), y, NULL);
  if (!status) status = filtra_graph_compile(g);
  filtra_graph_destroy(&g);
  return status;
}

/* Requests products of 16-bit operands, for large and small tiles, with results of both types. */
static filtra_status ask_for_products(survey *s, filtra_dtype type) {
  static const int64_t shapes[][3] = {{16, 1024, 512}, {3, 77, 30}}; /* batch, tokens, width */
  filtra_tensor *y[3 * FT_COUNT(shapes)];
  size_t count = 0;
  filtra_graph *g = NULL;
  FT_TRY(filtra_graph_create(s->device, &(filtra_graph_options){.slots = 1, .training = true}, &g));
  for (size_t i = 0; i < FT_COUNT(shapes); i++) {
    const int64_t *shape = shapes[i], width = shape[2], square[] = {width, width};
    filtra_tensor *x = filtra_cast(g, numbers(g, 3, shape), type);
    filtra_tensor *w = filtra_cast(g, numbers(g, 2, square), type), *b = numbers(g, 1, &width);
    y[count++] =
        filtra_linear(g, x, w, b,
                      &(filtra_linear_options){
                          .activation = FILTRA_ACTIVATION_GELU, .dropout = 0.1f, .dtype = type});
    y[count++] = filtra_linear(
        g, x, w, b, &(filtra_linear_options){.dropout = 0.1f, .residual = numbers(g, 3, shape)});
    y[count++] = filtra_matmul(g, x, x, &(filtra_matmul_options){.transpose_b = true});
  }
  filtra_status status = filtra_graph_backward(g, count, y, NULL);
  if (!status) status = filtra_graph_compile(g);
  filtra_graph_destroy(&g);
  return status;
}

/* Requests attention and ops based on it in 16 bits, for head widths that select tilings and for
 * one that is not a multiple of four; with a bias for one of the types only, to halve the time. */
static filtra_status ask_for_weights(survey *s, filtra_dtype dtype, float dropout) {
  enum { B = 4, N = 1000, H = 2 };
  static const int64_t widths[] = {15, 32, 64, 128};
  const int64_t bias[] = {N, N}, count[] = {H};
  filtra_tensor *y[3 * FT_COUNT(widths)];
  size_t results = 0;
  filtra_graph *g = NULL;
  FT_TRY(filtra_graph_create(s->device, &(filtra_graph_options){.slots = 1, .training = true}, &g));
  for (size_t i = 0; i < FT_COUNT(widths); i++) {
    const int64_t width = widths[i], shape[] = {B, N, H * width};
    filtra_tensor *x[3], *w = numbers(g, 1, count);
    const filtra_attention_options o = {.causal = true,
                                        .dropout = dropout,
                                        .bias = dtype == FILTRA_BF16 ? numbers(g, 2, bias) : NULL};
    for (int k = 0; k < 3; k++)
      x[k] = filtra_split_heads(g, filtra_cast(g, numbers(g, 3, shape), dtype), H);
    filtra_tensor *of[] = {
        filtra_attention(g, x[0], x[1], x[2], &o),
        filtra_gfsa(g, x[0], x[1], x[2], w, w, w, &(filtra_gfsa_options){.attention = o}),
        filtra_plaplacian(g, x[0], x[1], x[2], &(filtra_plaplacian_options){.attention = o})};
    for (size_t k = 0; k < FT_COUNT(of); k++)
      y[results++] = filtra_cast(g, filtra_merge_heads(g, of[k]), FILTRA_F32);
  }
  filtra_status status = filtra_graph_backward(g, results, y, NULL);
  if (!status) status = filtra_graph_compile(g);
  filtra_graph_destroy(&g);
  return status;
}

/* Requests it with and without dropout on the weights, which needs registers. */
static filtra_status ask_for_attention(survey *s, filtra_dtype dtype) {
  FT_TRY(ask_for_weights(s, dtype, 0));
  return ask_for_weights(s, dtype, 0.1f);
}

/* Requests the attentive graph filter in 16 bits, with padding and its loss. */
static filtra_status ask_for_filter(survey *s, filtra_dtype dtype) {
  enum { B = 4, N = 1000, C = 64, PARTS = 4 };
  const int64_t shape[] = {B, N, C}, orders[] = {6};
  filtra_graph *g = NULL;
  FT_TRY(filtra_graph_create(s->device, &(filtra_graph_options){.slots = 1, .training = true}, &g));
  filtra_tensor *x[PARTS], *ortho, *mask = filtra_graph_input(g, "mask", FILTRA_F32, 2, shape);
  for (int i = 0; i < PARTS; i++)
    x[i] = filtra_split_heads(g, filtra_cast(g, numbers(g, 3, shape), dtype), 2);
  filtra_tensor *y = filtra_agf(g, x[0], x[1], x[2], x[3], numbers(g, 1, orders),
                                &(filtra_agf_options){.mask = mask, .ortho = &ortho});
  filtra_tensor *of[] = {filtra_cast(g, filtra_merge_heads(g, y), FILTRA_F32), ortho};
  filtra_status status = filtra_graph_backward(g, FT_COUNT(of), of, NULL);
  if (!status) status = filtra_graph_compile(g);
  filtra_graph_destroy(&g);
  return status;
}

static filtra_status ask_for_all(survey *s) {
  for (size_t m = 0; m < filtra_mixer_count(); m++)
    for (size_t i = 0; i < FT_COUNT(MODELS); i++) {
      filtra_status status = survey_model(s, ft_mixer_at(m), i);
      if (status)
        return ft_fail_context(status, "model %zu with mixer %s", i, ft_mixer_at(m)->name);
    }
  for (filtra_dtype dtype = FILTRA_F16; dtype <= FILTRA_BF16; dtype++) {
    if (ft_check_precision(s->device, dtype)) continue;
    FT_TRY(ask_for_products(s, dtype));
    FT_TRY(ask_for_attention(s, dtype));
    FT_TRY(ask_for_filter(s, dtype));
  }
  return ask_for_ops(s);
}

/* ---- alternatives that tuning may choose ---- */

static filtra_status compile_trial(survey *s, const ft_tuning_question *q) {
  ft_trial trial = {0};
  FT_TRY(filtra_graph_create(s->device, &(filtra_graph_options){.slots = 1, .training = true},
                             &trial.graph));
  ft_trial_build(&trial, q, false);
  filtra_status status = filtra_graph_compile(trial.graph);
  filtra_graph_destroy(&trial.graph);
  return status;
}

/* Compiles every row usable for this problem. The number of chunks does not change the kernel. */
static filtra_status compile_rows(survey *s, const ft_tuning_question *q) {
  for (size_t i = 0; i < ft_configurations(q->family)->row_count; i++) {
    ft_tuning forced = {.forced = true,
                        .forced_family = q->family,
                        .forced_configuration = ft_configuration_at(q->family, i)};
    ft_tuning *before = ft_tuning_use(s->device, &forced);
    filtra_status status = compile_trial(s, q);
    ft_tuning_use(s->device, before);
    if (status) return ft_fail_context(status, "%s", q->key);
  }
  return FILTRA_OK;
}

/* First compiles each problem alone with its default, which differs slightly from the one within
 * models. */
static filtra_status ask_for_candidates(survey *s, const ft_tuning *asked) {
  for (size_t i = 0; i < asked->question_count; i++)
    FT_TRY(compile_trial(s, &asked->questions[i]));
  s->first = ft_pipeline_count(s->device);
  for (size_t i = 0; i < asked->question_count; i++)
    FT_TRY(compile_rows(s, &asked->questions[i]));
  return FILTRA_OK;
}

static filtra_status ask(survey *s, bool candidates) {
  ft_tuning *asked = ft_tuning_new();
  if (!asked) return FILTRA_ERROR_HOST_MEMORY;
  asked->collect = candidates;
  ft_tuning *before = ft_tuning_use(s->device, asked);
  filtra_status status = ask_for_all(s);
  ft_tuning_use(s->device, before);
  if (!status && candidates) status = ask_for_candidates(s, asked);
  ft_tuning_release(&asked);
  return status;
}

/* ---- collecting ---- */

static void worst(double *of, double value, bool low) {
  if (value >= 0.0 && (*of < 0.0 || (low ? value < *of : value > *of))) *of = value;
}

static kernel_row *row_for(survey *s, const char *name) {
  for (size_t i = 0; i < s->count; i++)
    if (!strcmp(s->rows[i].name, name)) return &s->rows[i];
  if (FT_GROW(s->rows, s->count, s->capacity)) return NULL;
  s->rows[s->count] = (kernel_row){.name = name,
                                   .registers = -1,
                                   .spills = -1,
                                   .scratch = -1,
                                   .shared = -1,
                                   .occupancy = -1,
                                   .subgroup_low = UINT32_MAX};
  return &s->rows[s->count++];
}

static bool wants_memory(const ft_executable *e) {
  return e->spills > 0.0 || e->scratch > 0.0;
}

static void add_to_row(kernel_row *row, const ft_executable *e) {
  row->variants++;
  row->spilling += wants_memory(e);
  worst(&row->registers, e->registers, false);
  worst(&row->spills, e->spills, false);
  worst(&row->scratch, e->scratch, false);
  worst(&row->shared, e->shared, false);
  worst(&row->occupancy, e->occupancy, true);
  if (e->subgroup < row->subgroup_low) row->subgroup_low = e->subgroup;
  if (e->subgroup > row->subgroup_high) row->subgroup_high = e->subgroup;
}

/* Prints whole numbers with all digits. */
static json_t *number_json(double x) {
  const double most = 9007199254740992.0; /* 2^53 */
  return x == floor(x) && fabs(x) <= most ? json_integer((json_int_t)x) : json_real(x);
}

static json_t *executable_json(const ft_kernel_key *key, const ft_executable *e) {
  json_t *constants = json_array(), *raw = json_object();
  for (uint32_t i = 0; i < key->spec_count; i++)
    json_array_append_new(constants, json_integer(key->spec[i]));
  for (uint32_t i = 0; i < e->raw_count; i++)
    json_object_set_new(raw, e->raw[i].name, number_json(e->raw[i].value));
  return json_pack("{ss ss sI so sI sb so}", "kernel", key->kernel, "program", e->name, "workgroup",
                   (json_int_t)key->workgroup, "constants", constants, "subgroup",
                   (json_int_t)e->subgroup, "spills", (int)wants_memory(e), "statistics", raw);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const kernel_row *)a)->name, ((const kernel_row *)b)->name);
}

/* Collects the kernels whose name contains `part`. */
static filtra_status gather(survey *s, const char *part) {
  if (s->compiling) FT_TRY(ft_pipelines_compile(s->device));
  for (size_t i = s->first; i < ft_pipeline_count(s->device); i++) {
    const ft_kernel_key *key = ft_pipeline_key(s->device, i);
    static ft_executable list[FT_MAX_EXECUTABLES];
    uint32_t count;
    if (!strstr(key->kernel, part)) continue;
    s->shown++;
    s->fingerprint = ft_pipeline_fingerprint(s->device, i, s->fingerprint);
    if (!s->compiling) continue;
    FT_TRY(ft_pipeline_statistics(s->device, i, list, &count));
    for (uint32_t k = 0; k < count; k++) {
      kernel_row *row = row_for(s, key->kernel);
      if (!row) return FILTRA_ERROR_HOST_MEMORY;
      add_to_row(row, &list[k]);
      if (s->list) json_array_append_new(s->list, executable_json(key, &list[k]));
    }
  }
  qsort(s->rows, s->count, sizeof *s->rows, by_name);
  return FILTRA_OK;
}

static size_t spilling(const survey *s) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++)
    count += s->rows[i].spilling;
  return count;
}

/* ---- printing ---- */

/* Prints a cell, right-aligned in a terminal's table. */
static void print_cell(const char *text, int width, bool markdown) {
  if (markdown)
    command_print(" %s |", text);
  else
    command_print(" %*s", width, text);
}

static void print_number(double value, int width, bool markdown) {
  char text[32] = "-";
  if (value >= 0.0) snprintf(text, sizeof text, "%.0f", value);
  print_cell(text, width, markdown);
}

static void print_row(const kernel_row *r, bool markdown) {
  char sizes[32];
  snprintf(sizes, sizeof sizes, r->subgroup_low == r->subgroup_high ? "%u" : "%u-%u",
           r->subgroup_low, r->subgroup_high);
  command_print(markdown ? "| %s |" : "%-30s", r->name);
  print_number((double)r->variants, 8, markdown);
  print_cell(sizes, 8, markdown);
  print_number(r->registers, 9, markdown);
  print_number(r->spills, 6, markdown);
  print_number(r->scratch, 7, markdown);
  print_number(r->shared, 6, markdown);
  print_number(r->occupancy, 9, markdown);
  command_print("\n");
}

static void print_table(const survey *s, bool markdown) {
  const filtra_device_info *info = filtra_device_get_info(s->device);
  if (markdown)
    command_print(
        "## %s\n\n%s. %zu variants, of which %zu spill. Fingerprint %016llx.\n\n"
        "| kernel | variants | subgroup | registers | spills | scratch | shared | occupancy |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n",
        info->name, info->driver, s->shown, spilling(s), (unsigned long long)s->fingerprint);
  else
    command_print("%s, %s\n\n%-30s %8s %8s %9s %6s %7s %6s %9s\n", info->name, info->driver,
                  "kernel", "variants", "subgroup", "registers", "spills", "scratch", "shared",
                  "occupancy");
  for (size_t i = 0; i < s->count; i++)
    print_row(&s->rows[i], markdown);
  if (!markdown)
    command_print("\n%zu kernels, %zu variants, of which %zu spill or need scratch memory.\n",
                  s->count, s->shown, spilling(s));
}

static int print(const kernels_arguments *a, const survey *s) {
  const filtra_device_info *info = filtra_device_get_info(s->device);
  if (a->fingerprint) {
    command_print("%016llx\n", (unsigned long long)s->fingerprint);
    return COMMAND_DONE;
  }
  if (!a->json) {
    print_table(s, a->markdown);
    return COMMAND_DONE;
  }
  return command_print_json("filtra kernels",
                            json_pack("{ss ss sI sI sO}", "device", info->name, "driver",
                                      info->driver, "pipelines", (json_int_t)s->shown, "spilling",
                                      (json_int_t)spilling(s), "programs", s->list));
}

/* Adds attention's kernels on matrix units through a second device handle that forces them: nothing
 * runs, so no self-test is needed. docs/compilers.md covers those of products. Capabilities that
 * were given hold here, too; where they say when to use matrix units, that is what is shown. */
static filtra_status add_matrices(survey *s, const kernels_arguments *a) {
  survey trusting = *s;
  filtra_device_options options = a->device;
  const char *given = options.caps ? options.caps : getenv("FILTRA_CAPS");
  if (!ft_caps_of(s->device)->matrix || (given && strstr(given, "matrix")) || a->candidates)
    return FILTRA_OK;
  char *caps = ft_format("%s%smatrix=force", given ? given : "", given && *given ? "," : "");
  if (!caps) return FILTRA_ERROR_HOST_MEMORY;
  options.caps = caps;
  filtra_status status = ft_device_open_compiler(&options, &trusting.device);
  free(caps);
  FT_TRY(status);
  for (filtra_dtype dtype = FILTRA_F16; dtype <= FILTRA_BF16 && !status; dtype++)
    if (ft_attention_matrix_there(trusting.device, dtype))
      status = ask_for_attention(&trusting, dtype);
  if (!status) status = gather(&trusting, "_matrix");
  filtra_device_close(&trusting.device);
  trusting.device = s->device;
  *s = trusting;
  return status;
}

static uint64_t driver_of(const filtra_device *device) {
  const filtra_device_info *info = filtra_device_get_info(device);
  return ft_hash_bytes(ft_hash_text(info->name), info->driver, strlen(info->driver));
}

static int survey_kernels(const kernels_arguments *a) {
  survey s = {.list = a->json ? json_array() : NULL, .compiling = !a->fingerprint};
  filtra_status status = ft_device_open_compiler(&a->device, &s.device);
  if (!status) s.fingerprint = driver_of(s.device);
  if (!status) status = ask(&s, a->candidates);
  if (!status) status = gather(&s, "");
  if (!status) status = add_matrices(&s, a);
  int code = status ? command_fail("filtra kernels", status) : print(a, &s);
  if (!code && a->strict && spilling(&s)) {
    fprintf(stderr, "filtra kernels: %zu variants spill or need scratch memory\n", spilling(&s));
    code = COMMAND_FAILED;
  }
  json_decref(s.list);
  free(s.rows);
  filtra_device_close(&s.device);
  return code;
}

static const command_option OPTIONS[] = {
    COMMAND_FLAG("json", kernels_arguments, json),
    COMMAND_FLAG("markdown", kernels_arguments, markdown),
    COMMAND_FLAG("strict", kernels_arguments, strict),
    COMMAND_FLAG("candidates", kernels_arguments, candidates),
    COMMAND_FLAG("fingerprint", kernels_arguments, fingerprint),
};

int run_kernels(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true};
  kernels_arguments a = {.device.cache_dir = ""}; /* cached kernels have no statistics */
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (a.json + a.markdown + a.fingerprint > 1)
    return command_misused(argv[0], "give one of --json, --markdown and --fingerprint");
  return survey_kernels(&a);
}
