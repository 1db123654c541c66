/* Matrix products: chooses the kernel and its tiles, and records the call. Called by linear.c,
 * matmul.c, agf.c and gradients of ops; the tuner calls the trial. */
#include "ops/gemm_matrix.h"
#include "ops/support.h"
#include "ops/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A matrix as the kernels see it: dense along its columns or, if transposed, along its rows. */
typedef struct operand {
  bool transposed, wide;
  uint32_t stride, outer, inner;
} operand;

static operand describe(const ft_gemm *p, const ft_matrix *x, int64_t rows, int64_t columns,
                        int64_t wide) {
  bool transposed = !(x->column == 1 || columns == 1);
  int64_t length = transposed ? rows : columns, lines = transposed ? columns : rows;
  int64_t stride = transposed ? x->column : x->row;
  operand o = {.transposed = transposed,
               .stride = (uint32_t)(lines > 1 ? stride : 0),
               .outer = (uint32_t)(p->outer > 1 ? x->outer : 0),
               .inner = (uint32_t)(p->inner > 1 ? x->inner : 0)};
  o.wide = length % wide == 0 && o.stride % wide == 0 && o.outer % wide == 0 &&
           o.inner % wide == 0 && ft_aligned(x->tensor, wide);
  return o;
}

/* Length of a part of K; k if there is one part. */
static int64_t chunk_of(int64_t k, int64_t parts) {
  return parts < 2 ? k : ft_ceil_div(ft_ceil_div(k, parts), 64) * 64;
}

/* Whether the operand's lines, which a tile goes through along k, evict each other from the cache:
 * lines a multiple of 1 KiB apart share few of its sets. */
static bool aliases(const ft_gemm *p, int64_t stride) {
  return stride * ft_element_bytes(p->a.tensor) % 1024 == 0 && p->k >= 64 &&
         ft_gemm_batches(p) == 1;
}

static bool a_aliases(const ft_gemm *p) {
  return p->a.column != 1 && aliases(p, p->a.column);
}

static bool b_aliases(const ft_gemm *p) {
  return aliases(p, p->b.column != 1 ? p->b.column : p->b.row);
}

static ft_gemm_plan plan_naive(const filtra_device *dev) {
  return (ft_gemm_plan){.kernel = "gemm/naive",
                        .constant_count = FT_CONSTANT_COUNT(gemm),
                        .workgroup = ft_caps_of(dev)->row_workgroup,
                        .tile_m = 1,
                        .tile_n = ft_caps_of(dev)->row_workgroup,
                        .step = 1,
                        .wide = 1,
                        .parts = 1};
}

/* ---- configurations: the tables are in ops/tuning_table.c ---- */

enum { S64_ROWS, S64_PAIRS, S64_PACK, S64_PARTS };
enum { PACK_A = 1, PACK_B = 2, UNIFORM_LOADS = 4 };
enum { S64_MUCH = 1 << 22 }; /* multiply-adds of a large product */
enum { TILED_WORKGROUP, TILED_ROWS, TILED_COLUMNS, TILED_STEP, TILED_ACROSS, TILED_PARTS };

/* The step of the uniform kernel that takes the least time for k terms, of which those after whole
 * steps are added one by one. A loop's step costs lavapipe about as much as 12 terms beside its
 * work: masks of lanes, and a copy of every sum. */
static uint32_t uniform_step(int64_t k, uint32_t most) {
  enum { LEAST = 8, ITERATION = 12 };
  uint32_t best = LEAST;
  int64_t least = INT64_MAX;
  for (uint32_t step = LEAST; step <= most; step *= 2) {
    const int64_t cost = k / step * (ITERATION + step) + k % step * (ITERATION + 1);
    if (cost >= least) continue;
    least = cost;
    best = step;
  }
  return best;
}

/* The code of a step grows with its length. Steps of 64 terms are a tenth faster if they are all or
 * B is read where it is, else no faster than 32, and take the driver twice as long. */
static uint32_t s64_step(const ft_gemm *p, const uint32_t *value) {
  if (!(value[S64_PACK] & UNIFORM_LOADS)) return value[S64_ROWS] * value[S64_PAIRS] > 64 ? 4 : 8;
  const int64_t k = chunk_of(p->k, value[S64_PARTS]);
  return uniform_step(k, k <= 64 || !(value[S64_PACK] & PACK_B) ? 64 : 32);
}

