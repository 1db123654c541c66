/* Softmax attention by tiles of scores, which are never stored. Kernels are in shaders/attention.
 * Called by mixers and programs through filtra_attention, and by ops/gfsa.c and ops/plaplacian.c.
 */
#include "ops/attention.h"
#include "plaplacian/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 128 };

/* ---- dispatches ---- */

uint32_t ft_attention_blocks(int64_t count, uint32_t size) {
  return (uint32_t)((count + size - 1) / size);
}

static uint32_t bits(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

filtra_tensor *ft_attention_head_table(filtra_graph *g, const ft_attention *c,
                                       const float *number) {
  const filtra_tensor *part[3] = {c->q, c->k, c->v};
  const int64_t shape[2] = {c->q->shape[1], 4};
  uint32_t *table = ft_calloc((size_t)shape[0], 4 * sizeof *table);
  if (!table) return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (int64_t h = 0; h < shape[0]; h++) {
    for (int i = 0; i < 3; i++)
      table[4 * h + i] = (uint32_t)(h * part[i]->stride[1]);
    table[4 * h + 3] = bits(number[h]);
  }
  filtra_tensor *t = ft_graph_constant(g, "heads", FILTRA_I32, 2, shape, table);
  free(table);
  return t;
}

/* Whether each row of a [B,H,N,D] tensor begins at a multiple of `group` elements and consists of
 * whole groups. */
static bool in_groups(const filtra_tensor *t, int64_t group) {
  bool whole = !t || ft_begins_at(t, (size_t)group * filtra_dtype_bytes(filtra_tensor_dtype(t)));
  for (int i = 0; t && i + 1 < t->ndim; i++)
    whole = whole && t->stride[i] % group == 0;
  return whole && (!t || t->shape[t->ndim - 1] % group == 0);
}

/* Which kernels may load and store groups of elements. GPU kernels stage tiles in groups of four if
 * possible (shaders/attention/problem.glsl), lane kernels of CPU drivers load pairs, and those of
 * uniform loads store them, too; kernels for matrix units stage what they need not transpose in
 * groups of eight, and store results in groups of four. */
static uint32_t wide_flag(const ft_attention *c, const ft_attention_dispatch *d, bool results) {
  enum { FOUR = 4, EIGHT = 8 };
  /* dy is dense: its rows are whole groups if v's are. */
  const filtra_tensor *const staged[] = {c->q, c->k, c->v, d->dy};
  bool fours = true, eights = results;
  for (size_t i = 0; i < FT_COUNT(staged); i++) {
    fours = fours && in_groups(staged[i], FOUR);
    eights = eights && in_groups(staged[i], EIGHT);
  }
  for (int i = 0; results && i < 2; i++)
    fours = fours && in_groups(d->result[i].tensor, FOUR);
  return (fours ? FT_ATTENTION_WIDE : 0) | (eights ? FT_ATTENTION_EIGHTS : 0);
}

static uint32_t part_flag(const filtra_graph *g, const ft_attention *c) {
  return c->dropout > 0 && ft_graph_sequence_elements(g, c->y) ? FT_ATTENTION_PART : 0;
}

static ft_attention_plan plan_of(const filtra_graph *g, const ft_attention *c,
                                 const ft_attention_dispatch *d, uint32_t *wide) {
  const ft_tiling *t = &c->tiling;
  const filtra_device *dev = ft_graph_device(g);
  ft_attention_plan p = {0};
  if (d->matrix) p = ft_attention_matrix_plan(dev, c, d->tile);
  const bool lanes = t->lanes && !d->workgroup, uniform = lanes && t->uniform;
  const bool pairs = lanes && !uniform && ft_caps_of(dev)->info.int64;
  const bool stores = p.kernel || uniform;
  *wide = stores || pairs || !ft_caps_of(dev)->cpu ? wide_flag(c, d, stores) : 0;
  if (p.kernel) return p;
  const char *variant = uniform ? "uniform" : pairs ? "pairs" : lanes ? "lanes" : "";
  return (ft_attention_plan){ft_kernel_variant(d->kernel, filtra_tensor_dtype(c->q), variant),
                             .workgroup = d->workgroup ? d->workgroup : t->workgroup,
                             .subgroup = d->workgroup ? 0 : t->subgroup,
                             .rows = t->rows[d->tile],
                             .own_rows = t->own_rows[d->tile],
                             .unroll = t->unroll,
                             .across = t->across};
}

/* Constants of tiled kernels and of kernels on matrix units, with or without the family's constant.
 * All begin with the common ones, in one order, and end with two of their own and the family's. */
typedef union constants {
  struct ft_plaplacian_tiled_constants tiled;
  struct ft_plaplacian_matrix_constants matrix;
} constants;

static constants constants_of(const ft_attention *c, const ft_attention_plan *p, uint32_t flags) {
  constants k = {.tiled = {.HEAD = (uint32_t)c->q->shape[3],
                           .VALUE = (uint32_t)c->v->shape[3],
                           .HEADS = (uint32_t)c->q->shape[1],
                           .FLAGS = flags,
                           .OWN_ROWS = p->own_rows,
                           .Q_STRIDE = (uint32_t)c->q->stride[2],
                           .K_STRIDE = (uint32_t)c->k->stride[2],
                           .V_STRIDE = (uint32_t)c->v->stride[2],
                           .SCALE = c->scale,
                           .RATE = c->dropout,
                           .UNROLL = p->unroll,
                           .ACROSS = p->across,
                           .EPS = c->family_constant}};
  if (p->matrix) {
    k.matrix.UNITS = p->units;
    k.matrix.TILE_COLS = p->columns;
  }
  return k;
}

/* Arguments of the kernels without the family's own. */
static struct ft_attention_arguments
arguments_of(const ft_attention *c, const ft_attention_dispatch *d, const filtra_tensor *random) {
  const filtra_tensor *q = c->q, *k = c->k, *v = c->v;
  return (struct ft_attention_arguments){.q = FT_READ(q),
                                         .k = FT_READ(k),
                                         .v = FT_READ(v),
                                         .lse = d->lse,
                                         .mask = FT_READ(c->mask),
                                         .bias = FT_READ(c->bias),
                                         .dy = FT_READ(d->dy),
                                         .delta = d->delta,
                                         .result_0 = d->result[0],
                                         .result_1 = d->result[1],
                                         .random = FT_READ(random),
                                         .batches = (uint32_t)q->shape[0],
                                         .queries = (uint32_t)q->shape[2],
                                         .keys = (uint32_t)k->shape[2],
                                         .q_batch = (uint32_t)q->stride[0],
                                         .q_head = (uint32_t)q->stride[1],
                                         .k_batch = (uint32_t)k->stride[0],
                                         .k_head = (uint32_t)k->stride[1],
                                         .v_batch = (uint32_t)v->stride[0],
                                         .v_head = (uint32_t)v->stride[1],
                                         .op_id = c->op_id};
}

/* The same for kernels that read per-head values from a table. */
static struct ft_plaplacian_arguments by_table(const struct ft_attention_arguments *a,
                                               const filtra_tensor *heads) {
  return (struct ft_plaplacian_arguments){.q = a->q,
                                          .k = a->k,
                                          .v = a->v,
                                          .lse = a->lse,
                                          .mask = a->mask,
                                          .bias = a->bias,
                                          .dy = a->dy,
                                          .delta = a->delta,
                                          .result_0 = a->result_0,
                                          .result_1 = a->result_1,
                                          .random = a->random,
                                          .heads = FT_READ(heads),
                                          .batches = a->batches,
                                          .queries = a->queries,
                                          .keys = a->keys,
                                          .q_batch = a->q_batch,
                                          .k_batch = a->k_batch,
                                          .v_batch = a->v_batch,
                                          .op_id = a->op_id};
}

static double bytes_of(const ft_attention *c, const ft_attention_dispatch *d) {
  const filtra_tensor *moved[] = {c->q,
                                  c->k,
                                  c->v,
                                  d->lse.tensor,
                                  c->bias,
                                  d->dy,
                                  d->delta.tensor,
                                  d->result[0].tensor,
                                  d->result[1].tensor};
  double bytes = 0;
  for (size_t i = 0; i < FT_COUNT(moved); i++)
    bytes += (double)filtra_tensor_elements(moved[i]) *
             (double)filtra_dtype_bytes(filtra_tensor_dtype(moved[i]));
  return bytes;
}

void ft_attention_emit(filtra_graph *g, const ft_attention *c, const ft_attention_dispatch *d) {
  uint32_t wide;
  const ft_attention_plan p = plan_of(g, c, d, &wide);
  const bool drawn = p.matrix && c->kept;
  const filtra_tensor *random = drawn ? c->kept : c->dropout > 0 ? ft_graph_random_state(g) : NULL;
  const double pairs = (double)ft_attention_heads(c) * (double)(c->q->shape[2] * c->k->shape[2]);
  const constants k = constants_of(
      c, &p, c->flags | d->flags | wide | part_flag(g, c) | (drawn ? FT_ATTENTION_DRAWN : 0));
  const struct ft_attention_arguments plain = arguments_of(c, d, random);
  const struct ft_plaplacian_arguments table = by_table(&plain, c->heads);
  ft_kernel_call call =
      c->heads ? (ft_kernel_call){FT_ARGUMENTS_AT(plaplacian, &table),
                                  FT_CONSTANTS_AT(plaplacian_tiled, &k.tiled)}
               : (ft_kernel_call){FT_ARGUMENTS_AT(attention, &plain), .constants = &k,
                                  .constant_count = FT_CONSTANT_COUNT(attention_tiled)};
  call.label = d->label;
  call.kernel = p.kernel;
  call.workgroup = p.workgroup;
  call.subgroup = p.subgroup;
  call.groups[0] = d->tokens ? ft_attention_blocks(d->tokens, p.rows) : d->groups[0];
  call.groups[1] = d->tokens ? ft_attention_heads(c) : d->groups[1];
  call.groups[2] = d->groups[2];
  call.flops = 2 * pairs * (double)d->columns * (c->flags & FT_ATTENTION_CAUSAL ? 0.5 : 1);
  call.bytes = bytes_of(c, d);
  ft_record_call(g, &call);
}

/* ---- gradients ---- */

static filtra_tensor *emit_delta(filtra_graph *g, const ft_attention *c, filtra_tensor *dy) {
  filtra_tensor *delta = ft_tensor_like(g, c->lse, "delta");
  ft_attention_emit(
      g, c,
      &(ft_attention_dispatch){.label = "attention.delta",
                               .kernel = "attention/delta",
                               .groups = {ft_flat_groups(g, filtra_tensor_elements(c->lse))},
                               .workgroup = FT_FLAT_WORKGROUP,
                               .lse = FT_READ(NULL),
                               .dy = dy,
                               .delta = FT_WRITE(delta),
                               .result = {FT_READ(c->y), FT_READ(NULL)}});
  return delta;
}

/* Columns of dy where it is multiplied by values. */
static int64_t upstream_columns(const ft_attention *c) {
  return c->v->shape[3] * (c->flags & FT_ATTENTION_PAIRED ? 2 : 1);
}

static void emit_query(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                       filtra_tensor *delta) {
  bool accumulate;
  filtra_tensor *dq = ft_grad_target(g, c->q, &accumulate);
  if (!dq) return;
  ft_attention_emit(g, c,
                    &(ft_attention_dispatch){.label = "attention.backward_query",
                                             .kernel = "attention/backward_query",
                                             .tile = FT_TILE_QUERY,
                                             .matrix = true,
                                             .flags = accumulate ? FT_ATTENTION_ADD_0 : 0,
                                             .tokens = c->q->shape[2],
                                             .lse = FT_READ(c->lse),
                                             .dy = dy,
                                             .delta = FT_READ(delta),
                                             .result = {FT_TARGET(dq, accumulate), FT_READ(NULL)},
                                             .columns = 2 * c->q->shape[3] + upstream_columns(c)});
}

/* Either target may be NULL. */
static void emit_key(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                     filtra_tensor *delta, filtra_tensor *dk, bool add_dk, filtra_tensor *dv,
                     bool add_dv) {
  if (!dk && !dv) return;
  uint32_t flags = (dk ? FT_ATTENTION_WANT_0 : 0) | (dv ? FT_ATTENTION_WANT_1 : 0) |
                   (add_dk ? FT_ATTENTION_ADD_0 : 0) | (add_dv ? FT_ATTENTION_ADD_1 : 0);
  int64_t columns =
      (dk ? 2 : 1) * c->q->shape[3] + (dk ? upstream_columns(c) : 0) + (dv ? c->v->shape[3] : 0);
  ft_attention_emit(
      g, c,
      &(ft_attention_dispatch){.label = "attention.backward_key",
                               .kernel = "attention/backward_key",
                               .tile = FT_TILE_KEY,
                               .matrix = true,
                               .flags = flags,
                               .tokens = c->k->shape[2],
                               .lse = FT_READ(c->lse),
                               .dy = dy,
                               .delta = FT_READ(delta),
                               .result = {FT_TARGET(dk, add_dk), FT_TARGET(dv, add_dv)},
                               .columns = columns});
}

static void emit_key_value(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                           filtra_tensor *delta) {
  bool add_dk, add_dv;
  filtra_tensor *dk = ft_grad_target(g, c->k, &add_dk);
  bool shared = dk && c->k->owner == c->v->owner;
  if (shared) { /* keys and values are one tensor: two dispatches add to its gradient */
    emit_key(g, c, dy, delta, dk, add_dk, NULL, false);
    dk = NULL;
    add_dk = false;
  }
  filtra_tensor *dv = ft_grad_target(g, c->v, &add_dv);
  emit_key(g, c, dy, delta, dk, add_dk, dv, add_dv);
}

static void emit_bias(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                      filtra_tensor *delta) {
  bool accumulate;
  filtra_tensor *dbias = ft_grad_target(g, c->bias, &accumulate);
  if (!dbias) return;
  uint32_t matrices =
      (uint32_t)(filtra_tensor_elements(c->bias) / (c->q->shape[2] * c->k->shape[2]));
  ft_attention_emit(
      g, c,
      &(ft_attention_dispatch){
          .label = "attention.backward_bias",
          .kernel = "attention/backward_bias",
          .tile = FT_TILE_QUERY,
          .flags = accumulate ? FT_ATTENTION_ADD_0 : 0,
          .groups = {ft_attention_blocks(c->q->shape[2], c->tiling.rows[FT_TILE_QUERY]),
                     ft_attention_blocks(c->k->shape[2], c->tiling.columns), matrices},
          .lse = FT_READ(c->lse),
          .dy = dy,
          .delta = FT_READ(delta),
          .result = {FT_TARGET(dbias, accumulate), FT_READ(NULL)},
          .columns = c->q->shape[3] + upstream_columns(c)});
}

void ft_attention_emit_backward(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                filtra_tensor *delta) {
  emit_query(g, c, dy, delta);
  emit_key_value(g, c, dy, delta);
  emit_bias(g, c, dy, delta);
}

/* Passes lse as delta: only dk needs delta. */
void ft_attention_emit_transposed(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                  filtra_tensor *dv) {
  emit_key(g, c, dy, c->lse, NULL, false, dv, false);
}

static void attention_backward(filtra_graph *g, const void *context) {
  ft_attention c = *(const ft_attention *)context;
  filtra_tensor *dy = ft_grad(g, c.y);
  c.kept = ft_attention_kept(g, &c, true);
  ft_attention_emit_backward(g, &c, dy, emit_delta(g, &c, dy));
}

/* ---- the op ---- */

/* Kernels index a tensor with 31 bits from its first element. */
static bool addressable(filtra_graph *g, const char *op, const filtra_tensor *t,
                        const char *argument) {
  int64_t extent = 1;
  for (int i = 0; i < t->ndim; i++)
    extent += (t->shape[i] - 1) * t->stride[i];
  if (extent <= INT32_MAX) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "%s: %s (%s %s) spans more than 2^31 elements; use a smaller batch", op, argument,
                t->name, ft_shape_text(t));
  return false;
}

