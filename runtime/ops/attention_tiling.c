/* Rows and columns of attention's tiles: the op's own choice, and the tuner's questions.
 * Configurations are in ops/tuning_table.c. Called by ops/attention.c. */
#include "ops/attention.h"
#include "ops/attention_problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LANES_OWN_ROWS };
enum { UNIFORM_OWN_ROWS };
enum {
  TILED_WORKGROUP,
  TILED_OWN_ROWS,
  TILED_ACROSS = TILED_OWN_ROWS + FT_TILE_KINDS,
  TILED_UNROLL
};
/* Columns of an invocation, as in shaders/attention/tiled.glsl and uniform.glsl. */
enum { OWN_COLS = 4 };

static ft_tiling tiled(const ft_configuration *c) {
  const uint32_t *v = c->value;
  ft_tiling t = {.workgroup = v[TILED_WORKGROUP],
                 .columns = v[TILED_ACROSS] * OWN_COLS,
                 .across = v[TILED_ACROSS],
                 .unroll = v[TILED_UNROLL]};
  for (int i = 0; i < FT_TILE_KINDS; i++) {
    t.own_rows[i] = v[TILED_OWN_ROWS + i];
    t.rows[i] = t.workgroup / t.across * t.own_rows[i];
  }
  return t;
}

/* Size of `staged` in tiled.glsl, for the deepest slices. */
static uint32_t shared_bytes(const ft_tiling *t) {
  enum { DEPTH = 32, PAD = 4 };
  uint32_t rows = 0;
  for (int i = 0; i < FT_TILE_KINDS; i++)
    rows = t->rows[i] > rows ? t->rows[i] : rows;
  uint32_t pair = (rows + t->columns) * (DEPTH + PAD), sum = (rows + DEPTH) * t->columns;
  return (pair > sum ? pair : sum) * (uint32_t)sizeof(float);
}

static ft_tiling lanes(const filtra_device *dev, const ft_configuration *c) {
  const uint32_t width = ft_caps_of(dev)->info.subgroup_size, rows = c->value[LANES_OWN_ROWS];
  return (ft_tiling){.lanes = true,
                     .workgroup = width,
                     .subgroup = width,
                     .columns = 2 * width,
                     .own_rows = {rows, rows, rows},
                     .rows = {rows, rows, rows}};
}

static ft_tiling uniform(const filtra_device *dev, const ft_configuration *c) {
  const uint32_t width = ft_caps_of(dev)->info.subgroup_size;
  ft_tiling t = {
      .lanes = true, .uniform = true, .workgroup = width, .subgroup = width, .columns = OWN_COLS};
  for (int i = 0; i < FT_TILE_KINDS; i++) {
    t.own_rows[i] = c->value[UNIFORM_OWN_ROWS + i];
    t.rows[i] = width * t.own_rows[i];
  }
  return t;
}

/* ---- questions of the tuner ---- */

static const char *const OPS[] = {"attention", "gfsa", "plaplacian"};

enum { FEW_SCORES = 1 << 18, MANY_SCORES = 1 << 22, WIDE_HEADS = 64 };

static int64_t scores_of(const ft_attention_problem *p) {
  return p->batches * p->heads * p->queries * p->keys;
}

static bool has_wide_heads(const ft_attention_problem *p) {
  return p->columns > WIDE_HEADS || p->value_columns > WIDE_HEADS;
}

/* Rows of a lane kernel's tile. More rows share each gathered value, but take longer to compile: 12
 * nearly three times as long as 4. Many rows of wide heads exceed the first-level cache. */
static uint32_t lane_rows(const ft_attention_problem *p) {
  if (scores_of(p) < FEW_SCORES) return 4;
  return scores_of(p) < MANY_SCORES || has_wide_heads(p) ? 8 : 12;
}

/* Lanes that keep rows of a sequence of their own need sequences that fill them. */
static bool fills_lanes(const filtra_device *dev, const ft_attention_problem *p) {
  const int64_t lanes = ft_caps_of(dev)->info.subgroup_size;
  return p->type == FILTRA_F32 && p->queries >= lanes && p->keys >= lanes;
}

/* Whether one row of a lane is faster than two, which share loads: where few tiles of two rows are
 * needed, and half of the last one would lie past the last query. */
static bool one_row_fits(const filtra_device *dev, const ft_attention_problem *p) {
  const int64_t lanes = ft_caps_of(dev)->info.subgroup_size;
  const int64_t last = p->queries % (2 * lanes);
  return scores_of(p) < FEW_SCORES && last > 0 && last <= lanes && p->queries <= 7 * lanes;
}