static ft_gemm_plan plan_s64(const filtra_device *dev, const ft_gemm *p,
                             const ft_configuration *c) {
  const uint32_t width = ft_caps_of(dev)->info.subgroup_size, *v = c->value, step = s64_step(p, v);
  const bool uniform = v[S64_PACK] & UNIFORM_LOADS, pack_b = v[S64_PACK] & PACK_B;
  return (ft_gemm_plan){.kernel = uniform ? "gemm/s64_uniform" : "gemm/s64",
                        .workgroup = width,
                        .subgroup = width,
                        .constants.s64 = {.ROWS = v[S64_ROWS], .PAIRS = v[S64_PAIRS], .STEP = step},
                        .constant_count = FT_CONSTANT_COUNT(gemm_s64),
                        .tile_m = v[S64_ROWS],
                        .tile_n = 2 * v[S64_PAIRS] * width,
                        .sums_rows = !uniform || !pack_b,
                        .s64 = true,
                        .step = step,
                        .wide = 2,
                        .parts = v[S64_PARTS],
                        .pack_a = v[S64_PACK] & PACK_A,
                        .pack_b = pack_b,
                        .uniform_loads = uniform};
}

static ft_gemm_plan plan_tiled(const ft_configuration *c) {
  const uint32_t *v = c->value;
  return (ft_gemm_plan){.kernel = "gemm/tiled",
                        .workgroup = v[TILED_WORKGROUP],
                        .constants.tiled = {.ROWS = v[TILED_ROWS],
                                            .COLUMNS = v[TILED_COLUMNS],
                                            .TILE_K = v[TILED_STEP],
                                            .ACROSS = v[TILED_ACROSS]},
                        .constant_count = FT_CONSTANT_COUNT(gemm_tiled),
                        .tile_m = v[TILED_WORKGROUP] / v[TILED_ACROSS] * v[TILED_ROWS],
                        .tile_n = v[TILED_ACROSS] * v[TILED_COLUMNS],
                        .step = v[TILED_STEP],
                        .wide = 4,
                        .parts = v[TILED_PARTS]};
}

/* Takes the largest tile of s64 that extends little beyond C and gives every core a tile, if there
 * is one. The driver takes three times as long to compile it as for 16 rows of one pair per lane,
 * so only large products take it. GFLOP/s per core of 4096 x 64 with K 256 on lavapipe, Mesa 25.0:
 * 32 rows of two pairs 39, of four pairs 45. */
static void take_large_s64(const filtra_device *dev, const ft_gemm *p, ft_configuration *c) {
  enum { ENOUGH = 8 };                                            /* workgroups */
  static const uint32_t tiles[][2] = {{32, 4}, {64, 2}, {32, 2}}; /* rows, pairs */
  const uint32_t pack = c->value[S64_PACK];
  const ft_gemm_plan small = plan_s64(dev, p, &(ft_configuration){{16, 1, pack, 1}});
  const int64_t least = ft_gemm_tiles(p, &small) * small.tile_m * small.tile_n;
  if (ft_gemm_batches(p) * p->m * p->n * p->k < S64_MUCH) return;
  for (size_t i = 0; i < FT_COUNT(tiles); i++) {
    const ft_configuration large = {{tiles[i][0], tiles[i][1], pack, 1}};
    const ft_gemm_plan plan = plan_s64(dev, p, &large);
    const int64_t count = ft_gemm_tiles(p, &plan);
    if (count * plan.tile_m * plan.tile_n * 4 <= least * 5 &&
        count * ft_gemm_parts(dev, p, &plan) >= ENOUGH) {
      *c = large;
      return;
    }
  }
}

/* Whether uniform addresses can read A as it is, not in panels. */
static bool direct_a(filtra_dtype type, int64_t m, int64_t rows) {
  return type == FILTRA_F32 && m >= rows;
}

/* Likewise B, of which a tile reads so many columns. */
static bool direct_b(filtra_dtype type, int64_t stride, int64_t n, int64_t columns) {
  return type == FILTRA_F32 && stride == 1 && n % columns == 0;
}

/* As many rows as the processor's registers hold sums of, since others come and go by way of
 * memory: 32 registers of 16 lanes, else 16. Six rows are a seventh faster than four unless more of
 * them lie outside C. If A is transposed, more rows use more of each line of memory. GFLOP/s of
 * 768 x 192 on two cores of a Zen 3 with lavapipe of Mesa 26, K 64 and 256: 16 rows in steps of 8
 * 35 and 52, 6 rows 48 and 67, in steps of 32 76 and 100. */
static uint32_t uniform_rows(const ft_caps *caps, const ft_gemm *p) {
  enum { WIDE = 16 }; /* lanes */
  if (caps->info.subgroup_size >= WIDE) return 8;
  return ft_ceil_div(p->m, 6) * 6 * 7 <= ft_ceil_div(p->m, 4) * 4 * 8 ? 6 : 4;
}

