/* Attention on matrix units: which tiles. The kernels are shaders/attention/..._matrix.comp, and
 * shared_groups says what matrix.glsl there does. */
#include "gpu/tuning.h"
#include "ops/attention.h"

/* Rows and columns of a tile, the first that fit: more columns are worth more than more rows, since
 * what a step costs besides products is then shared by more of them. */
static const uint32_t TILES[][2] = {{64, 32}, {32, 32}, {64, 16}, {32, 16},
                                    {16, 32}, {16, 16}, {16, 8},  {8, 8}};

static const char *const KERNELS[FT_TILE_KINDS] = {
    [FT_TILE_FORWARD] = "attention/forward_matrix",
    [FT_TILE_KEY] = "attention/backward_key_matrix",
    [FT_TILE_QUERY] = "attention/backward_query_matrix",
};

static uint32_t most(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static uint32_t whole(int64_t width, uint32_t unit) {
  return ((uint32_t)width + unit - 1) / unit * unit;
}

/* Subgroups that share the rows of a tile: backward kernels make two products of each. */
static uint32_t sides(ft_tile kind) {
  return kind == FT_TILE_FORWARD ? 1 : 2;
}

/* Columns of the rows that stay in registers, which are no more than these. */
enum { MOST_DEPTH = 128 };
static int64_t depth_of(const ft_attention *c, ft_tile kind) {
  const int64_t head = c->q->shape[3];
  const int64_t upstream = c->v->shape[3] * (c->flags & FT_ATTENTION_PAIRED ? 2 : 1);
  return sides(kind) == 2 && upstream > head ? upstream : head;
}

/* Of 16 bytes. */
static uint32_t shared_groups(const ft_attention *c, ft_tile kind, ft_matrix_shape s, uint32_t rows,
                              uint32_t columns) {
  const int64_t head = c->q->shape[3], value = c->v->shape[3];
  const uint32_t n = sides(kind), unit = most(n * s.n, s.k);
  const uint32_t depth = whole(depth_of(c, kind), unit);
  const uint32_t lines = kind == FT_TILE_FORWARD ? whole(value, unit)
                         : kind == FT_TILE_QUERY ? whole(head, unit)
                                                 : whole(head > value ? head : value, unit);
  const uint32_t turns = kind == FT_TILE_KEY ? 2 : 1, tokens = columns / 8 + 1;
  const uint32_t streamed = n * most(columns * (depth / 8 + 1), rows * tokens);
  const uint32_t all = streamed + turns * lines * tokens + n * rows * (columns / 4 + 1) +
                       3 * most(rows, columns) / 4;
  return most(all, n * rows * (depth / 8 + 1));
}

enum { MOST_SHARED = 32 << 10 }; /* more leaves a processor too few workgroups */

static bool fits(const ft_caps *caps, const ft_attention *c, ft_tile kind, ft_matrix_shape s,
                 const uint32_t tile[2]) {
  const uint32_t rows = tile[0], columns = tile[1], lanes = ft_matrix_lanes(caps);
  if (rows % s.m || columns % s.n || columns % s.k) return false;
  const uint32_t workgroup = rows / s.m * sides(kind) * lanes;
  /* A row's lanes share its quads. */
  if (kind == FT_TILE_FORWARD && lanes > s.m && lanes / s.m > columns / 4) return false;
  if (depth_of(c, kind) > MOST_DEPTH) return false;
  const uint32_t shared = 16 * shared_groups(c, kind, s, rows, columns);
  return workgroup <= caps->info.max_workgroup_invocations &&
         ft_caps_runs(caps, lanes, workgroup) && shared <= MOST_SHARED &&
         shared <= caps->info.shared_memory_bytes;
}

ft_attention_plan ft_attention_matrix_plan(const filtra_device *dev, const ft_attention *c,
                                           ft_tile kind) {
  enum { DROPOUT_ROWS = 4 }; /* that share random numbers, where keys lie below each other */
  const ft_caps *caps = ft_caps_of(dev);
  const filtra_dtype type = filtra_tensor_dtype(c->q);
  const ft_matrix_shape s = ft_matrix_shape_of(caps, type);
  const uint32_t lanes = ft_matrix_lanes(caps);
  /* Few registers would spill. */
  if (!s.m || caps->matrix_use != FT_MATRIX_FORCE || !caps->subgroup || caps->few_registers ||
      ft_tuning_reference(dev))
    return (ft_attention_plan){0};
  for (size_t i = 0; i < FT_COUNT(TILES); i++)
    if (fits(caps, c, kind, s, TILES[i]))
      return (ft_attention_plan){.kernel = ft_kernel_variant(KERNELS[kind], type, ""),
                                 .workgroup = TILES[i][0] / s.m * sides(kind) * lanes,
                                 .subgroup = lanes,
                                 .rows = TILES[i][0],
                                 .own_rows = c->dropout > 0 ? DROPOUT_ROWS : 1,
                                 .cut = {lanes | s.m << 8 | s.n << 16 | s.k << 24, TILES[i][1]}};
  return (ft_attention_plan){0};
}
