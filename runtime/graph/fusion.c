/* Fusion: elementwise calls and copies that follow one another become one call of shaders/fused,
 * which keeps what only they read in registers. A call joins an earlier one if its result has the
 * same shape and no call between them writes what it accesses or accesses what it writes. A copy
 * has the shape of its source or its target, with the axes in the order in which that is stored;
 * the other may be stored differently. The first step of ft_plan_make; ops say which of their calls
 * are elementwise (ft_step). */
#include "fused/contract.h"
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16 }; /* calls that one may be moved before */

/** Where elements are that are not stored dense (shaders/fused/contract.h). */
typedef struct layout {
  int64_t row;
  bool swapped;
} layout;

/** A tensor in a register: an input, or the result of a step. */
typedef struct value {
  const filtra_tensor *tensor;
  uint32_t axes;   /* bit k: it has axis k of the shape, else it is repeated */
  uint32_t stored; /* 0: dense, else the number of its layout */
  uint32_t operand;
} value;

/** A fused call as it is put together. */
typedef struct fused {
  int64_t shape[FILTRA_MAX_DIMS]; /* without axes of length 1 */
  int ndim;
  value inputs[FUSED_INPUTS], results[FUSED_STEPS]; /* of results the latest of each tensor */
  uint32_t input_count, result_count, number_count;
  uint32_t step_count; /* with the gaps before activations */
  uint32_t steps[FUSED_STEPS];
  float numbers[FUSED_NUMBERS];
  layout layouts[FUSED_LAYOUTS];
  uint32_t layout_count;
  value outputs[FUSED_OUTPUTS];
  uint32_t output_count;
  bool activates;
} fused;

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

static bool has_shape(const fused *f, int ndim, const int64_t *shape) {
  return ndim == f->ndim && !memcmp(shape, f->shape, (size_t)ndim * sizeof *shape);
}