/* The op's own choice where loads can be uniform: panels for products that use each element often
 * enough to pay for them. GFLOP/s of 1024 x 384 x 1536 on two cores of a Xeon (Cascade Lake) with
 * lavapipe of Mesa 26: 20 without and 39 with them, in vectors of 512 bits 33 and 69. Panels of B
 * pay off sooner: cosFormer's products of 8 x 100 tokens, 16 of up to 100 x 64 x 33 each, take 2.0
 * ms with them, 4.0 without, on a core of a Zen 5. With panels of B that are `kept`, copies of A do
 * not pay off: kernels of MiniLM for 32 and 128 tokens take 9.7 and 25.8 ms with them, 8.4 and 23.8
 * without. */
static bool uniform_s64(const filtra_device *dev, const ft_gemm *p, bool kept,
                        ft_configuration *c) {
  enum { LEAST_M = 96, LEAST_N = 64 }; /* uses of an element of B, and of A */
  enum { LEAST_M_UNPAIRED = 64 };      /* of B that gemm/s64 does not read in pairs */
  /* From here on panels pay off: uses of an element, and lines of B; bytes between lines. */
  enum { REUSED = 256, FAR_A = 1024, FAR_B = 512 };
  const ft_caps *caps = ft_caps_of(dev);
  const uint32_t rows = uniform_rows(caps, p), columns = 2 * caps->info.subgroup_size;
  const filtra_dtype type = ft_gemm_type(p);
  const int64_t batches = ft_gemm_batches(p), terms = batches * p->m * p->n * p->k;
  const int64_t bytes = ft_element_bytes(p->a.tensor);
  const bool often = batches == 1 && p->m >= LEAST_M;
  const bool far_a = often && p->a.column * bytes >= FAR_A && p->n >= REUSED;
  const bool far_b = often && p->b.row * bytes >= FAR_B && p->m >= REUSED && p->k >= REUSED;
  const bool pack_a = !direct_a(type, p->m, rows) || (far_a && !kept && terms >= S64_MUCH);
  const bool in_pairs = describe(p, &p->b, p->k, p->n, 2).wide;
  const bool much = p->m >= (in_pairs ? LEAST_M : LEAST_M_UNPAIRED) &&
                    terms >= S64_MUCH / (pack_a ? 1 : 8) &&
                    (!pack_a || (batches == 1 && p->n >= LEAST_N));
  const bool pack_b = kept || (far_b && much) || !direct_b(type, p->b.column, p->n, columns);
  if (!caps->uniform_loads || p->m < rows || ((pack_a || (pack_b && !kept)) && !much)) return false;
  *c = (ft_configuration){
      {rows, 1, UNIFORM_LOADS | (pack_a ? PACK_A : 0) | (pack_b ? PACK_B : 0), 1}};
  return true;
}

/* The op's own choice: 16 rows, unless there are few tiles and half of the last would lie outside
 * C. Copying into panels pays off if each element is used often. A train step of width 512 on
 * lavapipe, Mesa 25.0: 0.98 CPU seconds without, 0.85 with them. */
static ft_configuration standard_s64(const filtra_device *dev, const ft_gemm *p, bool kept) {
  enum { REUSE = 128 };
  uint32_t rows = p->m <= 4 ? 4 : p->m <= 56 && (p->m - 1) % 16 < 8 ? 8 : 16;
  uint32_t pack =
      (a_aliases(p) && p->n >= REUSE ? PACK_A : 0) | (b_aliases(p) && p->m >= REUSE ? PACK_B : 0);
  ft_configuration c = {{rows, 1, pack, 1}};
  if (!uniform_s64(dev, p, kept, &c)) take_large_s64(dev, p, &c);
  ft_gemm_plan plan = plan_s64(dev, p, &c);
  c.value[S64_PARTS] = (uint32_t)ft_gemm_parts(dev, p, &plan);
  return c;
}

static bool usable_tiled(const filtra_device *dev, const uint32_t *v) {
  uint32_t quads_m = v[TILED_WORKGROUP] / v[TILED_ACROSS] * v[TILED_ROWS] / 4;
  uint32_t quads_n = v[TILED_ACROSS] * v[TILED_COLUMNS] / 4;
  uint32_t shared = v[TILED_STEP] * (quads_m + quads_n + 2) * 16; /* as in tiled.comp */
  return v[TILED_WORKGROUP] <= ft_caps_of(dev)->info.max_workgroup_invocations &&
         shared <= ft_caps_of(dev)->info.shared_memory_bytes;
}

