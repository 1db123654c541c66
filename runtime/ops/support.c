#include "ops/support.h"

#include <math.h>
#include <string.h>

enum { MOST_GROUPS = 65535 };

static uint32_t groups_for(int64_t count, int64_t per_group) {
  int64_t groups = (count + per_group - 1) / per_group;
  return (uint32_t)(groups < 1 ? 1 : groups > MOST_GROUPS ? MOST_GROUPS : groups);
}

/* A CPU driver pays for each workgroup (0.2 us on lavapipe), a GPU wants many. */
uint32_t ft_flat_groups(const filtra_graph *g, int64_t count) {
  return groups_for(count, FT_FLAT_WORKGROUP * (ft_graph_device(g)->caps.cpu ? 16 : 4));
}

uint32_t ft_batch_groups(const filtra_graph *g, int64_t count, int64_t batch) {
  int64_t enough = (ft_graph_device(g)->caps.cpu ? 64 : 8192) / ft_flat_groups(g, count);
  return groups_for(enough < batch ? enough : batch, 1);
}

uint32_t ft_sum_groups(const filtra_device *dev, int64_t count) {
  enum { PER_INVOCATION = 16, MOST_SUMS = 128 };
  uint32_t groups = groups_for(count, (int64_t)PER_INVOCATION * dev->caps.row_workgroup);
  return groups > MOST_SUMS ? MOST_SUMS : groups;
}

/* On CPU drivers few workgroups with many rows each, since starting one costs as much as a row. */
ft_team_grid ft_teams(const filtra_device *dev, int64_t rows) {
  enum { CPU_GROUPS = 512, GPU_WORKGROUP = 128 };
  const ft_caps *caps = &dev->caps;
  if (caps->cpu) {
    uint32_t groups = groups_for(rows, 1);
    return (ft_team_grid){caps->row_workgroup, groups > CPU_GROUPS ? CPU_GROUPS : groups};
  }
  if (!caps->subgroup) return (ft_team_grid){caps->row_workgroup, groups_for(rows, 1)};
  uint32_t teams = GPU_WORKGROUP / caps->info.subgroup_size;
  return (ft_team_grid){GPU_WORKGROUP, groups_for(rows, teams ? teams : 1)};
}

int64_t ft_chunk_rows(int64_t rows) {
  const int64_t shortest = 64;
  int64_t balanced = (int64_t)ceil(sqrt((double)rows));
  return balanced > shortest ? balanced : shortest;
}

static bool has_dims(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                     const char *argument) {
  if (t->ndim == ndim) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must have %d dimension%s", op, argument,
                t->name, ft_shape_text(t), ndim, ndim == 1 ? "" : "s");
  return false;
}

bool ft_usable_integers(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                        const char *argument) {
  if (!ft_usable(g, t)) return false;
  if (t->dtype == FILTRA_I32 && ft_dense(t)) return has_dims(g, t, ndim, op, argument);
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be dense I32", op, argument, t->name,
                ft_shape_text(t));
  return false;
}

bool ft_usable_floats(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                      const char *argument) {
  return ft_usable_dense(g, t, op, argument) && has_dims(g, t, ndim, op, argument);
}

bool ft_known_activation(filtra_graph *g, filtra_activation activation, const char *op) {
  if ((unsigned)activation <= FILTRA_ACTIVATION_RECIPROCAL) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: there is no activation %d", op, (int)activation);
  return false;
}

bool ft_same_shape(const filtra_tensor *a, const filtra_tensor *b) {
  return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}