/* The op's own choice where loads are uniform. Milliseconds of the forward, key and query kernels,
 * 2 heads of 32 columns, Mesa 26:
 *   256 bits, one core of a Zen 3 | 1 x 1,024 tokens | 8 x 100 tokens   | 32 x 24
 *   1 row                         | 7.1, 13.5, 8.9   | 0.61, 1.16, 0.80 | 0.20, 0.35, 0.25
 *   2 rows                        | 5.6, 11.7, 7.4   | 0.56, 1.14, 0.72 | 0.23, 0.42, 0.31
 *   4 rows                        | 8.4, 18.2, 12.5  |
 * With vectors of 512 bits there are twice the registers; 4, 2 and 4 rows were the fastest there.
 * Wide heads take seconds to compile: of 128 columns 10, 25 and 66 with 1, 2 and 4 rows. */
static ft_configuration standard_uniform(const filtra_device *dev, const ft_attention_problem *p) {
  const bool many = scores_of(p) >= MANY_SCORES, wide = has_wide_heads(p);
  const bool short_vectors = ft_caps_of(dev)->info.subgroup_size <= 8;
  if (wide && !many) return (ft_configuration){{0}};
  if (one_row_fits(dev, p)) return (ft_configuration){{1, 1, 1}};
  if (short_vectors || scores_of(p) < FEW_SCORES) return (ft_configuration){{2, 2, 2}};
  if (wide) return (ft_configuration){{4, 4, 4}};
  return p->op == FT_PROBLEM_PLAPLACIAN ? (ft_configuration){{4, 2, 2}}
                                        : (ft_configuration){{4, 2, 4}};
}

/* Rows of an invocation in the forward kernel where registers are many. Eight read 1.6 bytes of
 * shared memory for a multiply-add, four 2.1, but halve the workgroups. They leave no registers
 * with p-LaT, wide heads and 16-bit numbers, and on AMD's GCN, whose subgroups have 64 lanes, room
 * for one subgroup on a SIMD unit. Nor are they taken for narrow heads, of which NVIDIA's compiler
 * has most loads in flight. */
static uint32_t forward_rows(const filtra_device *dev, const ft_attention_problem *p,
                             uint32_t across) {
  enum { TILE = 8 * 128 / 16 }; /* rows of a workgroup of 128 invocations, 16 side by side */
  const ft_caps *caps = ft_caps_of(dev);
  const int64_t tiles = (p->queries + TILE - 1) / TILE * p->batches * p->heads;
  const bool fits = p->type == FILTRA_F32 && p->op != FT_PROBLEM_PLAPLACIAN && across == 16 &&
                    !has_wide_heads(p) && caps->subgroup_least < 64;
  return fits && tiles >= ft_busy_groups(caps) ? 8 : 4;
}

static ft_configuration standard(const filtra_device *dev, const ft_attention_problem *p) {
  const ft_caps *caps = ft_caps_of(dev);
  if (caps->attention_style >= FT_STYLE_SUBGROUP) return (ft_configuration){{lane_rows(p)}};
  /* Two tiles of scores and the row sums of up to two matrices must stay in registers. */
  const int64_t columns = p->columns > p->value_columns ? p->columns : p->value_columns;
  uint32_t across = columns > 32 ? 16 : 8;
  const bool wide = columns > 64, large = caps->info.max_workgroup_invocations >= 256;
  /* Dropout on the weights of 16-bit heads takes up the remaining registers. */
  const bool dropped = p->dropout > 0 && p->type != FILTRA_F32;
  if (caps->few_registers && p->op == FT_PROBLEM_PLAPLACIAN) {
    /* With more invocations, each one stages fewer elements. */
    if (dropped && wide && large) return (ft_configuration){{256, 1, 1, 1, 16, 1}};
    const bool many = large && (wide || (dropped && columns > 32));
    return (ft_configuration){{many ? 256 : 128, 2, 1, 1, across, 1}};
  }
  if (caps->few_registers && dropped)
    return (ft_configuration){{wide && large ? 256 : 128, wide ? 2 : 4, 1, wide ? 1 : 2, 16, 1}};
  /* 4 rows of wide causal heads spill on Intel. F32 keeps 4, since its tiles have been measured. */
  const uint32_t rows = wide && p->type != FILTRA_F32 ? 2 : 4;
  if (caps->few_registers) return (ft_configuration){{128, rows, wide ? 1 : 2, 2, across, 1}};
  /* CPU drivers need seconds to compile taller tiles, and compile them only for Intel's profiles
   * and the tuner's tests. */
  if (caps->for_cpu) return (ft_configuration){{128, 2, 2, 2, across, 1}};
  /* For heads of up to 32 columns, one unrolled pass has so many loads in flight that NVIDIA's
   * compiler spills: on an H100, 8 steps took 1.4 times as long as 4. */
  return (ft_configuration){{128, forward_rows(dev, p, across), 4, 4, across, across == 8 ? 4 : 8}};
}