/* Cost of a configuration up to a factor: the multiply-adds of all tiles, including those outside
 * C; higher with fewer of them per lane and load from shared memory, or per workgroup and load from
 * caches; and higher if lanes do not fill the device. The weights of loads are a guess from
 * rooflines: a multiply-add costs 1, a shared load of four numbers 2, one from the cache 8. */
static double tiled_cost(const filtra_device *dev, const ft_gemm *p, const ft_configuration *c) {
  enum { FULL_WORKGROUP = 256 };
  const ft_constants *constants = ft_constants_of(ft_caps_of(dev));
  const ft_gemm_plan plan = plan_tiled(c);
  const double rows = c->value[TILED_ROWS], columns = c->value[TILED_COLUMNS];
  const int64_t tiles = ft_gemm_tiles(p, &plan);
  const int64_t most = ft_gemm_splittable(p) ? p->k / constants->product_chunk : 1;
  const double full = (double)ft_busy_groups(ft_caps_of(dev)) * FULL_WORKGROUP;
  const double lanes = (double)tiles * (double)(most > 1 ? most : 1) * plan.workgroup;
  const double loads =
      2 * (rows + columns) / 4 / (rows * columns) + 8 * (1.0 / plan.tile_m + 1.0 / plan.tile_n) / 4;
  return (double)tiles * plan.tile_m * plan.tile_n * (1 + loads) *
         (lanes < full ? full / lanes : 1);
}

/* Numbers that an invocation keeps in registers: its sums, and loads from memory in flight. */
static int64_t tiled_numbers(const ft_configuration *c) {
  const ft_gemm_plan plan = plan_tiled(c);
  const int64_t lanes = 4 * plan.workgroup;
  return c->value[TILED_ROWS] * c->value[TILED_COLUMNS] +
         4 * (ft_ceil_div(plan.tile_m * plan.step, lanes) +
              ft_ceil_div(plan.tile_n * plan.step, lanes));
}

static ft_configuration standard_tiled(const filtra_device *dev, const ft_gemm *p) {
  /* FEW: with few registers. FEWER: with subgroups of 64 lanes, of which only one would fit on a
   * SIMD unit if its lanes kept more numbers (AMD's GCN). */
  enum { FEW = 44, FEWER = 80 };
  const ft_caps *caps = ft_caps_of(dev);
  const int64_t most = caps->few_registers ? FEW : caps->subgroup_least >= 64 ? FEWER : INT64_MAX;
  const ft_configuration_table *table = ft_configurations(FT_TUNE_GEMM_TILED);
  ft_configuration best = ft_configuration_at(FT_TUNE_GEMM_TILED, 0);
  double least = INFINITY;
  for (size_t i = 0; i < table->row_count; i++) {
    const ft_configuration c = ft_configuration_at(FT_TUNE_GEMM_TILED, i);
    if (!usable_tiled(dev, c.value) || tiled_numbers(&c) > most) continue;
    double cost = tiled_cost(dev, p, &c);
    if (cost >= least) continue;
    least = cost;
    best = c;
  }
  ft_gemm_plan plan = plan_tiled(&best);
  best.value[TILED_PARTS] = (uint32_t)ft_gemm_parts(dev, p, &plan);
  return best;
}

/* ---- questions of the tuner ---- */

/* The numbers of a question. */
typedef struct gemm_problem {
  int64_t m, n, k, outer, inner;
  int64_t a_row, a_column, a_outer, a_inner, b_row, b_column, b_outer, b_inner;
  int64_t bias, activation, splittable, pack; /* pack: operands whose lines alias */
  int64_t type;                               /* of the operands */
} gemm_problem;

static gemm_problem problem_of(const ft_tuning_question *q) {
  gemm_problem p;
  memcpy(&p, q->number, sizeof p);
  return p;
}

static bool usable_s64(const filtra_device *dev, const gemm_problem *p, const uint32_t *v) {
  const uint32_t packed = v[S64_PACK] & (PACK_A | PACK_B);
  const int64_t columns = 2 * v[S64_PAIRS] * (int64_t)ft_caps_of(dev)->info.subgroup_size;
  if (!(v[S64_PACK] & UNIFORM_LOADS)) return (packed & ~p->pack) == 0;
  return ft_caps_of(dev)->uniform_loads &&
         (packed & PACK_A || direct_a((filtra_dtype)p->type, p->m, v[S64_ROWS])) &&
         (packed & PACK_B || direct_b((filtra_dtype)p->type, p->b_column, p->n, columns));
}

