/* Tiles of attention on matrix units. Kernels are shaders/attention/..._matrix.comp and
 * shaders/plaplacian/..._matrix.comp; shared_groups computes the shared memory of matrix.glsl
 * there. Called by ops/attention.c and ops/attention_tiling.c. */
#include "ops/attention.h"
#include "ops/tuning.h"

#include <string.h>

enum { ROWS, COLUMNS, STRIPS }; /* fields of a row of the table */

/* Without p-norm weights, and with them. */
static const char *const KERNELS[2][FT_TILE_KINDS] = {
    {[FT_TILE_FORWARD] = "attention/forward_matrix",
     [FT_TILE_KEY] = "attention/backward_key_matrix",
     [FT_TILE_QUERY] = "attention/backward_query_matrix"},
    {[FT_TILE_FORWARD] = "plaplacian/forward_matrix",
     [FT_TILE_KEY] = "plaplacian/backward_key_matrix",
     [FT_TILE_QUERY] = "plaplacian/backward_query_matrix"},
};

static uint32_t most(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static uint32_t whole(int64_t width, uint32_t unit) {
  return ((uint32_t)width + unit - 1) / unit * unit;
}

/* Subgroups that share the rows of a tile; backward kernels compute two products of each. */
static uint32_t sides(ft_tile kind) {
  return kind == FT_TILE_FORWARD ? 1 : 2;
}

/* Most columns of rows that stay in registers. With p-norm weights, fewer for kernels that also sum
 * differences of both sides' rows or draw dropout's random numbers. */
enum { MOST_DEPTH = 128, MOST_NORM_DEPTH = 64 };
/* Most columns of these rows and of the sums, if a subgroup has two strips. */
enum { MOST_STRIP_WIDTH = 64 };
static int64_t depth_of(const ft_attention_widths *w, ft_tile kind) {
  return sides(kind) == 2 && w->upstream > w->head ? w->upstream : w->head;
}

/* Additional shared memory of p-norm weights, in 16 bytes: FILTRA_MORE of their kernels. */
static uint32_t norm_groups(const ft_attention_widths *w, ft_tile kind, uint32_t rows,
                            uint32_t columns) {
  const uint32_t pitch = ((uint32_t)w->value + 7) / 8 | 1;
  const uint32_t statistics = most(rows, columns) / 4;
  switch (kind) {
  case FT_TILE_QUERY:
    return rows * pitch + statistics;
  case FT_TILE_KEY:
    return (rows + columns) * pitch + statistics + rows * columns / 16;
  default:
    return (rows + columns) * pitch;
  }
}

/* FILTRA_STATISTICS: numbers for each row or column; in forward kernels one for each lane that
 * shares a row. FILTRA_IN_PLACE: whether weights overwrite their scores. */
static uint32_t statistics(bool norms, ft_tile kind, uint32_t sharers) {
  return norms || kind == FT_TILE_KEY ? 2 : kind == FT_TILE_FORWARD ? sharers : 0;
}
static bool in_place(bool norms, ft_tile kind) {
  return !norms && kind != FT_TILE_KEY;
}

/* The whole shared memory, in 16 bytes. */
static uint32_t shared_groups(const ft_attention_widths *w, ft_tile kind, ft_matrix_shape s,
                              uint32_t lanes, uint32_t rows, uint32_t columns) {
  const uint32_t n = sides(kind), unit = most(n * s.n, s.k);
  const uint32_t depth = whole(depth_of(w, kind), unit);
  const uint32_t lines = kind == FT_TILE_FORWARD ? whole(w->value, unit)
                         : kind == FT_TILE_QUERY
                             ? whole(w->head, unit)
                             : whole(w->head > w->value ? w->head : w->value, unit);
  const uint32_t turns = kind == FT_TILE_KEY ? 2 : 1, tokens = columns / 8 + 1;
  const uint32_t weights = in_place(w->norms, kind) ? 0 : rows * tokens;
  const uint32_t dropped = kind == FT_TILE_KEY ? rows * columns / 16 : 0;
  const uint32_t all = n * most(columns * (depth / 8 + 1), weights) + turns * lines * tokens +
                       n * rows * (columns / 4 + 1) +
                       statistics(w->norms, kind, most(lanes / s.m, 1)) * most(rows, columns) / 4 +
                       (w->norms ? norm_groups(w, kind, rows, columns) : dropped);
  return most(all, n * rows * (depth / 8 + 1));
}

/* With more shared memory per workgroup, too few subgroups run on a processor; large workgroups
 * have more subgroups. */
enum { MOST_SHARED = 32 << 10, MOST_SHARED_OF_LARGE = 48 << 10, LARGE_WORKGROUP = 256 };
static uint32_t most_shared(const ft_attention_widths *w, uint32_t workgroup) {
  return workgroup >= LARGE_WORKGROUP && !w->norms ? MOST_SHARED_OF_LARGE : MOST_SHARED;
}

static bool fits(const ft_caps *caps, const ft_attention_widths *w, ft_tile kind,
                 const ft_configuration *c) {
  const uint32_t rows = c->value[ROWS], columns = c->value[COLUMNS], strips = c->value[STRIPS];
  const uint32_t lanes = ft_matrix_lanes(caps);
  const ft_matrix_shape s = ft_matrix_shape_of(caps, w->type);
  if (!rows || rows % (strips * s.m) || columns % s.n || columns % s.k) return false;
  if (strips > 1 &&
      (w->norms || depth_of(w, kind) > MOST_STRIP_WIDTH || w->value > MOST_STRIP_WIDTH))
    return false;
  const uint32_t workgroup = rows / (strips * s.m) * sides(kind) * lanes;
  /* The lanes of a row share its groups of four. */
  if (kind == FT_TILE_FORWARD && lanes > s.m && lanes / s.m > columns / 4) return false;
  const bool crowded = w->norms && (kind == FT_TILE_KEY || (kind == FT_TILE_FORWARD && w->dropped));
  if (depth_of(w, kind) > (crowded ? MOST_NORM_DEPTH : MOST_DEPTH)) return false;
  const uint32_t shared = 16 * shared_groups(w, kind, s, lanes, rows, columns);
  return workgroup <= caps->info.max_workgroup_invocations &&
         ft_caps_runs(caps, lanes, workgroup) && shared <= most_shared(w, workgroup) &&
         shared <= caps->info.shared_memory_bytes;
}

/* ---- dropout ---- */

/* Whether a row's bits take no more memory than its q, k, v and y. */
static bool kept_is_small(const ft_attention *c, int64_t rows, int64_t words) {
  const int64_t columns = 2 * (c->q->shape[3] + c->v->shape[3]);
  return words * (int64_t)sizeof(uint32_t) <=
             columns * (int64_t)filtra_dtype_bytes(filtra_tensor_dtype(c->q)) &&
         rows * words <= INT32_MAX;
}

filtra_tensor *ft_attention_kept(filtra_graph *g, const ft_attention *c, bool backward) {
  enum { WORD = 32 };
  const filtra_device *dev = ft_graph_device(g);
  const int64_t queries = c->q->shape[2], keys = c->k->shape[2];
  const int64_t shape[2] = {ft_attention_heads(c) * queries, (keys + WORD - 1) / WORD};
  const ft_tile tile = backward ? FT_TILE_QUERY : FT_TILE_FORWARD;
  if (!(c->dropout > 0) || c->norms || !kept_is_small(c, shape[0], shape[1]) ||
      !ft_attention_matrix_plan(dev, c, tile).kernel)
    return NULL;
  filtra_tensor *kept = ft_tensor_new(g, "kept", FILTRA_I32, 2, shape);
  if (!kept) return NULL;
  const bool part = ft_graph_sequence_elements(g, c->y) != 0;
  const int64_t count = shape[0] * shape[1];
  ft_record_call(g, &(ft_kernel_call){
                        .label = "attention.dropout",
                        .kernel = "attention/dropout",
                        FT_ARGUMENTS(attention_dropout, .random = FT_READ(ft_graph_random_state(g)),
                                     .kept = FT_WRITE(kept), .rows = (uint32_t)shape[0],
                                     .keys = (uint32_t)keys, .op_id = c->op_id),
                        FT_FLAT(g, count),
                        FT_CONSTANTS(attention_dropout, .RATE = c->dropout,
                                     .SEQUENCE = part ? (uint32_t)(c->q->shape[1] * queries) : 0),
                        .bytes = sizeof(uint32_t) * (double)count});
  return kept;
}

/* ---- tiles ---- */

/* Not with few registers: kernels would spill. */
bool ft_attention_matrix_there(const filtra_device *dev, filtra_dtype type) {
  const ft_caps *caps = ft_caps_of(dev);
  return ft_matrix_shape_of(caps, type).m != 0 && caps->subgroup && !caps->few_registers &&
         ft_kernel_typed(dev, KERNELS[false][FT_TILE_FORWARD], type) != NULL;
}

bool ft_attention_matrix_usable(const filtra_device *dev, const ft_attention_widths *w,
                                const ft_configuration *c) {
  if (!ft_configuration_on_matrices(FT_TUNE_ATTENTION_MATRIX, c)) return true;
  for (ft_tile kind = 0; kind < FT_TILE_KINDS; kind++)
    if (fits(ft_caps_of(dev), w, kind, c)) return true;
  return false;
}

/* The first tile that fits, from the chosen row of the table on. */
ft_attention_plan ft_attention_matrix_plan(const filtra_device *dev, const ft_attention *c,
                                           ft_tile kind) {
  const ft_caps *caps = ft_caps_of(dev);
  const int64_t value = c->v->shape[3];
  const ft_attention_widths w = {c->q->shape[3],
                                 value,
                                 value * (c->flags & FT_ATTENTION_PAIRED ? 2 : 1),
                                 filtra_tensor_dtype(c->q),
                                 c->norms,
                                 c->dropout > 0};
  const ft_matrix_shape s = ft_matrix_shape_of(caps, w.type);
  const uint32_t lanes = ft_matrix_lanes(caps);
  const size_t count = ft_configuration_count(FT_TUNE_ATTENTION_MATRIX);
  if (!c->matrix.value[ROWS]) return (ft_attention_plan){0};
  bool begun = false;
  for (size_t i = 0; i < count; i++) {
    const ft_configuration tile = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, i);
    begun = begun || ft_configuration_same(&tile, &c->matrix);
    if (!begun || !fits(caps, &w, kind, &tile)) continue;
    return (ft_attention_plan){.kernel = ft_kernel_variant(KERNELS[c->norms][kind], w.type, ""),
                               .workgroup = tile.value[ROWS] / (tile.value[STRIPS] * s.m) *
                                            sides(kind) * lanes,
                               .subgroup = lanes,
                               .rows = tile.value[ROWS],
                               .own_rows = tile.value[STRIPS],
                               .matrix = true,
                               .units = lanes | s.m << 8 | s.n << 16 | s.k << 24,
                               .columns = tile.value[COLUMNS]};
  }
  return (ft_attention_plan){0};
}
