/* Fusion: elementwise calls and copies that follow one another become one call of shaders/fused,
 * which keeps what only they read in registers. A call joins an earlier one if its result has the
 * same shape and no call between them writes what it accesses or accesses what it writes. On GPUs
 * sums along a short last axis join, too, and then calls whose results lack that axis. A copy
 * has the shape of its source or its target, with the axes in the order in which that is stored;
 * the other may be stored differently. The first step of ft_plan_make; ops say which of their calls
 * are elementwise (ft_step). */
#include "graph/fused.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16 }; /* calls that one may be moved before */

/** The axes of a copy that are longer than 1, with the strides of its source and its target. */
typedef struct frame {
  int64_t shape[FILTRA_MAX_DIMS], stride[2][FILTRA_MAX_DIMS];
  int ndim;
} frame;

/** Calls of the tape that are one call of the plan. */
typedef struct group {
  uint32_t members[FUSED_STEPS]; /* positions on the tape */
  uint32_t count;
} group;

typedef struct fusion {
  const struct ft_tape *tape;
  uint32_t *uses; /* by storage: arguments on the tape, outputs and pins count as one more */
  group *groups;
  size_t group_count;
} fusion;

static const filtra_tensor *target_of(const ft_recorded_call *c) {
  return c->args[c->arg_count - 1].tensor;
}

/* ---- shapes ---- */

/* The lengths of a tensor's axes without those of length 1. */
static int long_axes(const filtra_tensor *t, int64_t shape[FILTRA_MAX_DIMS]) {
  int count = 0;
  for (int i = 0; i < t->ndim; i++)
    if (t->shape[i] != 1) shape[count++] = t->shape[i];
  return count;
}

static bool has_shape(const ft_fused *f, int ndim, const int64_t *shape) {
  return ndim == f->ndim && !memcmp(shape, f->shape, (size_t)ndim * sizeof *shape);
}

static bool tensor_has_shape(const ft_fused *f, const filtra_tensor *t) {
  int64_t shape[FILTRA_MAX_DIMS];
  return has_shape(f, long_axes(t, shape), shape);
}

/* Of a copy between tensors of one shape: axes in the order in which the source (by = 0) or the
 * target (1) has them in memory. */
static frame strided_frame(const filtra_tensor *const tensors[2], int by) {
  frame f = {0};
  for (int i = 0; i < tensors[0]->ndim; i++) {
    if (tensors[0]->shape[i] == 1) continue;
    int k = f.ndim++;
    for (; k > 0 && f.stride[by][k - 1] < tensors[by]->stride[i]; k--) {
      f.shape[k] = f.shape[k - 1];
      for (int t = 0; t < 2; t++)
        f.stride[t][k] = f.stride[t][k - 1];
    }
    f.shape[k] = tensors[0]->shape[i];
    for (int t = 0; t < 2; t++)
      f.stride[t][k] = tensors[t]->stride[i];
  }
  return f;
}

static frame frame_of(const ft_recorded_call *copy, int by) {
  const filtra_tensor *tensors[] = {copy->args[0].tensor, target_of(copy)};
  if (!ft_dense(tensors[0]) || !ft_dense(tensors[1])) return strided_frame(tensors, by);
  frame f = {0};
  f.ndim = long_axes(tensors[by], f.shape);
  int64_t stride = 1;
  for (int k = f.ndim; k-- > 0; stride *= f.shape[k])
    f.stride[0][k] = f.stride[1][k] = stride;
  return f;
}

/* Finds how a tensor with these strides along the shape is stored, as a new layout if it is none of
 * the known ones. False if no layout describes it, or there is no room. */