static bool usable(const filtra_device *dev, const ft_tuning_question *q,
                   const ft_configuration *c) {
  enum { LEAST_CHUNK = 64, MOST_SUMS = 64 << 20 }; /* of k; bytes of the parts' sums */
  const gemm_problem p = problem_of(q);
  const int64_t parts = c->value[ft_configurations(q->family)->field_count - 1];
  const bool fits = q->family == FT_TUNE_GEMM_S64 ? usable_s64(dev, &p, c->value)
                    : q->family == FT_TUNE_GEMM_TILED
                        ? usable_tiled(dev, c->value)
                        : ft_gemm_matrix_usable(dev, (filtra_dtype)p.type, c);
  if (!fits) return false;
  if (parts == 1) return true;
  return p.splittable && ft_ceil_div(p.k, parts) >= LEAST_CHUNK &&
         parts * p.m * p.n * p.outer * p.inner * (int64_t)sizeof(float) <= MOST_SUMS;
}

/* Elements from the first to the last of a batch of matrices. */
static int64_t extent(int64_t rows, int64_t row, int64_t columns, int64_t column, int64_t outer,
                      int64_t outer_stride, int64_t inner, int64_t inner_stride) {
  return 1 + (rows - 1) * row + (columns - 1) * column + (outer - 1) * outer_stride +
         (inner - 1) * inner_stride;
}

