/* Checks how the vendors' compilers compile the hot loops of a train step.
 *
 *   vendor_loops NAME [RECORD.tsv]
 *
 * Builds train steps on a device that only compiles: of every mixer at two shapes in fp32, and of
 * some in fp16, on matrix units if it has them. Prints two tables for each shape: the steps, and
 * the kernels with their hot loops. With a record of earlier tables, compares each value: prints
 * those that are more than 5 % worse, and exits with 1 (77: there is no such device, or the record
 * is another driver's). */
#include "vendors/assembly.h"
#include "vendors/chip.h"

#include "base/json.h"
#include "base/memory.h"
#include "gemm/contract.h"
#include "gpu/internal.h"
#include "graph/program.h"
#include "nn/mixer.h"
#include "ops/device.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE                                                                                      \
  "\"vocabulary\": 256, \"classes\": 10, \"max_length\": 1024, \"width\": 512, \"heads\": 8, "     \
  "\"ffn_width\": 2048, \"layers\": 6"

static const struct shape {
  const char *name, *options;
  int64_t batch, length;
  bool narrow; /* only mixers that take 16-bit numbers */
} SHAPES[] = {
    {"large", LARGE, 32, 1024, false},
    {"LRA",
     "\"vocabulary\": 256, \"classes\": 10, \"max_length\": 2048, \"width\": 64, \"heads\": 2, "
     "\"ffn_width\": 128, \"layers\": 2",
     32, 2048, false},
    {"large, fp16", LARGE ", \"precision\": \"fp16\"", 32, 1024, true},
};

/* The judged columns of both tables. */
typedef struct quantity {
  const char *title;
  bool more_is_better;
  int digits;
} quantity;

enum { CALLS, BARRIERS, ALONE, EXECUTED, STEP_COLUMNS };
static const quantity STEP[STEP_COLUMNS] = {
    [CALLS] = {"calls", false, 0},
    [BARRIERS] = {"barriers", false, 0},
    [ALONE] = {"alone and small", false, 0},
    [EXECUTED] = {"executed / useful", false, 2},
};

enum {
  SHARE,
  MATRIX,
  HALF_RATE,
  SHARED,
  GLOBAL,
  FLIGHT,
  DRAINS,
  SYNCS,
  MEMORY,
  WORKGROUPS,
  REGISTERS,
  SPILLS,
  OCCUPANCY,
  KERNEL_COLUMNS
};
static const quantity KERNEL[KERNEL_COLUMNS] = {
    [SHARE] = {"multiply-adds %", true, 1}, [MATRIX] = {"matrix %", true, 1},
    [HALF_RATE] = {"half rate %", true, 1}, [SHARED] = {"shared bytes", false, 2},
    [GLOBAL] = {"global", false, 1},        [FLIGHT] = {"in flight", true, 1},
    [DRAINS] = {"drains %", false, 1},      [SYNCS] = {"barriers", false, 1},
    [MEMORY] = {"memory %", false, 0},      [WORKGROUPS] = {"workgroups", true, 0},
    [REGISTERS] = {"registers", false, 0},  [SPILLS] = {"spills", false, 0},
    [OCCUPANCY] = {"occupancy", true, 1},
};

/* A line of a table; a value below 0 is a dash. */
typedef struct row {
  const char *name;
  double work, value[KERNEL_COLUMNS];
  double sum[KERNEL_COLUMNS], of[KERNEL_COLUMNS]; /* while it is added up */
} row;

typedef struct table {
  row *rows;
  size_t count, capacity;
} table;

/* A call of a kernel for products; each of its batch entries and parts of k is one. */
typedef struct product {
  size_t pipeline;
  tiled_product tiles;
  double work;
} product;

typedef struct gate {
  filtra_device *device;
  const chip *chip;
  char *record; /* what the tables were; NULL: not compared */
  int worse;
  product *products; /* of a shape's steps */
  size_t product_count, product_capacity;
} gate;

static int refuse(const char *what) {
  fprintf(stderr, "vendor_loops: %s: %s\n", what, filtra_error_message());
  return 1;
}