static bool tensor_has_shape(const fused *f, const filtra_tensor *t) {
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
static bool stored_as(fused *f, const int64_t *strides, uint32_t *stored) {
  int64_t n[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  const int before = FILTRA_MAX_DIMS - f->ndim;
  memcpy(n + before, f->shape, (size_t)f->ndim * sizeof *n);
  memcpy(stride + before, strides, (size_t)f->ndim * sizeof *n);
  const int64_t row = n[2] > 1 ? stride[2] : n[3];
  const bool plain = n[1] == 1 || stride[1] == n[2] * row;
  const layout found = {row, !plain};
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

static bool same_elements(const value *a, const value *b) {
  return a->tensor->storage == b->tensor->storage && a->tensor->offset == b->tensor->offset &&
         filtra_tensor_elements(a->tensor) == filtra_tensor_elements(b->tensor) &&
         a->axes == b->axes && a->stored == b->stored;
}

/* Whether the values share no byte: other storages, or slices of the same rows. */
static bool are_apart(const fused *f, const value *a, const value *b) {
  if (a->tensor->storage != b->tensor->storage) return true;
  if (!a->stored || a->stored != b->stored) return false;
  const layout *l = &f->layouts[a->stored - 1];
  const int64_t width = f->shape[f->ndim - 1] * (l->swapped ? f->shape[f->ndim - 3] : 1);
  const int64_t distance = llabs(a->tensor->offset - b->tensor->offset);
  return distance >= width && distance + width <= l->row;
}

/* The register that holds a tensor; a new input, if there is none. False if there is no room, or it
 * shares bytes with a result in another way. */
static bool operand_of(fused *f, value wanted, uint32_t *operand) {
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
 * written, since the order of elements is not that of calls. */
static bool set_result(fused *f, value result) {
  for (uint32_t i = 0; i < f->input_count; i++)
    if (!same_elements(&f->inputs[i], &result) && !are_apart(f, &f->inputs[i], &result))
      return false;
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

static bool add_numbers(fused *f, const ft_step *step, uint32_t *first) {
  const uint32_t count = step->operation == STEP_AFFINE ? 2 : step->operation == STEP_SCALE ? 1 : 0;
  const float numbers[] = {step->scale, step->offset};
  if (f->number_count + count > FUSED_NUMBERS) return false;
  memcpy(f->numbers + f->number_count, numbers, count * sizeof *numbers);
  *first = count ? f->number_count : 0;
  f->number_count += count;
  return true;
}

/* The place of the next step; FUSED_STEPS: there is none. */
static uint32_t next_place(const fused *f, const ft_step *step) {
  uint32_t place = f->step_count;
  while (step->operation >= STEP_ACTIVATE && place < FUSED_STEPS &&
         !(FUSED_ACTIVATIONS >> place & 1))
    place++;
  return place;
}

/* Appends a step that computes `result` of a and, unless b.tensor is NULL, of b. */
static bool add_step(fused *f, const ft_recorded_call *c, value a, value b, value result) {
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
  f->activates = f->activates || step->operation >= STEP_ACTIVATE;
  f->steps[place] = step->operation << FUSED_OPERATION | step->activation << FUSED_ACTIVATION |
                    a_operand << FUSED_A | b_operand << FUSED_B | number << FUSED_NUMBER |
                    FUSED_OUTPUTS << FUSED_TARGET | sum << FUSED_SUM;
  return true;
}

static bool add_elementwise(fused *f, const ft_recorded_call *c) {
  const filtra_tensor *x = c->args[0].tensor, *y = target_of(c);
  const filtra_tensor *z = c->arg_count > 2 ? c->args[1].tensor : NULL;
  const int without = c->step.operation == STEP_SCALE ? (int)c->step.axis : -1;
  return tensor_has_shape(f, y) &&
         add_step(f, c, (value){x, axes_of(x, y, without), 0, 0},
                  (value){z, z ? axes_of(z, y, -1) : 0, 0, 0}, (value){y, FUSED_ALL_AXES, 0, 0});
}

static bool add_copy(fused *f, const ft_recorded_call *c) {
  for (int by = 2; by-- > 0;) {
    const frame own = frame_of(c, by);
    value x = {c->args[0].tensor, FUSED_ALL_AXES, 0, 0}, y = {target_of(c), FUSED_ALL_AXES, 0, 0};
    if (has_shape(f, own.ndim, own.shape) && stored_as(f, own.stride[0], &x.stored) &&
        stored_as(f, own.stride[1], &y.stored))
      return add_step(f, c, x, (value){0}, y);
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
static bool add_outputs(const fusion *all, const group *members, fused *f) {
  for (uint32_t i = 0; i < f->result_count; i++) {
    const value *result = &f->results[i];
    uint32_t *step = &f->steps[result->operand - FUSED_INPUTS];
    if (!is_needed(all, members, result->tensor->storage)) continue;
    if (f->output_count == FUSED_OUTPUTS) return false;
    *step ^= (FUSED_OUTPUTS ^ f->output_count) << FUSED_TARGET;
    f->outputs[f->output_count++] = *result;
  }
  return true;
}

/* The shape of all members is that of the first. */
static void set_frame(fused *f, const ft_recorded_call *first) {
  if (first->step.operation == STEP_COPY) {
    const frame own = frame_of(first, 1);
    f->ndim = own.ndim;
    memcpy(f->shape, own.shape, sizeof f->shape);
  } else {
    f->ndim = long_axes(target_of(first), f->shape);
  }
}

static bool put_together(const fusion *all, const group *members, fused *f) {
  memset(f, 0, sizeof *f);
  for (uint32_t m = 0; m < members->count; m++) {
    const ft_recorded_call *c = &all->tape->calls[members->members[m]];
    const bool copies = c->step.operation == STEP_COPY;
    if (m == 0) set_frame(f, c);
    if (!(copies ? add_copy(f, c) : add_elementwise(f, c))) return false;
  }
  return add_outputs(all, members, f);
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
  fused f;
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
  fused own, whole;
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

/* ---- the calls ---- */

/* Merges axes that all inputs have, or all lack, unless a layout counts on them, and moves the rest
 * to the end of four axes. */
static void merge_axes(fused *f) {
  int count = 0;
  for (int k = 0; k < f->ndim; k++) {
    bool joins = count > 0 && !f->layout_count;
    for (uint32_t i = 0; i < f->input_count && joins; i++)
      joins = (f->inputs[i].axes >> (count - 1) & 1) == (f->inputs[i].axes >> k & 1);
    for (uint32_t i = 0; i < f->input_count && !joins; i++) {
      const uint32_t has = f->inputs[i].axes >> k & 1;
      f->inputs[i].axes = (f->inputs[i].axes & ~(1U << count)) | has << count;
    }
    if (joins)
      f->shape[count - 1] *= f->shape[k];
    else
      f->shape[count++] = f->shape[k];
  }
  const int before = FILTRA_MAX_DIMS - count;
  memmove(f->shape + before, f->shape, (size_t)count * sizeof *f->shape);
  for (int k = 0; k < before; k++)
    f->shape[k] = 1;
  for (uint32_t i = 0; i < f->input_count; i++) {
    const uint32_t own = f->inputs[i].axes & ((1U << count) - 1), all = (1U << count) - 1;
    f->inputs[i].axes = own == all ? FUSED_ALL_AXES : own << before;
  }
}

/* Whether all tensors can be read by groups of four: aligned and contiguous, or one element. */
static bool by_fours(const fused *f) {
  const uint32_t last = 1U << (FILTRA_MAX_DIMS - 1);
  bool whole = f->shape[FILTRA_MAX_DIMS - 1] % 4 == 0;
  for (uint32_t i = 0; i < f->input_count && whole; i++)
    whole = !(f->inputs[i].axes & last) || ft_begins_at(f->inputs[i].tensor, 16);
  for (uint32_t i = 0; i < f->output_count && whole; i++)
    whole = ft_begins_at(f->outputs[i].tensor, 16);
  for (uint32_t i = 0; i < f->layout_count && whole; i++)
    whole = f->layouts[i].row % 4 == 0;
  return whole;
}

static void set_shape(const fused *f, bool whole, struct ft_fused_elements_arguments *given) {
  int64_t shape[FILTRA_MAX_DIMS];
  memcpy(shape, f->shape, sizeof shape);
  if (whole) shape[FILTRA_MAX_DIMS - 1] /= 4;
  given->count = (uint32_t)shape[0];
  for (int k = 1; k < FILTRA_MAX_DIMS; k++) {
    uint32_t shift = 0;
    given->count *= (uint32_t)shape[k];
    given->shape[k - 1] = (uint32_t)shape[k];
    ft_divide_by((uint32_t)shape[k], &given->factor[k - 1], &shift);
    given->shifts |= shift << 5 * (k - 1);
  }
  for (uint32_t i = 0; i < f->layout_count; i++)
    given->row[i] = (uint32_t)(whole ? f->layouts[i].row / 4 : f->layouts[i].row);
}

static void set_tensors(const fused *f, struct ft_fused_elements_arguments *given) {
  ft_arg *in[] = {&given->in0, &given->in1, &given->in2, &given->in3, &given->in4};
  ft_arg *out[] = {&given->out0, &given->out1, &given->out2};
  for (uint32_t i = 0; i < f->input_count; i++)
    *in[i] = (ft_arg)FT_READ(f->inputs[i].tensor);
  for (uint32_t i = 0; i < f->output_count; i++)
    *out[i] = (ft_arg)FT_WRITE(f->outputs[i].tensor);
}

static uint32_t packed_axes(const fused *f, bool *spread) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < f->input_count; i++) {
    axes |= f->inputs[i].axes << 4 * i;
    *spread = *spread || f->inputs[i].axes != FUSED_ALL_AXES;
  }
  return axes;
}

static uint32_t packed_layouts(const fused *f) {
  uint32_t word = f->input_count << FUSED_INPUT_COUNT;
  for (uint32_t i = 0; i < f->input_count; i++)
    word |= f->inputs[i].stored << FUSED_LAYOUT(i);
  for (uint32_t i = 0; i < f->output_count; i++)
    word |= f->outputs[i].stored << FUSED_LAYOUT(FUSED_INPUTS + i);
  for (uint32_t i = 0; i < f->layout_count; i++)
    word |= (uint32_t)f->layouts[i].swapped << (FUSED_SWAPPED + i);
  return word;
}

static void make_call(const fusion *all, const group *members, ft_recorded_call *call) {
  fused f;
  put_together(all, members, &f);
  merge_axes(&f);
  const bool whole = by_fours(&f);
  bool spread = f.layout_count > 0;
  const uint32_t axes = packed_axes(&f, &spread);
  struct ft_fused_elements_arguments given = {0};
  set_tensors(&f, &given);
  set_shape(&f, whole, &given);
  memcpy(given.number, f.numbers, sizeof given.number);
  const ft_recorded_call *first = &all->tape->calls[members->members[0]];
  const uint32_t *s = f.steps;
  ft_call_take(
      &(ft_kernel_call){.label = "fused",
                        .kernel = f.activates ? "fused/elements" : "fused/elements.plain",
                        FT_ARGUMENTS_AT(fused_elements, &given),
                        FT_CONSTANTS(fused_elements, .step0 = s[0], .step1 = s[1], .step2 = s[2],
                                     .step3 = s[3], .step4 = s[4], .step5 = s[5], .step6 = s[6],
                                     .step7 = s[7], .axes = axes, .layouts = packed_layouts(&f),
                                     .SPREAD = spread, .WHOLE = whole),
                        .workgroup = first->key.workgroup,
                        .groups = {first->groups[0]}},
      call);
  for (uint32_t m = 0; m < members->count; m++)
    call->flops += all->tape->calls[members->members[m]].flops;
  for (uint32_t k = 0; k < call->arg_count; k++)
    if (call->args[k].tensor)
      call->bytes += 4.0 * (double)filtra_tensor_elements(call->args[k].tensor);
}

/* ---- the step of the plan ---- */

static filtra_status take_groups(ft_plan *plan, const fusion *all) {
  size_t fused_count = 0;
  for (size_t i = 0; i < all->group_count; i++)
    fused_count += all->groups[i].count > 1;
  plan->fused = ft_calloc(fused_count + 1, sizeof *plan->fused);
  if (!plan->fused) return FILTRA_ERROR_HOST_MEMORY;
  ft_recorded_call *next = plan->fused;
  for (size_t i = 0; i < all->group_count; i++) {
    const group *members = &all->groups[i];
    if (!members->count) continue;
    const ft_recorded_call *call = &plan->tape->calls[members->members[0]];
    if (members->count > 1) {
      make_call(all, members, next);
      call = next++;
    }
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