static int64_t at_most(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Builds the product alone, with its operands' strides and the costliest parts of the epilogue. C
 * is F32, so that the sums are compared unrounded. */
void ft_gemm_build_trial(ft_trial *t, const ft_tuning_question *q, bool odd) {
  gemm_problem p = problem_of(q);
  if (odd) {
    p.m = at_most(p.m, 37);
    p.n = at_most(p.n, 29);
    p.k += p.k % 2 == 0;
    p.outer = at_most(p.outer, 2);
    p.inner = at_most(p.inner, 3);
  }
  int64_t size_a = extent(p.m, p.a_row, p.k, p.a_column, p.outer, p.a_outer, p.inner, p.a_inner);
  int64_t size_b = extent(p.k, p.b_row, p.n, p.b_column, p.outer, p.b_outer, p.inner, p.b_inner);
  int64_t size_c = p.outer * p.inner * p.m * p.n;
  const filtra_dtype type = (filtra_dtype)p.type;
  filtra_tensor *a = ft_trial_input(t, "a", type, 1, &size_a);
  filtra_tensor *b = ft_trial_input(t, "b", type, 1, &size_b);
  filtra_tensor *bias = p.bias ? ft_trial_input(t, "bias", FILTRA_F32, 1, &p.n) : NULL;
  filtra_tensor *c = ft_tensor_new(t->graph, "c", FILTRA_F32, 1, &size_c);
  if (!a || !b || !c || (p.bias && !bias)) return;
  ft_emit_gemm(t->graph, &(ft_gemm){.label = "gemm",
                                    .a = {a, p.a_row, p.a_column, p.a_outer, p.a_inner},
                                    .b = {b, p.b_row, p.b_column, p.b_outer, p.b_inner},
                                    .c = {c, p.n, 1, p.inner * p.m * p.n, p.m * p.n},
                                    .m = p.m,
                                    .n = p.n,
                                    .k = p.k,
                                    .outer = p.outer,
                                    .inner = p.inner,
                                    .bias = bias,
                                    .activation = (filtra_activation)p.activation});
  ft_trial_output(t, c);
}

static const char *type_suffix(filtra_dtype type) {
  return type == FILTRA_F16 ? " f16" : type == FILTRA_BF16 ? " bf16" : "";
}

static ft_configuration standard(const filtra_device *dev, const ft_gemm *p,
                                 ft_tuning_family family) {
  return family == FT_TUNE_GEMM_S64     ? standard_s64(dev, p, false)
         : family == FT_TUNE_GEMM_TILED ? standard_tiled(dev, p)
                                        : ft_gemm_matrix_standard(dev, p);
}

static ft_tuning_question question(const filtra_device *dev, const ft_gemm *p,
                                   ft_tuning_family family) {
  const gemm_problem numbers = {p->m,
                                p->n,
                                p->k,
                                p->outer,
                                p->inner,
                                p->a.row,
                                p->a.column,
                                p->a.outer,
                                p->a.inner,
                                p->b.row,
                                p->b.column,
                                p->b.outer,
                                p->b.inner,
                                p->bias != NULL,
                                (int64_t)p->activation,
                                ft_gemm_splittable(p),
                                (a_aliases(p) ? PACK_A : 0) | (b_aliases(p) ? PACK_B : 0),
                                (int64_t)ft_gemm_type(p)};
  ft_tuning_question q = {.family = family, .standard = standard(dev, p, family), .usable = usable};
  memcpy(q.number, &numbers, sizeof numbers);
  const int64_t wide = family == FT_TUNE_GEMM_S64 ? 2 : family == FT_TUNE_GEMM_TILED ? 4 : 8;
  const bool wide_a = describe(p, &p->a, p->m, p->k, wide).wide;
  const bool wide_b = describe(p, &p->b, p->k, p->n, wide).wide;
  snprintf(q.key, sizeof q.key, "%s w%u %c%c %c%c m%lld n%lld k%lld b%lld%s%s%s",
           ft_configurations(q.family)->name, ft_caps_of(dev)->info.subgroup_size,
           p->a.column == 1 ? 'n' : 't', p->b.column == 1 ? 'n' : 't', wide_a ? 'w' : 'u',
           wide_b ? 'w' : 'u', (long long)ft_tuning_bucket(p->m), (long long)ft_tuning_bucket(p->n),
           (long long)ft_tuning_bucket(p->k), (long long)ft_tuning_bucket(ft_gemm_batches(p)),
           ft_gemm_splittable(p) ? "" : " whole", numbers.pack ? " alias" : "",
           type_suffix(ft_gemm_type(p)));
  return q;
}

static ft_configuration answer(const filtra_device *dev, const ft_gemm *p,
                               ft_tuning_family family) {
  const ft_tuning_question q = question(dev, p, family);
  return ft_tuning_choose(dev, &q);
}

/* Chooses the kernel of a product; no other function does. `kept`: panels of B cost nothing, since
 * the graph keeps them. The tuner, which knows no parameters, is not asked about these. */
static ft_gemm_plan choose(const filtra_device *dev, const ft_gemm *p, bool kept) {
  if (ft_tuning_reference(dev)) return plan_naive(dev);
  if (ft_caps_of(dev)->product_style == FT_STYLE_NAIVE) {
    ft_gemm_plan plan = plan_naive(dev);
    plan.parts = ft_gemm_parts(dev, p, &plan);
    return plan;
  }
  if (ft_gemm_matrix_there(dev, ft_gemm_type(p))) {
    const ft_configuration c = answer(dev, p, FT_TUNE_GEMM_MATRIX);
    if (ft_gemm_matrix_taken(&c)) return ft_gemm_matrix_plan(dev, ft_gemm_type(p), &c);
  }
  const bool s64 = ft_caps_of(dev)->product_style == FT_STYLE_SUBGROUP;
  const ft_configuration c = s64 && kept
                                 ? standard_s64(dev, p, true)
                                 : answer(dev, p, s64 ? FT_TUNE_GEMM_S64 : FT_TUNE_GEMM_TILED);
  if (s64) return plan_s64(dev, p, &c);
  ft_gemm_plan plan = plan_tiled(&c);
  plan.sums_rows = !ft_caps_of(dev)->few_registers; /* else they spill */
  return plan;
}

ft_matrix ft_matrix_of(filtra_tensor *t, bool transpose) {
  int last = t->ndim - 1;
  ft_matrix x = {.tensor = t, .row = t->stride[last - 1], .column = t->stride[last]};
  if (transpose) x = (ft_matrix){.tensor = t, .row = x.column, .column = x.row};
  if (t->ndim == 4) x.outer = t->stride[0];
  if (t->ndim >= 3) x.inner = t->stride[t->ndim - 3];
  return x;
}

ft_matrix ft_matrix_rows(filtra_tensor *t, bool transpose) {
  int64_t columns = ft_columns(t);
  return (ft_matrix){
      .tensor = t, .row = transpose ? 1 : columns, .column = transpose ? columns : 1};
}

/* The variant "plain" of s64 knows no activation and no dropout, and compiles sooner. */
static const char *kernel_of(const filtra_device *dev, const ft_gemm_plan *plan, filtra_dtype type,
                             uint32_t epilogue) {
  const uint32_t plain = GEMM_ACCUMULATE | GEMM_BIAS | GEMM_STORE_Z | GEMM_RESIDUAL | GEMM_SLOPE;
  return plan->s64 && !(epilogue & ~plain) ? ft_kernel_variant(plan->kernel, type, "plain")
                                           : ft_kernel_typed(dev, plan->kernel, type);
}

static void emit_gemm(filtra_graph *g, const ft_gemm *p, const ft_gemm_plan *plan,
                      filtra_dtype type) {
  int64_t chunk = chunk_of(p->k, plan->parts), parts = ft_ceil_div(p->k, chunk);
  int64_t count = ft_gemm_batches(p) * p->m * p->n;
  filtra_tensor *target = p->c.tensor;
  if (parts > 1) target = ft_tensor_new(g, p->label, FILTRA_F32, 2, (int64_t[]){parts, count});
  filtra_tensor *row_sums = p->row_sums;
  if (row_sums && parts > 1)
    row_sums = ft_tensor_new(g, p->label, FILTRA_F32, 2, (int64_t[]){parts, p->m});
  if (!target || (p->row_sums && !row_sums)) return;
  operand a = describe(p, &p->a, plan->pack_a ? plan->tile_m : p->m, p->k, plan->wide);
  operand b = describe(p, &p->b, p->k, plan->pack_b ? plan->tile_n : p->n, plan->wide);
  operand c = describe(p, &p->c, p->m, p->n, plan->wide);
  bool accumulate = p->accumulate && parts == 1, random = p->dropout > 0;
  bool add_sums = row_sums && p->add_row_sums && parts == 1;
  bool wide_c = c.wide && ft_aligned(target, plan->wide) &&
                (!p->z || ft_aligned(p->z, plan->wide)) &&
                (!p->residual || ft_aligned(p->residual, plan->wide));
  bool tail = p->k % plan->step || chunk % plan->step;
  uint32_t shape = (a.transposed ? GEMM_TRANSPOSED_A : 0) | (b.transposed ? GEMM_TRANSPOSED_B : 0) |
                   (a.wide ? GEMM_WIDE_A : 0) | (b.wide ? GEMM_WIDE_B : 0) |
                   (wide_c ? GEMM_WIDE_C : 0) |
                   (ft_gemm_batches(p) * parts > 1 ? GEMM_BATCHED : 0) | (tail ? GEMM_K_TAIL : 0) |
                   (plan->pack_a ? GEMM_PACKED_A : 0) | (plan->pack_b ? GEMM_PACKED_B : 0) |
                   (filtra_tensor_dtype(target) != FILTRA_F32 ? GEMM_NARROW_C : 0) |
                   (row_sums ? GEMM_ROW_SUMS : 0) | (add_sums ? GEMM_ADD_ROW_SUMS : 0);
  uint32_t epilogue = (accumulate ? GEMM_ACCUMULATE : 0) | (p->bias ? GEMM_BIAS : 0) |
                      (p->z ? p->slope ? GEMM_SLOPE : GEMM_STORE_Z : 0) |
                      (p->keep_slope ? GEMM_KEEP_SLOPE : 0) | (random ? GEMM_DROPOUT : 0) |
                      (p->residual ? GEMM_RESIDUAL : 0) |
                      ((uint32_t)p->activation << GEMM_ACTIVATION_SHIFT);
  uint32_t down = (uint32_t)ft_ceil_div(p->m, plan->tile_m);
  uint32_t across = (uint32_t)ft_ceil_div(p->n, plan->tile_n);
  /* Tiles that run together share rows of the larger operand. A single row or column of tiles has
   * one order, and is one kernel. */
  const bool across_first = p->m > p->n && down > 1 && across > 1 && down <= FT_MOST_GROUPS;
  if (across_first) shape |= GEMM_ACROSS_FIRST;
  const bool whole_tiles = p->m % plan->tile_m == 0 && p->n % plan->tile_n == 0;
  if (plan->s64 && whole_tiles) shape |= GEMM_WHOLE_TILES;
  double cells = (double)count, terms = cells * (double)p->k;
  int64_t touched = ft_gemm_batches(p) * (p->m * p->k * ft_element_bytes(p->a.tensor) +
                                          p->k * p->n * ft_element_bytes(p->b.tensor)) +
                    count * ((parts + accumulate + !!p->z) * ft_element_bytes(target) +
                             (p->residual ? ft_element_bytes(p->residual) : 0)) +
                    (row_sums ? (parts + add_sums) * p->m * ft_element_bytes(row_sums) : 0);
  ft_gemm_any_constants constants = plan->constants;
  constants.all.SHAPE = shape;
  constants.all.EPILOGUE = epilogue;
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = p->label,
          .kernel = kernel_of(ft_graph_device(g), plan, type, epilogue),
          FT_ARGUMENTS(
              gemm, .a = FT_READ(p->a.tensor), .b = FT_READ(p->b.tensor),
              .c = FT_TARGET(target, accumulate),
              .bias = row_sums ? (ft_arg)FT_TARGET(row_sums, add_sums) : (ft_arg)FT_READ(p->bias),
              .z = p->slope ? (ft_arg)FT_READ(p->z) : (ft_arg)FT_WRITE(p->z),
              .residual = FT_READ(p->residual),
              .random = FT_READ(random ? ft_graph_random_state(g) : NULL), .m = (uint32_t)p->m,
              .n = (uint32_t)p->n, .k = (uint32_t)p->k, .lda = a.stride, .ldb = b.stride,
              .ldc = c.stride, .batches = (uint32_t)ft_gemm_batches(p), .inner = (uint32_t)p->inner,
              .a_outer = a.outer, .a_inner = a.inner, .b_outer = b.outer, .b_inner = b.inner,
              .c_outer = c.outer, .c_inner = c.inner, .scale = p->scale == 0 ? 1 : p->scale,
              .rate = p->dropout, .op_id = p->random_id, .chunk = (uint32_t)chunk),
          .constants = &constants,
          .constant_count = plan->constant_count,
          .sequence_elements = random ? ft_graph_sequence_elements(g, target) : 0,
          .workgroup = plan->workgroup,
          .subgroup = plan->subgroup,
          .groups = {across_first ? across : down, across_first ? down : across,
                     (uint32_t)(ft_gemm_batches(p) * parts)},
          .flops = 2 * terms + (row_sums ? (double)(p->m * p->k) : 0),
          .bytes = (double)touched});
  if (parts == 1) return;
  ft_emit_sum_leading(g, p->label, target, p->c.tensor, p->accumulate);
  if (row_sums) ft_emit_sum_leading(g, p->label, row_sums, p->row_sums, p->add_row_sums);
}