static row *row_of(table *t, const char *name) {
  for (size_t i = 0; i < t->count; i++)
    if (!strcmp(t->rows[i].name, name)) return &t->rows[i];
  if (FT_GROW(t->rows, t->count, t->capacity)) abort();
  t->rows[t->count] = (row){.name = name};
  for (int i = 0; i < KERNEL_COLUMNS; i++)
    t->rows[t->count].value[i] = -1;
  return &t->rows[t->count++];
}

/* ---- calls ---- */

/* What a call costs, to rank and to weigh: bytes, and FLOPs of which a large GPU does 20 meanwhile.
 */
static double work_of(const ft_recorded_call *c) {
  return c->bytes + c->flops / 20.0;
}

/* What a product's kernel is given. */
static const struct ft_gemm_scalars *scalars_of(const ft_recorded_call *c) {
  return (const struct ft_gemm_scalars *)(const void *)(c->push + sizeof(uint64_t) * c->arg_count);
}

/* FLOPs of a product whose tiles stand over; those of its parts along k are useful. */
static double executed(const ft_recorded_call *c) {
  const struct ft_gemm_scalars *size = scalars_of(c);
  const struct ft_gemm_tiled_constants *tile = (const void *)c->key.spec;
  if (strcmp(c->key.kernel, "gemm/tiled")) return c->flops;
  double rows = (double)c->key.workgroup / tile->ACROSS * tile->ROWS;
  double columns = (double)tile->ACROSS * tile->COLUMNS;
  return c->flops * ceil(size->m / rows) * rows * ceil(size->n / columns) * columns /
         ((double)size->m * size->n);
}

static void judge_step(const filtra_graph *g, const char *mixer, table *steps) {
  enum { FEW = 64 };
  row *r = row_of(steps, mixer);
  double useful = 0, done = 0, barriers = 0, alone = 0;
  const ft_planned_call *calls = g->plan->calls;
  for (size_t i = 0; i < g->plan->call_count; i++) {
    const ft_recorded_call *c = calls[i].call;
    bool last = i + 1 == g->plan->call_count || calls[i + 1].barrier;
    barriers += calls[i].barrier;
    alone +=
        (calls[i].barrier || i == 0) && last && c->groups[0] * c->groups[1] * c->groups[2] < FEW;
    r->work += work_of(c);
    if (strncmp(c->key.kernel, "gemm/", 5)) continue;
    useful += c->flops;
    done += executed(c);
  }
  r->value[CALLS] = (double)g->plan->call_count;
  r->value[BARRIERS] = barriers;
  r->value[ALONE] = alone;
  r->value[EXECUTED] = useful > 0 ? done / useful : -1;
}

/* ---- kernels ---- */

static bool is_nvidia(const filtra_device *device) {
  enum { NVIDIA = 0x10de };
  return filtra_device_get_info(device)->vendor_id == NVIDIA;
}

static void weigh(row *r, int column, double value, double weight) {
  r->sum[column] += value * weight;
  r->of[column] += weight;
}

static void worst(row *r, int column, double value) {
  double *v = &r->value[column];
  if (value >= 0 && (*v < 0 || (KERNEL[column].more_is_better ? value < *v : value > *v)))
    *v = value;
}

/* `half_rate`: there are such devices whose matrix units take twice the time. */
static void add_loop(row *r, const hot_loop *l, bool half_rate, double work) {
  double loads = l->global_loads + l->shared_loads;
  weigh(r, SHARE, 100 * l->multiply_adds / l->instructions, work);
  if (l->matrix > 0) weigh(r, MATRIX, 100 * l->matrix / l->slots, work);
  if (l->matrix > 0 && half_rate)
    weigh(r, HALF_RATE, 200 * l->matrix / (l->slots + l->matrix), work);
  if (l->multiply_adds > 0) {
    weigh(r, SHARED, l->shared_bytes / l->multiply_adds, work);
    weigh(r, GLOBAL, 100 * l->global_loads / l->multiply_adds, work);
  }
  if (l->global_loads > 0) weigh(r, FLIGHT, l->in_flight, work);
  if (loads > 0) weigh(r, DRAINS, 100 * l->drains / loads, work);
  weigh(r, SYNCS, l->barriers, work);
}