static bool check_heads(filtra_graph *g, const char *op, const filtra_tensor *t,
                        const char *argument) {
  if (!ft_usable_elements(g, t, op, argument)) return false;
  if (t->ndim != 4 || (t->stride[3] != 1 && t->shape[3] != 1)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "%s: %s (%s %s) must be [B,H,N,D] with a dense last axis", op, argument, t->name,
                  ft_shape_text(t));
    return false;
  }
  if (filtra_tensor_elements(t) == 0 || t->shape[3] > MOST_COLUMNS) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "%s: %s (%s %s) must not be empty, and have at most %d columns per head", op,
                  argument, t->name, ft_shape_text(t), MOST_COLUMNS);
    return false;
  }
  return addressable(g, op, t, argument);
}

static bool check_shapes(filtra_graph *g, const char *op, const filtra_tensor *q,
                         const filtra_tensor *k, const filtra_tensor *v) {
  bool fit = q->shape[3] == k->shape[3] && k->shape[2] == v->shape[2];
  for (int i = 0; i < 2; i++)
    fit = fit && q->shape[i] == k->shape[i] && k->shape[i] == v->shape[i];
  if (fit) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "%s: q %s, k %s and v %s must be [B,H,Nq,D], [B,H,Nk,D] and [B,H,Nk,Dv]", op,
                ft_shape_text(q), ft_shape_text(k), ft_shape_text(v));
  return false;
}