static bool stored_as(ft_fused *f, const int64_t *strides, uint32_t *stored) {
  int64_t n[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  const int before = FILTRA_MAX_DIMS - f->ndim;
  memcpy(n + before, f->shape, (size_t)f->ndim * sizeof *n);
  memcpy(stride + before, strides, (size_t)f->ndim * sizeof *n);
  const int64_t row = n[2] > 1 ? stride[2] : n[3];
  const bool plain = n[1] == 1 || stride[1] == n[2] * row;
  const ft_fused_layout found = {row, !plain};
  if (f->ndim && stride[3] != 1) return false;
  if (!plain && stride[1] != n[3]) return false;
  if (n[0] > 1 && stride[0] != (plain ? n[1] : 1) * n[2] * row) return false;
  *stored = 0;
  if (plain && row == n[3]) return true;
  for (uint32_t i = 0; i < f->layout_count; i++) {
    *stored = i + 1;
    if (f->layouts[i].row == found.row && f->layouts[i].swapped == found.swapped) return true;
  }
  if (f->layout_count == FUSED_LAYOUTS) return false;
  f->layouts[f->layout_count++] = found;
  *stored = f->layout_count;
  return true;
}

/* Which axes of y the operand has. It is aligned with y at the last axis, or has all axes of y
 * except `without`, unless that is negative. */
static uint32_t axes_of(const filtra_tensor *t, const filtra_tensor *y, int without) {
  uint32_t axes = 0, axis = 0;
  for (int i = 0; i < y->ndim; i++) {
    const int own = i - (y->ndim - t->ndim);
    if (y->shape[i] == 1) continue;
    const bool has = without >= 0 ? i != without : own >= 0 && t->shape[own] == y->shape[i];
    axes |= (uint32_t)has << axis++;
  }
  return axes | (FUSED_ALL_AXES << axis & FUSED_ALL_AXES);
}

/* ---- putting a call together ---- */

static bool same_elements(const ft_fused_value *a, const ft_fused_value *b) {
  return a->tensor->storage == b->tensor->storage && a->tensor->offset == b->tensor->offset &&
         filtra_tensor_elements(a->tensor) == filtra_tensor_elements(b->tensor) &&
         a->axes == b->axes && a->stored == b->stored;
}

/* Whether the values share no byte: other storages, or slices of the same rows. */
static bool are_apart(const ft_fused *f, const ft_fused_value *a, const ft_fused_value *b) {
  if (a->tensor->storage != b->tensor->storage) return true;
  if (!a->stored || a->stored != b->stored) return false;
  const ft_fused_layout *l = &f->layouts[a->stored - 1];
  const int64_t width = f->shape[f->ndim - 1] * (l->swapped ? f->shape[f->ndim - 3] : 1);
  const int64_t distance = llabs(a->tensor->offset - b->tensor->offset);
  return distance >= width && distance + width <= l->row;
}

/* The register that holds a tensor; a new input, if there is none. False if there is no room, or it
 * shares bytes with a result in another way. */
static bool operand_of(ft_fused *f, ft_fused_value wanted, uint32_t *operand) {
  for (uint32_t i = 0; i < f->result_count; i++) {
    *operand = f->results[i].operand;
    if (same_elements(&f->results[i], &wanted)) return true;
    if (!are_apart(f, &f->results[i], &wanted)) return false;
  }
  for (uint32_t i = 0; i < f->input_count; i++) {
    *operand = i;
    if (same_elements(&f->inputs[i], &wanted)) return true;
  }
  if (f->input_count == FUSED_INPUTS) return false;
  *operand = wanted.operand = f->input_count;
  f->inputs[f->input_count++] = wanted;
  return true;
}

/* Adds a result, or replaces that of the same tensor. False if another part of its bytes is read or
 * written, since the order of elements is not that of calls; one of rows may not be read at all,
 * since one invocation writes what all of the row would read. */
static bool set_result(ft_fused *f, ft_fused_value result) {
  for (uint32_t i = 0; i < f->input_count; i++) {
    const bool own = same_elements(&f->inputs[i], &result) && result.axes == FUSED_ALL_AXES;
    if (!own && !are_apart(f, &f->inputs[i], &result)) return false;
  }
  for (uint32_t i = 0; i < f->result_count; i++) {
    if (same_elements(&f->results[i], &result)) {
      f->results[i].operand = result.operand;
      return true;
    }
    if (!are_apart(f, &f->results[i], &result)) return false;
  }
  f->results[f->result_count++] = result;
  return true;
}

static bool add_numbers(ft_fused *f, const ft_step *step, uint32_t *first) {
  const bool affine = step->operation == STEP_AFFINE || step->operation == STEP_SUM_AFFINE;
  const uint32_t count = affine ? 2 : step->operation == STEP_SCALE ? 1 : 0;
  const float numbers[] = {step->scale, step->offset};
  if (f->number_count + count > FUSED_NUMBERS) return false;
  memcpy(f->numbers + f->number_count, numbers, count * sizeof *numbers);
  *first = count ? f->number_count : 0;
  f->number_count += count;
  return true;
}

static bool is_activation(const ft_step *step) {
  return step->operation == STEP_ACTIVATE || step->operation == STEP_DERIVATIVE;
}

static bool is_sum(const ft_step *step) {
  return step->operation == STEP_SUM || step->operation == STEP_SUM_AFFINE;
}

/* The place of the next step; FUSED_STEPS: there is none. */
static uint32_t next_place(const ft_fused *f, const ft_step *step) {
  uint32_t place = f->step_count;
  while (is_activation(step) && place < FUSED_STEPS && !(FUSED_ACTIVATIONS >> place & 1))
    place++;
  return place;
}

/* Appends a step that computes `result` of a and, unless b.tensor is NULL, of b. */
static bool add_step(ft_fused *f, const ft_recorded_call *c, ft_fused_value a, ft_fused_value b,
                     ft_fused_value result) {
  const ft_step *step = &c->step;
  const uint32_t place = next_place(f, step);
  uint32_t a_operand, b_operand = 0, sum = FUSED_NONE, number;
  result.operand = FUSED_INPUTS + place;
  if (place == FUSED_STEPS || !operand_of(f, a, &a_operand) ||
      (b.tensor && !operand_of(f, b, &b_operand)) ||
      ((c->args[c->arg_count - 1].mode & FT_ACCESS_READ) && !operand_of(f, result, &sum)) ||
      !add_numbers(f, step, &number) || !set_result(f, result))
    return false;
  f->step_count = place + 1;
  f->activates = f->activates || is_activation(step);
  f->steps[place] = step->operation << FUSED_OPERATION | step->activation << FUSED_ACTIVATION |
                    a_operand << FUSED_A | b_operand << FUSED_B | number << FUSED_NUMBER |
                    FUSED_OUTPUTS << FUSED_TARGET | sum << FUSED_SUM;
  return true;
}

/* The axes of a result of rows. */
static uint32_t row_axes(const ft_fused *f) {
  return FUSED_ALL_AXES & ~(1U << (f->ndim - 1));
}

static bool has_rows(const ft_fused *f, const filtra_tensor *t) {
  int64_t shape[FILTRA_MAX_DIMS];
  const int count = long_axes(t, shape);
  return f->ndim && count == f->ndim - 1 && !memcmp(shape, f->shape, (size_t)count * sizeof *shape);
}

static bool add_elementwise(ft_fused *f, const ft_recorded_call *c) {
  const filtra_tensor *x = c->args[0].tensor, *y = target_of(c);
  const filtra_tensor *z = c->arg_count > 2 ? c->args[1].tensor : NULL;
  const int without = c->step.operation == STEP_SCALE ? (int)c->step.axis : -1;
  uint32_t axes = FUSED_ALL_AXES;
  if (has_rows(f, y)) {
    axes = row_axes(f);
    f->of_rows = true;
  } else if (!tensor_has_shape(f, y)) {
    return false;
  }
  return add_step(f, c, (ft_fused_value){x, axes & axes_of(x, y, without), 0, 0},
                  (ft_fused_value){z, z ? axes & axes_of(z, y, -1) : 0, 0, 0},
                  (ft_fused_value){y, axes, 0, 0});
}

static bool add_sum(ft_fused *f, const ft_recorded_call *c) {
  const filtra_tensor *x = c->args[0].tensor, *y = target_of(c);
  if (!tensor_has_shape(f, x) || !f->ndim ||
      filtra_tensor_elements(y) * f->shape[f->ndim - 1] != filtra_tensor_elements(x))
    return false;
  f->of_rows = f->sums = true;
  return add_step(f, c, (ft_fused_value){x, FUSED_ALL_AXES, 0, 0}, (ft_fused_value){0},
                  (ft_fused_value){y, row_axes(f), 0, 0});
}

static bool add_copy(ft_fused *f, const ft_recorded_call *c) {
  for (int by = 2; by-- > 0;) {
    const frame own = frame_of(c, by);
    ft_fused_value x = {c->args[0].tensor, FUSED_ALL_AXES, 0, 0},
                   y = {target_of(c), FUSED_ALL_AXES, 0, 0};
    if (has_shape(f, own.ndim, own.shape) && stored_as(f, own.stride[0], &x.stored) &&
        stored_as(f, own.stride[1], &y.stored))
      return add_step(f, c, x, (ft_fused_value){0}, y);
  }
  return false;
}

/* Whether calls outside of the group access what the group writes. */
static bool is_needed(const fusion *all, const group *members, const ft_storage *s) {
  uint32_t uses = 0;
  for (uint32_t m = 0; m < members->count; m++) {
    const ft_recorded_call *c = &all->tape->calls[members->members[m]];
    for (uint32_t k = 0; k < c->arg_count; k++)
      uses += c->args[k].tensor && c->args[k].tensor->storage == s;
  }
  return uses < all->uses[s->number];
}

/* Writes the latest value of each tensor that others read. */
static bool add_outputs(const fusion *all, const group *members, ft_fused *f) {
  for (uint32_t i = 0; i < f->result_count; i++) {
    const ft_fused_value *result = &f->results[i];
    uint32_t *step = &f->steps[result->operand - FUSED_INPUTS];
    if (!is_needed(all, members, result->tensor->storage)) continue;
    if (f->output_count == FUSED_OUTPUTS) return false;
    *step ^= (FUSED_OUTPUTS ^ f->output_count) << FUSED_TARGET;
    f->outputs[f->output_count++] = *result;
  }
  return true;
}

/* What the call goes through, element by element. */
static const filtra_tensor *whole_of(const ft_recorded_call *c) {
  return is_sum(&c->step) ? c->args[0].tensor : target_of(c);
}

/* The shape of all members is that of the first, or of the first among the largest. */
static void set_frame(const fusion *all, const group *members, ft_fused *f) {
  const ft_recorded_call *largest = &all->tape->calls[members->members[0]];
  for (uint32_t m = 1; m < members->count; m++) {
    const ft_recorded_call *c = &all->tape->calls[members->members[m]];
    if (filtra_tensor_elements(whole_of(c)) > filtra_tensor_elements(whole_of(largest)))
      largest = c;
  }
  if (largest->step.operation == STEP_COPY) {
    const frame own = frame_of(largest, 1);
    f->ndim = own.ndim;
    memcpy(f->shape, own.shape, sizeof f->shape);
  } else {
    f->ndim = long_axes(whole_of(largest), f->shape);
  }
}

static bool put_together(const fusion *all, const group *members, ft_fused *f) {
  memset(f, 0, sizeof *f);
  set_frame(all, members, f);
  for (uint32_t m = 0; m < members->count; m++) {
    const ft_recorded_call *c = &all->tape->calls[members->members[m]];
    if (!(c->step.operation == STEP_COPY ? add_copy(f, c)
          : is_sum(&c->step)             ? add_sum(f, c)
                                         : add_elementwise(f, c)))
      return false;
  }
  return f->of_rows == f->sums && add_outputs(all, members, f);
}

/* ---- grouping ---- */

static bool can_be_fused(const filtra_tensor *t) {
  return !t || (t->storage->home != FT_HOME_BUFFER && !t->storage->shared &&
                !t->storage->recomputed && filtra_tensor_dtype(t) == FILTRA_F32);
}

static bool is_elementwise(const ft_recorded_call *c) {
  bool can = c->step.operation && !c->recomputes;
  for (uint32_t k = 0; k < c->arg_count && can; k++)
    can = can_be_fused(c->args[k].tensor) &&
          (c->step.operation == STEP_COPY || !c->args[k].tensor || ft_dense(c->args[k].tensor));
  return can && filtra_tensor_elements(target_of(c));
}

/* Whether the calls access bytes of one storage, one of them writing. */
static bool conflict(const ft_recorded_call *a, const ft_recorded_call *b) {
  for (uint32_t i = 0; i < a->arg_count; i++)
    for (uint32_t k = 0; k < b->arg_count; k++) {
      const ft_arg *x = &a->args[i], *y = &b->args[k];
      if (!x->tensor || !y->tensor || !((x->mode | y->mode) & FT_ACCESS_WRITE)) continue;
      const ft_storage *s = x->tensor->storage, *o = y->tensor->storage;
      /* Tensors in one buffer may share bytes. */
      if (s == o || (s->home == FT_HOME_BUFFER && o->home == FT_HOME_BUFFER)) return true;
    }
  return false;
}

static bool group_conflicts(const fusion *all, const group *members, const ft_recorded_call *c) {
  for (uint32_t m = 0; m < members->count; m++)
    if (conflict(&all->tape->calls[members->members[m]], c)) return true;
  return false;
}

static bool join(const fusion *all, group *members, uint32_t position) {
  if (!members->count || members->count == FUSED_STEPS ||
      !is_elementwise(&all->tape->calls[members->members[0]]))
    return false;
  ft_fused f;
  members->members[members->count++] = position;
  if (put_together(all, members, &f)) return true;
  members->count--;
  return false;
}

/* Moves the members of an earlier group to the last one, whose call cannot be moved to them. Its
 * input lives longer then, so there must be one only, in place of which its results are not stored
 * any more. */
static bool delay(fusion *all, size_t from) {
  group *last = &all->groups[all->group_count - 1], joined = all->groups[from];
  ft_fused own, whole;
  if (!join(all, &joined, last->members[0]) || !put_together(all, &all->groups[from], &own) ||
      !put_together(all, &joined, &whole) || own.input_count > 1 || whole.output_count > 1)
    return false;
  for (size_t i = from + 1; i + 1 < all->group_count; i++)
    for (uint32_t m = 0; m < all->groups[i].count; m++)
      if (group_conflicts(all, &all->groups[from], &all->tape->calls[all->groups[i].members[m]]))
        return false;
  *last = joined;
  all->groups[from].count = 0;
  return true;
}

/* Adds a call to the nearest group that it may join, or makes a new one, of which the nearest
 * group is a part that may be delayed until then. */
static void place(fusion *all, uint32_t position) {
  const ft_recorded_call *c = &all->tape->calls[position];
  const bool joins = is_elementwise(c);
  const size_t end = all->group_count, begin = end > WINDOW ? end - WINDOW : 0;
  for (size_t i = end; joins && i-- > begin;) {
    if (join(all, &all->groups[i], position)) return;
    if (group_conflicts(all, &all->groups[i], c)) break;
  }
  all->groups[all->group_count++] = (group){.members = {position}, .count = 1};
  for (size_t i = end; joins && i-- > begin;)
    if (delay(all, i)) return;
}

static void count_uses(fusion *all) {
  const struct ft_tape *tape = all->tape;
  for (size_t i = 0; i < tape->call_count; i++)
    for (uint32_t k = 0; k < tape->calls[i].arg_count; k++)
      if (tape->calls[i].args[k].tensor)
        all->uses[tape->calls[i].args[k].tensor->storage->number]++;
  for (size_t i = 0; i < tape->storage_count; i++)
    if (tape->storages[i]->home != FT_HOME_ARENA || tape->storages[i]->pinned) all->uses[i]++;
}

/* ---- the step of the plan ---- */

/* Makes one call of the members. False for one that stays as it is: a single call becomes a fused
 * one only to go by uniform addresses. */
static bool make_call(const fusion *all, const group *members, ft_recorded_call *call) {
  ft_fused f;
  const ft_recorded_call *first = &all->tape->calls[members->members[0]];
  const bool alone = members->count == 1;
  if (alone && (!all->tape->uniform_lanes || !is_elementwise(first))) return false;
  if (!put_together(all, members, &f)) return false;
  ft_fused_complete(&f, all->tape->uniform_lanes);
  if (alone && (!f.lanes || !f.output_count)) return false;
  uint32_t groups = first->groups[0];
  double flops = 0;
  for (uint32_t m = 0; m < members->count; m++) {
    const ft_recorded_call *c = &all->tape->calls[members->members[m]];
    if (f.of_rows && c->groups[0] > groups) groups = c->groups[0];
    flops += c->flops;
  }
  ft_fused_call(&f, groups, call);
  call->flops = flops;
  return true;
}

static filtra_status take_groups(ft_plan *plan, const fusion *all) {
  plan->fused = ft_calloc(all->group_count + 1, sizeof *plan->fused);
  if (!plan->fused) return FILTRA_ERROR_HOST_MEMORY;
  ft_recorded_call *next = plan->fused;
  for (size_t i = 0; i < all->group_count; i++) {
    const group *members = &all->groups[i];
    if (!members->count) continue;
    const ft_recorded_call *call = &plan->tape->calls[members->members[0]];
    if (make_call(all, members, next)) call = next++;
    plan->tasks[plan->call_count++] = call;
  }
  return FILTRA_OK;
}

filtra_status ft_plan_fuse(ft_plan *plan) {
  const struct ft_tape *tape = plan->tape;
  plan->call_count = 0;
  if (!tape->fuses) {
    for (size_t i = 0; i < tape->call_count; i++)
      plan->tasks[plan->call_count++] = &tape->calls[i];
    return FILTRA_OK;
  }
  fusion all = {.tape = tape};
  all.uses = ft_calloc(tape->storage_count + 1, sizeof *all.uses);
  all.groups = ft_calloc(tape->call_count + 1, sizeof *all.groups);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  if (all.uses && all.groups) {
    count_uses(&all);
    for (size_t i = 0; i < tape->call_count; i++)
      place(&all, (uint32_t)i);
    status = take_groups(plan, &all);
  }
  free(all.uses);
  free(all.groups);
  return status;
}