static void add_product(gate *gt, const ft_recorded_call *c, size_t pipeline) {
  if (strncmp(c->key.kernel, "gemm/", 5)) return;
  const struct ft_gemm_scalars *size = scalars_of(c);
  const struct ft_gemm_constants *constants = (const void *)c->key.spec;
  const bool across_first = constants->SHAPE & GEMM_ACROSS_FIRST;
  if (FT_GROW(gt->products, gt->product_count, gt->product_capacity)) abort();
  gt->products[gt->product_count++] =
      (product){.pipeline = pipeline,
                .tiles = {.m = size->m,
                          .n = size->n,
                          .k = size->chunk < size->k ? size->chunk : size->k,
                          .down = c->groups[across_first],
                          .across = c->groups[!across_first],
                          .bytes = strchr(c->key.kernel, '.') ? 2 : 4, /* gemm/tiled.f16 */
                          .bytes_of_c = constants->SHAPE & GEMM_NARROW_C ? 2 : 4,
                          .across_first = across_first},
                .work = work_of(c)};
}

/* How long a pipeline's products wait for memory, as a share of their time at the chip's peak, if
 * so many workgroups run at once on each of its processors. */
static void weigh_products(row *r, const gate *gt, size_t pipeline, double workgroups) {
  const double CACHED = 0.8; /* of the last cache: it holds other things, too */
  const chip *c = gt->chip;
  const bool matrices = !strncmp(r->name, "gemm/matrix", strlen("gemm/matrix"));
  for (size_t i = 0; i < gt->product_count; i++) {
    const product *p = &gt->products[i];
    const tiled_product *t = &p->tiles;
    if (p->pipeline != pipeline) continue;
    const double bytes = product_traffic(t, workgroups * c->processors, CACHED * c->cache);
    const double flops = 2.0 * t->m * t->n * t->k;
    const double peak = matrices ? c->matrix_flops : c->flops;
    weigh(r, MEMORY, 100 * bytes / c->bandwidth * peak / flops, p->work);
  }
}

/* Of a kernel's variants the mean by work, of registers, spills and occupancy the worst. */
static filtra_status judge_pipeline(gate *gt, size_t index, double work, table *kernels) {
  static ft_executable executables[FT_MAX_EXECUTABLES];
  uint32_t count;
  char *text;
  hot_loop loop;
  double workgroups = 0;
  const ft_kernel_key *key = ft_pipeline_key(gt->device, index);
  row *r = row_of(kernels, key->kernel);
  r->work += work;
  FT_TRY(ft_pipeline_statistics(gt->device, index, executables, &count));
  for (uint32_t i = 0; i < count; i++) {
    const ft_executable *e = &executables[i];
    worst(r, REGISTERS, e->registers);
    worst(r, SPILLS, e->spills);
    worst(r, OCCUPANCY, e->occupancy);
    const double subgroups = ceil(key->workgroup / (double)e->subgroup);
    workgroups = chip_workgroups(gt->chip, e->occupancy, subgroups, e->shared);
    worst(r, WORKGROUPS, workgroups);
  }
  weigh_products(r, gt, index, workgroups);
  FT_TRY(ft_pipeline_assembly(gt->device, index, &text));
  bool understood = assembly_hot_loop(text, gt->chip->matrix_rate, &loop);
  free(text);
  if (!understood)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: its assembly is in no known form", r->name);
  add_loop(r, &loop, is_nvidia(gt->device), work);
  return FILTRA_OK;
}

static filtra_status judge_pipelines(gate *gt, const double *work, table *kernels) {
  FT_TRY(ft_pipelines_compile(gt->device));
  for (size_t i = 0; i < ft_pipeline_count(gt->device); i++)
    if (work[i] > 0) FT_TRY(judge_pipeline(gt, i, work[i], kernels));
  for (size_t i = 0; i < kernels->count; i++)
    for (int k = SHARE; k <= MEMORY; k++)
      if (kernels->rows[i].of[k] > 0)
        kernels->rows[i].value[k] = kernels->rows[i].sum[k] / kernels->rows[i].of[k];
  return FILTRA_OK;
}

/* ---- steps ---- */