static bool usable(const filtra_device *dev, const ft_tuning_question *q,
                   const ft_configuration *c) {
  if (q->family == FT_TUNE_ATTENTION_LANES) return true;
  if (q->family == FT_TUNE_ATTENTION_UNIFORM) {
    const ft_attention_problem p = ft_attention_problem_of(q);
    return !c->value[UNIFORM_OWN_ROWS] || fills_lanes(dev, &p);
  }
  if (q->family == FT_TUNE_ATTENTION_MATRIX) {
    const ft_attention_problem p = ft_attention_problem_of(q);
    const ft_attention_widths widths = {p.columns,
                                        p.value_columns,
                                        p.value_columns * (p.op == FT_PROBLEM_GFSA ? 2 : 1),
                                        (filtra_dtype)p.type,
                                        p.op == FT_PROBLEM_PLAPLACIAN,
                                        p.dropout > 0};
    return ft_attention_matrix_usable(dev, &widths, c);
  }
  const filtra_device_info *info = &ft_caps_of(dev)->info;
  ft_tiling t = tiled(c);
  return t.workgroup <= info->max_workgroup_invocations &&
         shared_bytes(&t) <= info->shared_memory_bytes;
}

static ft_tuning_question question(const filtra_device *dev, const ft_attention_problem *p,
                                   ft_tuning_family family) {
  ft_tuning_question q = {.family = family, .usable = usable};
  memcpy(q.number, p, sizeof *p);
  const char *type = p->type == FILTRA_F16 ? " f16" : p->type == FILTRA_BF16 ? " bf16" : "";
  snprintf(q.key, sizeof q.key, "%s w%u %s d%lld v%lld q%lld k%lld b%lld%s%s%s%s",
           ft_configurations(q.family)->name, ft_caps_of(dev)->info.subgroup_size, OPS[p->op],
           (long long)p->columns, (long long)p->value_columns,
           (long long)ft_tuning_bucket(p->queries), (long long)ft_tuning_bucket(p->keys),
           (long long)ft_tuning_bucket(p->batches * p->heads), p->causal ? " causal" : "",
           p->biased ? " bias" : "", p->dropout ? " dropout" : "", type);
  return q;
}

static ft_attention_problem describe(const char *op, const filtra_tensor *q, const filtra_tensor *k,
                                     const filtra_tensor *v, const filtra_attention_options *o) {
  ft_attention_problem p = {.batches = q->shape[0],
                            .heads = q->shape[1],
                            .queries = q->shape[2],
                            .keys = k->shape[2],
                            .columns = q->shape[3],
                            .value_columns = v->shape[3],
                            .causal = o->causal,
                            .masked = o->mask != NULL,
                            .biased = o->bias != NULL,
                            .dropout = (int64_t)(o->dropout * 1e6f),
                            .type = filtra_tensor_dtype(q)};
  while (p.op < FT_PROBLEM_PLAPLACIAN && strcmp(op, OPS[p.op]))
    p.op++;
  return p;
}

ft_tiling ft_attention_tiling(const filtra_device *dev, const char *op, const filtra_tensor *q,
                              const filtra_tensor *k, const filtra_tensor *v,
                              const filtra_attention_options *o) {
  const ft_attention_problem p = describe(op, q, k, v, o);
  const ft_kernel_style style = ft_caps_of(dev)->attention_style;
  const bool by_lanes = style >= FT_STYLE_SUBGROUP;
  if (ft_tuning_reference(dev)) return tiled(&(ft_configuration){{128, 1, 1, 1, 8, 1}});
  if (style == FT_STYLE_UNIFORM && fills_lanes(dev, &p)) {
    ft_tuning_question asked = question(dev, &p, FT_TUNE_ATTENTION_UNIFORM);
    asked.standard = standard_uniform(dev, &p);
    const ft_configuration c = ft_tuning_choose(dev, &asked);
    if (c.value[UNIFORM_OWN_ROWS]) return uniform(dev, &c);
  }
  ft_tuning_question asked =
      question(dev, &p, by_lanes ? FT_TUNE_ATTENTION_LANES : FT_TUNE_ATTENTION_TILED);
  asked.standard = standard(dev, &p);
  ft_configuration c = ft_tuning_choose(dev, &asked);
  return by_lanes ? lanes(dev, &c) : tiled(&c);
}

/* Without tuning the op uses matrix units only if told to, and then the largest tiles. */
ft_configuration ft_attention_matrix_choice(const filtra_device *dev, const char *op,
                                            const filtra_tensor *q, const filtra_tensor *k,
                                            const filtra_tensor *v,
                                            const filtra_attention_options *o) {
  const ft_attention_problem p = describe(op, q, k, v, o);
  const bool force = ft_caps_of(dev)->matrix_use == FT_MATRIX_FORCE;
  if (ft_tuning_reference(dev) || !ft_attention_matrix_there(dev, filtra_tensor_dtype(q)))
    return (ft_configuration){{0}};
  ft_tuning_question asked = question(dev, &p, FT_TUNE_ATTENTION_MATRIX);
  asked.standard = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, force);
  return ft_tuning_choose(dev, &asked);
}
