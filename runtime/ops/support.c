/* Common parts of op files: grids, and checks of arguments. Called by most files of ops/. */
#include "ops/support.h"

#include <math.h>

uint32_t ft_batch_groups(const filtra_graph *g, int64_t count, int64_t batch) {
  const ft_constants *constants = ft_constants_of(ft_caps_of(ft_graph_device(g)));
  int64_t enough = constants->batch_groups / ft_flat_groups(g, count);
  return ft_groups_for(enough < batch ? enough : batch, 1);
}

uint32_t ft_sum_groups(const filtra_device *dev, int64_t count) {
  enum { PER_INVOCATION = 16, MOST_SUMS = 128 }; /* of CPU drivers */
  const uint32_t busy = ft_constants_of(ft_caps_of(dev))->sum_groups;
  const uint32_t most = busy ? busy : MOST_SUMS;
  uint32_t groups = ft_groups_for(count, (int64_t)PER_INVOCATION * ft_caps_of(dev)->row_workgroup);
  return groups > most ? most : groups;
}

/* A workgroup is one team if subgroups are not usable, or if starting a workgroup costs as much as
 * a row. */
ft_team_grid ft_teams(const filtra_device *dev, int64_t rows) {
  const ft_caps *caps = ft_caps_of(dev);
  const ft_constants *constants = ft_constants_of(caps);
  uint32_t teams = 1, workgroup = caps->row_workgroup;
  if (caps->subgroup && constants->team_workgroup) {
    workgroup = constants->team_workgroup;
    if (workgroup > caps->info.subgroup_size) teams = workgroup / caps->info.subgroup_size;
  }
  uint32_t groups = ft_groups_for(rows, teams);
  return (ft_team_grid){workgroup, groups < constants->row_groups ? groups : constants->row_groups};
}

enum { MOST_GROUPS = 64 }; /* on CPU drivers */

/* Lets each invocation take a row, if rows and results fit into the nearest cache; then a workgroup
 * loads gains and biases once for several rows. */
static bool take_lanes(const filtra_device *dev, int64_t rows, int64_t columns, ft_row_part *part) {
  enum { MOST_COLUMNS = 128 };
  const ft_caps *caps = ft_caps_of(dev);
  const uint32_t size = caps->info.subgroup_size;
  if (!caps->cpu || !caps->info.int64 || !ft_caps_runs(caps, size, size) ||
      columns > MOST_COLUMNS || rows < (int64_t)size)
    return false;
  const uint32_t groups = ft_groups_for(rows, size);
  *part = (ft_row_part){.grid = {size, groups < MOST_GROUPS ? groups : MOST_GROUPS},
                        .held = (uint32_t)columns,
                        .whole = true,
                        .numbers = (uint32_t)columns,
                        .subgroup = size,
                        .variant = "lanes"};
  return true;
}

ft_row_part ft_row_parts(const filtra_device *dev, int64_t rows, int64_t columns, bool in_pairs) {
  const ft_caps *caps = ft_caps_of(dev);
  const uint32_t most = ft_constants_of(caps)->row_numbers, size = caps->info.subgroup_size;
  const ft_team_grid grid = ft_teams(dev, rows);
  const bool known = ft_caps_runs(caps, size, grid.workgroup);
  /* For rows that are too long, or teams of any size. */
  ft_row_part part = {.grid = grid, .held = 4};
  if (in_pairs && take_lanes(dev, rows, columns, &part)) return part;
  if (caps->few_registers || (caps->subgroup && !known)) return part;
  const uint32_t lanes = known && size < grid.workgroup ? size : grid.workgroup;
  uint32_t held = 1;
  while ((int64_t)held * lanes < columns && held <= most)
    held *= 2;
  if (held > most) return part;
  return (ft_row_part){.grid = grid,
                       .held = held,
                       .whole = true,
                       .numbers = held * lanes,
                       .subgroup = known ? size : 0};
}

/* Microseconds of layer norm's kernels, one core of a Zen 3 with lavapipe of Mesa 26: 768 rows of
 * 64 backward 168 by lanes, 75 so; 1,024 rows of 384 forward 1,866 by teams, 384 so, backward with
 * the sums 3,437 and 586. 800 rows of 64 forward, of a Zen 4: 75 by lanes, 46 so. */
