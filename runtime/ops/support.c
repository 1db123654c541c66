#include "ops/support.h"

#include <math.h>
#include <string.h>

uint32_t ft_batch_groups(const filtra_graph *g, int64_t count, int64_t batch) {
  const ft_constants *constants = ft_constants_of(ft_caps_of(ft_graph_device(g)));
  int64_t enough = constants->batch_groups / ft_flat_groups(g, count);
  return ft_groups_for(enough < batch ? enough : batch, 1);
}

uint32_t ft_sum_groups(const filtra_device *dev, int64_t count) {
  enum { PER_INVOCATION = 16, MOST_SUMS = 128 };
  uint32_t groups = ft_groups_for(count, (int64_t)PER_INVOCATION * ft_caps_of(dev)->row_workgroup);
  return groups > MOST_SUMS ? MOST_SUMS : groups;
}

/* A workgroup is one team where subgroups are not usable, or starting it costs as much as a row. */
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

ft_row_part ft_row_parts(const filtra_device *dev, ft_team_grid grid, int64_t columns) {
  const ft_caps *caps = ft_caps_of(dev);
  const uint32_t most = ft_constants_of(caps)->row_numbers, size = caps->info.subgroup_size;
  const bool known = ft_caps_runs(caps, size, grid.workgroup);
  const ft_row_part part = {.held = 4}; /* of a row that is too long, or teams of any size */
  if (caps->few_registers || (caps->subgroup && !known)) return part;
  const uint32_t lanes = known && size < grid.workgroup ? size : grid.workgroup;
  uint32_t held = 1;
  while ((int64_t)held * lanes < columns && held <= most)
    held *= 2;
  if (held > most) return part;
  return (ft_row_part){held, true, held * lanes, known ? size : 0};
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

bool ft_known_activation(filtra_graph *g, filtra_activation activation, const char *op) {
  if ((unsigned)activation <= FILTRA_ACTIVATION_ELU) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: there is no activation %d", op, (int)activation);
  return false;
}

bool ft_begins_quad(const filtra_tensor *t) {
  return ft_begins_at(t, 4 * filtra_dtype_bytes(filtra_tensor_dtype(t)));
}

bool ft_whole_quads(const filtra_tensor *t) {
  return !t || (ft_begins_quad(t) && filtra_tensor_elements(t) % 4 == 0);
}

bool ft_same_shape(const filtra_tensor *a, const filtra_tensor *b) {
  return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}