/* Fails if no kernel has these types; ops must have cast operands before. */
static bool types_fit(filtra_graph *g, const ft_gemm *p) {
  const filtra_dtype type = ft_gemm_type(p), b = filtra_tensor_dtype(p->b.tensor);
  const filtra_dtype c = filtra_tensor_dtype(p->c.tensor);
  if (type == b && (c == type || c == FILTRA_F32) && (!p->z || filtra_tensor_dtype(p->z) == c) &&
      (!p->residual || c == FILTRA_F32))
    return true;
  ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                "%s: no kernel multiplies %s by %s and gives %s%s; accepted are operands of one "
                "type and a result of that type or F32, with a residual F32",
                p->label, filtra_dtype_name(type), filtra_dtype_name(b), filtra_dtype_name(c),
                p->residual ? ", with a residual" : "");
  return false;
}

/* Whether panels of B can be kept: on devices that read them by uniform loads. */
static bool keeps_b(const filtra_graph *g, const ft_gemm *p) {
  return ft_caps_of(ft_graph_device(g))->uniform_loads && ft_gemm_batches(p) == 1 &&
         ft_graph_keeps(g, p->b.tensor);
}

void ft_emit_gemm(filtra_graph *g, const ft_gemm *gemm) {
  if (!ft_usable(g, gemm->a.tensor) || !ft_usable(g, gemm->b.tensor) ||
      !ft_usable(g, gemm->c.tensor) || !types_fit(g, gemm))
    return;
  ft_gemm p = *gemm;
  if (!p.outer) p.outer = 1;
  if (!p.inner) p.inner = 1;
  if (ft_gemm_batches(&p) * p.m * p.n == 0) return;
  if (p.c.column != 1 && p.n > 1) { /* C^T = B^T A^T */
    p.a = (ft_matrix){gemm->b.tensor, gemm->b.column, gemm->b.row, gemm->b.outer, gemm->b.inner};
    p.b = (ft_matrix){gemm->a.tensor, gemm->a.column, gemm->a.row, gemm->a.outer, gemm->a.inner};
    p.c = (ft_matrix){gemm->c.tensor, gemm->c.column, gemm->c.row, gemm->c.outer, gemm->c.inner};
    p.m = gemm->n;
    p.n = gemm->m;
  }
  const filtra_dtype type = ft_gemm_type(&p);
  const bool kept = keeps_b(g, &p);
  ft_gemm_plan chosen = choose(ft_graph_device(g), &p, kept);
  if (!chosen.sums_rows || p.a.column == 1 || p.k == 1) p.row_sums = NULL;
  ft_gemm_pack(g, &p, &chosen, kept);
  if (!p.a.tensor || !p.b.tensor) return;
  emit_gemm(g, &p, &chosen, type);
  if (gemm->row_sums && !p.row_sums)
    ft_emit_column_sum(g, p.label, gemm->a.tensor, gemm->row_sums, gemm->add_row_sums);
}