bool ft_take_uniform_rows(const filtra_device *dev, int64_t rows, int64_t columns, bool in_pairs,
                          ft_row_part *part) {
  enum { MOST_HELD = 64 };
  const uint32_t size = ft_uniform_lanes(ft_caps_of(dev));
  if (!in_pairs || !size || columns % (2 * (int64_t)size) != 0 || columns / size > MOST_HELD)
    return false;
  *part = (ft_row_part){.grid = {size, rows < MOST_GROUPS ? (uint32_t)rows : MOST_GROUPS},
                        .held = (uint32_t)(columns / size),
                        .whole = true,
                        .numbers = (uint32_t)columns,
                        .subgroup = size,
                        .variant = "uniform"};
  return true;
}

ft_row_part ft_f32_row_parts(const filtra_device *dev, int64_t rows, int64_t columns,
                             bool in_pairs) {
  ft_row_part part;
  const bool fits = ft_take_uniform_rows(dev, rows, columns, in_pairs, &part);
  return fits ? part : ft_row_parts(dev, rows, columns, in_pairs);
}

ft_row_way ft_row_or_flat(filtra_graph *g, const char *name, filtra_dtype dtype, int64_t rows,
                          int64_t columns, bool in_pairs) {
  const filtra_device *dev = ft_graph_device(g);
  ft_row_part part;
  if (ft_take_uniform_rows(dev, rows, columns, in_pairs && dtype == FILTRA_F32, &part))
    return (ft_row_way){ft_kernel_variant(name, dtype, "uniform"), part.grid.workgroup,
                        part.subgroup, part.grid.groups, true};
  return (ft_row_way){ft_kernel_typed(dev, name, dtype), FT_FLAT_WORKGROUP, 0,
                      ft_flat_groups(g, rows * columns), false};
}

const char *ft_row_kernel(const filtra_device *dev, const char *name, filtra_dtype dtype,
                          const ft_row_part *part) {
  return part->variant ? ft_kernel_variant(name, dtype, part->variant)
                       : ft_kernel_typed(dev, name, dtype);
}

bool ft_in_pairs(const filtra_tensor *t) {
  if (!t) return true;
  const int last = t->ndim - 1;
  for (int i = 0; i < last; i++)
    if (t->stride[i] % 2 != 0) return false;
  return t->stride[last] == 1 && t->shape[last] % 2 == 0 &&
         ft_begins_at(t, 2 * filtra_dtype_bytes(filtra_tensor_dtype(t)));
}

int64_t ft_chunk_rows(int64_t rows) {
  const int64_t shortest = 64;
  int64_t balanced = (int64_t)ceil(sqrt((double)rows));
  return balanced > shortest ? balanced : shortest;
}

bool ft_has_dims(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                 const char *argument) {
  if (t->ndim == ndim) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must have %d dimension%s", op, argument,
                t->name, ft_shape_text(t), ndim, ndim == 1 ? "" : "s");
  return false;
}

bool ft_usable_integers(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                        const char *argument) {
  if (!ft_usable(g, t)) return false;
  if (filtra_tensor_dtype(t) == FILTRA_I32 && ft_dense(t))
    return ft_has_dims(g, t, ndim, op, argument);
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be dense I32", op, argument, t->name,
                ft_shape_text(t));
  return false;
}

bool ft_usable_floats(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                      const char *argument) {
  return ft_usable_dense(g, t, op, argument) && ft_has_dims(g, t, ndim, op, argument);
}

bool ft_known_choice(filtra_graph *g, int value, int last, const char *op, const char *choice) {
  if (value >= 0 && value <= last) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: there is no %s %d", op, choice, value);
  return false;
}

bool ft_known_activation(filtra_graph *g, filtra_activation activation, const char *op) {
  return ft_known_choice(g, (int)activation, FILTRA_ACTIVATION_GELU_TANH, op, "activation");
}

bool ft_begins_quad(const filtra_tensor *t) {
  return ft_begins_at(t, 4 * filtra_dtype_bytes(filtra_tensor_dtype(t)));
}

bool ft_whole_quads(const filtra_tensor *t) {
  return !t || (ft_begins_quad(t) && filtra_tensor_elements(t) % 4 == 0);
}