static size_t index_of(const filtra_device *dev, const ft_pipeline *pipeline) {
  const struct ft_pipeline_store *store = dev->pipelines;
  size_t i = 0;
  while (store->list[i] != pipeline)
    i++;
  return i;
}

static filtra_status compile_step(gate *gt, const ft_model_options *options, const struct shape *s,
                                  filtra_model **model, filtra_trainer **trainer) {
  const filtra_train_options training = {.optimizer = {.clip_norm = 1.0f}};
  FT_TRY(ft_model_new(gt->device, options, 1, model));
  FT_TRY(filtra_trainer_create(*model, &training, trainer));
  return filtra_trainer_prepare(*trainer, s->batch, s->length);
}

/* Adds the step's calls to their pipelines' work. */
static filtra_status add_step(gate *gt, const struct shape *s, const char *name, const char *mixer,
                              double *work, table *steps) {
  filtra_model *model = NULL;
  filtra_trainer *trainer = NULL;
  json_t *object = NULL;
  ft_model_options options;
  char *text = ft_format("{\"mixer\": %s, \"dropout\": 0.1, %s}", mixer, s->options);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_json_parse(text, strlen(text), "model", &object);
  if (!status) status = ft_model_options_read(object, "model", &options);
  if (!status) status = compile_step(gt, &options, s, &model, &trainer);
  if (!status) {
    const filtra_graph *g = trainer->graphs[0]->graph;
    judge_step(g, name, steps);
    for (size_t i = 0; i < g->plan->call_count; i++) {
      const size_t pipeline = index_of(gt->device, g->program->pipelines[i]);
      work[pipeline] += work_of(g->plan->calls[i].call);
      add_product(gt, g->plan->calls[i].call, pipeline);
    }
  }
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  json_decref(object);
  free(text);
  return status;
}

/* ---- tables ---- */

/* The recorded value, NAN where there is none. A table's rows begin with what it lists, chip and
 * shape; the first names the columns. */
static double recorded(const gate *gt, const char *section, const char *what, const char *name,
                       const char *title) {
  char line[200];
  snprintf(line, sizeof line, "\n%s\t%s\tname\t", what, section);
  const char *head = gt->record ? strstr(gt->record, line) : NULL;
  snprintf(line, sizeof line, "\n%s\t%s\t%s\t", what, section, name);
  const char *found = head ? strstr(head, line) : NULL;
  if (!found) return NAN;
  do {
    size_t length = strcspn(++head, "\t\n");
    found++;
    if (length == strlen(title) && !strncmp(head, title, length)) return strtod(found, NULL);
    head += length;
    found += strcspn(found, "\t\n");
  } while (*head == '\t' && *found == '\t');
  return NAN;
}

/* One in the last digit shown is no change. */
static void compare(gate *gt, const char *section, const char *what, const row *r,
                    const quantity *c, double value) {
  double before = recorded(gt, section, what, r->name, c->title), unit = pow(10, -c->digits);
  double loss = c->more_is_better ? before - value : value - before;
  if (!gt->record || value < 0) return;
  if (isnan(before)) {
    fprintf(stderr, "%s: %s: %s is not recorded\n", section, r->name, c->title);
    gt->worse++;
  } else if (loss > 0.05 * fabs(before) && loss > 1.01 * unit) {
    fprintf(stderr, "%s: %s: %s was %.*f and is %.*f\n", section, r->name, c->title, c->digits,
            before, c->digits, value);
    gt->worse++;
  }
}

static int by_work(const void *a, const void *b) {
  double x = ((const row *)a)->work, y = ((const row *)b)->work;
  return (x < y) - (x > y);
}

static void print_table(gate *gt, const char *section, const char *what, table *t,
                        const quantity *columns, int count) {
  double all = 0;
  for (size_t i = 0; i < t->count; i++)
    all += t->rows[i].work;
  qsort(t->rows, t->count, sizeof *t->rows, by_work);
  printf("%s\t%s\tname\twork %%", what, section);
  for (int k = 0; k < count; k++)
    printf("\t%s", columns[k].title);
  for (size_t i = 0; i < t->count; i++) {
    const row *r = &t->rows[i];
    printf("\n%s\t%s\t%s\t%.1f", what, section, r->name, 100 * r->work / all);
    for (int k = 0; k < count; k++) {
      if (r->value[k] < 0)
        printf("\t-");
      else
        printf("\t%.*f", columns[k].digits, r->value[k]);
      compare(gt, section, what, r, &columns[k], r->value[k]);
    }
  }
  printf("\n");
}