static bool check_types(filtra_graph *g, const char *op, const filtra_tensor *q,
                        const filtra_tensor *k, const filtra_tensor *v) {
  const filtra_dtype type[3] = {filtra_tensor_dtype(q), filtra_tensor_dtype(k),
                                filtra_tensor_dtype(v)};
  if (type[0] == type[1] && type[1] == type[2]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: q is %s, k %s and v %s; they must be of one type",
                op, filtra_dtype_name(type[0]), filtra_dtype_name(type[1]),
                filtra_dtype_name(type[2]));
  return false;
}

static bool check_mask(filtra_graph *g, const char *op, const filtra_tensor *mask,
                       const filtra_tensor *k) {
  if (!ft_usable_floats(g, mask, 2, op, "mask")) return false;
  if (mask->shape[0] == k->shape[0] && mask->shape[1] == k->shape[2]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: mask %s must be [B,Nk] of k %s", op,
                ft_shape_text(mask), ft_shape_text(k));
  return false;
}

/* The bias must have the last axes of [B,H,Nq,Nk]. */
static bool check_bias(filtra_graph *g, const char *op, const filtra_tensor *bias,
                       const filtra_tensor *q, const filtra_tensor *k) {
  if (!ft_usable_dense(g, bias, op, "bias")) return false;
  const int64_t whole[4] = {q->shape[0], q->shape[1], q->shape[2], k->shape[2]};
  if (bias->ndim >= 2 &&
      !memcmp(bias->shape, whole + 4 - bias->ndim, (size_t)bias->ndim * sizeof *whole))
    return addressable(g, op, bias, "bias");
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "%s: bias %s must be [Nq,Nk], [H,Nq,Nk] or [B,H,Nq,Nk] of q %s and k %s", op,
                ft_shape_text(bias), ft_shape_text(q), ft_shape_text(k));
  return false;
}

