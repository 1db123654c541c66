/* Sums: gradients of weights and biases end in sums over parts, small calls that each wait for the
 * one before. One call of elementwise/sum_leading computes up to SUMS of them: a sum waits for the
 * next ones, if no call between writes what it reads or accesses what it writes. Each is computed
 * as by a call of its own, so results keep their bits. The second step of ft_plan_make. */
#include "elementwise/contract.h"
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = 16,         /* tasks that a sum waits for at most; more would lengthen tensors' lives */
  MOST_BYTES = 1 << 22 /* of what a sum reads: larger ones fill a device by themselves */
};

/** Sums that wait. */
typedef struct waiting {
  size_t tasks[SUMS]; /* their positions */
  uint32_t count;
  ft_accesses accesses;
} waiting;

/** A call of several sums. */
typedef struct joined {
  struct ft_elementwise_sum_leading_arguments arguments;
  struct ft_elementwise_sum_leading_constants constants;
  ft_kernel_call call;
} joined;

/* What is recomputed has lives that end elsewhere. */
static bool can_wait(const ft_recorded_call *c) {
  if (!c->is_sum || c->recomputes || c->bytes > MOST_BYTES) return false;
  for (uint32_t k = 0; k < c->arg_count; k++)
    if (c->args[k].tensor && c->args[k].tensor->storage->recomputed) return false;
  return true;
}

/* Adds a sum that had a call of its own. */
static void add_sum(joined *j, const ft_recorded_call *c) {
  struct ft_elementwise_sum_leading_arguments *given = &j->arguments;
  ft_arg *x[] = {&given->x0, &given->x1, &given->x2, &given->x3};
  ft_arg *y[] = {&given->y0, &given->y1, &given->y2, &given->y3};
  struct ft_elementwise_sum_leading_scalars own;
  struct ft_elementwise_sum_leading_constants bits;
  memcpy(&own, c->push + 8 * (size_t)ft_elementwise_sum_leading_tensors, sizeof own);
  memcpy(&bits, c->key.spec, sizeof bits);
  const uint32_t i = j->constants.COUNT++;
  const uint32_t across = j->call.workgroup / (bits.SHARED ? SUM_SHARING : 1);
  const uint32_t most = ft_groups_for(own.count[0], across);
  *x[i] = c->args[0];
  *y[i] = c->args[SUMS];
  given->count[i] = own.count[0];
  given->slice[i] = own.slice[0];
  given->slices[i] = own.slices[0];
  j->constants.ACCUMULATE |= bits.ACCUMULATE << i;
  j->constants.SHARED |= bits.SHARED << i;
  j->call.groups[0] += c->groups[0] < most ? c->groups[0] : most;
  if (i + 1 < SUMS) given->end[i] = j->call.groups[0];
  j->call.flops += c->flops;
  j->call.bytes += c->bytes;
}

/* Puts one call in the place of the last of several. */
static void finish(ft_plan *plan, waiting *w, size_t *made) {
  const ft_recorded_call **tasks = plan->tasks;
  if (w->count > 1) {
    const size_t last = w->tasks[w->count - 1];
    joined j = {.constants.COUNT = 0};
    j.call = (ft_kernel_call){.label = "sums",
                              .kernel = tasks[last]->key.kernel,
                              .subgroup = tasks[last]->key.subgroup,
                              FT_ARGUMENTS_AT(elementwise_sum_leading, &j.arguments),
                              FT_CONSTANTS_AT(elementwise_sum_leading, &j.constants)};
    for (uint32_t i = 0; i < w->count; i++)
      if (tasks[w->tasks[i]]->key.workgroup > j.call.workgroup)
        j.call.workgroup = tasks[w->tasks[i]]->key.workgroup;
    for (uint32_t i = 0; i < w->count; i++) {
      add_sum(&j, tasks[w->tasks[i]]);
      tasks[w->tasks[i]] = NULL;
    }
    ft_call_take(&j.call, &plan->sums[*made]);
    tasks[last] = &plan->sums[(*made)++];
  }
  w->count = 0;
  w->accesses.count = 0;
}

/* Goes through the tasks; those that other calls have replaced become NULL. */
static filtra_status join(ft_plan *plan, waiting *w) {
  size_t made = 0;
  for (size_t i = 0; i < plan->call_count; i++) {
    const ft_recorded_call *c = plan->tasks[i];
    const bool can = can_wait(c);
    if (w->count == SUMS || (w->count && i - w->tasks[0] >= WINDOW) ||
        (can && w->count && strcmp(c->key.kernel, plan->tasks[w->tasks[0]]->key.kernel) != 0) ||
        ft_accesses_conflict(plan, &w->accesses, c))
      finish(plan, w, &made);
    if (!can) continue;
    FT_TRY(ft_accesses_add(plan, &w->accesses, c));
    w->tasks[w->count++] = i;
  }
  finish(plan, w, &made);
  return FILTRA_OK;
}

filtra_status ft_plan_join_sums(ft_plan *plan) {
  if (!plan->tape->fuses) return FILTRA_OK;
  plan->sums = ft_calloc(plan->call_count / 2 + 1, sizeof *plan->sums);
  if (!plan->sums) return FILTRA_ERROR_HOST_MEMORY;
  waiting w = {.count = 0};
  const filtra_status status = join(plan, &w);
  free(w.accesses.list);
  size_t count = 0;
  for (size_t i = 0; i < plan->call_count; i++)
    if (plan->tasks[i]) plan->tasks[count++] = plan->tasks[i];
  plan->call_count = count;
  return status;
}