/* Matrix units are used without a self-test, since nothing runs. Of Intel's not: its compiler
 * spills in these kernels, so that filtra tune would not choose them. */
static filtra_status open_device(bool matrices, filtra_device **device) {
  enum { INTEL = 0x8086 };
  const char *const caps = getenv("FILTRA_CAPS"); /* devices.sh */
  char both[80];
  snprintf(both, sizeof both, "%s,matrix=force", caps ? caps : "");
  const filtra_device_options options = {.cache_dir = "", .caps = matrices ? both : caps};
  FT_TRY(ft_device_open_compiler(&options, device));
  if (matrices || !(*device)->caps.matrix || filtra_device_get_info(*device)->vendor_id == INTEL)
    return FILTRA_OK;
  filtra_device_close(device);
  return open_device(true, device);
}

static filtra_status judge_shape(gate *gt, const char *name, const struct shape *s) {
  enum { MOST_PIPELINES = 4096 };
  static double work[MOST_PIPELINES];
  table steps = {0}, kernels = {0};
  char section[120];
  filtra_status status = FILTRA_OK;
  memset(work, 0, sizeof work);
  gt->product_count = 0;
  for (size_t m = 0; m < filtra_mixer_count() && !status; m++) {
    const char *mixer = ft_mixer_at(m)->name;
    char quoted[64];
    if (s->narrow && !ft_mixer_at(m)->narrow) continue;
    snprintf(quoted, sizeof quoted, "\"%s\"", mixer);
    status = add_step(gt, s, mixer, quoted, work, &steps);
  }
  if (!status && !s->narrow)
    status = add_step(gt, s, "recurrent",
                      "\"kernelution\", \"block\": \"converter\", \"positions\": \"recurrent\"",
                      work, &steps);
  if (!status) status = judge_pipelines(gt, work, &kernels);
  if (!status) {
    snprintf(section, sizeof section, "%s\t%s", name, s->name);
    print_table(gt, section, "step", &steps, STEP, STEP_COLUMNS);
    print_table(gt, section, "kernel", &kernels, KERNEL, KERNEL_COLUMNS);
  }
  free(steps.rows);
  free(kernels.rows);
  return status;
}

static char *read_record(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  enum { MOST = 1 << 22 };
  char *text = calloc(1, MOST);
  if (text) text[fread(text, 1, MOST - 1, file)] = '\0';
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  enum { NO_DRIVER = 77 };
  gate gt = {0};
  char heading[400];
  if (argc < 2 || argc > 3) return 2;
  gt.chip = chip_named(argv[1]);
  if (!gt.chip) {
    fprintf(stderr, "vendor_loops: chip.c does not list %s\n", argv[1]);
    return 1;
  }
  if (open_device(false, &gt.device)) {
    refuse(argv[1]);
    return NO_DRIVER;
  }
  const char *driver = filtra_device_get_info(gt.device)->driver;
  snprintf(heading, sizeof heading, "\nchip\t%s\t%s\n", argv[1], driver);
  if (argc > 2) {
    gt.record = read_record(argv[2]);
    if (!gt.record) {
      fprintf(stderr, "vendor_loops: %s cannot be read\n", argv[2]);
      return 1;
    }
    if (!strstr(gt.record, heading)) {
      fprintf(stderr, "the record is of another driver than %s, or has no %s\n", driver, argv[1]);
      return NO_DRIVER;
    }
  }
  printf("%s", heading + 1);
  for (size_t i = 0; i < FT_COUNT(SHAPES); i++)
    if (judge_shape(&gt, argv[1], &SHAPES[i])) return refuse(SHAPES[i].name);
  free(gt.products);
  free(gt.record);
  filtra_device_close(&gt.device);
  return gt.worse > 0;
}