static bool check_options(filtra_graph *g, const char *op, const filtra_attention_options *o,
                          const filtra_tensor *q, const filtra_tensor *k) {
  if (!ft_graph_accept(g, FT_CHECK_RESERVED(filtra_attention_options, o))) return false;
  if (o->mask && !check_mask(g, op, o->mask, k)) return false;
  if (o->bias && !check_bias(g, op, o->bias, q, k)) return false;
  if (!isfinite(o->scale)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: scale %g must be finite", op, (double)o->scale);
    return false;
  }
  if (!(o->dropout >= 0 && o->dropout < 1)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: dropout %g must lie in [0,1)", op,
                  (double)o->dropout);
    return false;
  }
  return true;
}

static uint32_t option_flags(const filtra_attention_options *o) {
  uint32_t flags = (o->causal ? FT_ATTENTION_CAUSAL : 0) | (o->mask ? FT_ATTENTION_MASKED : 0);
  if (!o->bias) return flags;
  return flags | FT_ATTENTION_BIASED | (o->bias->ndim > 2 ? FT_ATTENTION_BIAS_PER_HEAD : 0) |
         (o->bias->ndim > 3 ? FT_ATTENTION_BIAS_PER_BATCH : 0);
}

bool ft_attention_init(filtra_graph *g, const char *op, filtra_tensor *q, filtra_tensor *k,
                       filtra_tensor *v, const filtra_attention_options *options,
                       ft_attention *out) {
  static const filtra_attention_options defaults;
  const filtra_attention_options *o = options ? options : &defaults;
  if (!check_heads(g, op, q, "q") || !check_heads(g, op, k, "k") || !check_heads(g, op, v, "v") ||
      !check_types(g, op, q, k, v) || !check_shapes(g, op, q, k, v) ||
      !check_options(g, op, o, q, k))
    return false;
  const int64_t shape[4] = {q->shape[0], q->shape[1], q->shape[2], v->shape[3]};
  filtra_tensor *y = ft_tensor_token_major(g, op, filtra_tensor_dtype(q), shape);
  filtra_tensor *lse = ft_tensor_new(g, "log-sum-exp", FILTRA_F32, 3, shape);
  if (!y || !lse || !addressable(g, op, y, "the result")) return false;
  float dropout = ft_graph_training(g) ? o->dropout : 0;
  *out = (ft_attention){q,
                        k,
                        v,
                        o->mask,
                        o->bias,
                        y,
                        lse,
                        .tiling = ft_attention_tiling(ft_graph_device(g), op, q, k, v, o),
                        .matrix = ft_attention_matrix_choice(ft_graph_device(g), op, q, k, v, o),
                        .flags = option_flags(o),
                        .op_id = dropout > 0 ? ft_graph_random_id(g) : 0,
                        .scale = o->scale != 0 ? o->scale : 1 / sqrtf((float)q->shape[3]),
                        .dropout = dropout};
  return true;
}

void ft_attention_emit_forward(filtra_graph *g, const char *label, const ft_attention *c) {
  const ft_arg known = FT_READ(c->lse), made = FT_WRITE(c->lse);
  ft_attention_emit(g, c,
                    &(ft_attention_dispatch){.label = label,
                                             .kernel = "attention/forward",
                                             .tile = FT_TILE_FORWARD,
                                             .matrix = true,
                                             .tokens = c->q->shape[2],
                                             .lse = c->flags & FT_ATTENTION_KNOWN ? known : made,
                                             .delta = FT_READ(NULL),
                                             .result = {FT_WRITE(c->y), FT_READ(NULL)},
                                             .columns = c->q->shape[3] + c->v->shape[3]});
}

filtra_tensor *filtra_attention(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                filtra_tensor *v, const filtra_attention_options *options) {
  ft_attention call;
  if (!ft_attention_init(g, "attention", q, k, v, options, &call)) return NULL;
  if (!ft_record_op(g, "attention", attention_backward, &call, sizeof call, 4,
                    (filtra_tensor *[]){q, k, v, call.bias}, 1, &call.y))
    return NULL;
  call.kept = ft_attention_kept(g, &call, false);
  ft_attention_emit_forward(g, "attention", &call);
  return call.y;
}
