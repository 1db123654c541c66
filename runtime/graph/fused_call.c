/* The call of a kernel of shaders/fused from its steps. Called by graph/fusion.c. */
#include "graph/fused.h"

#include <string.h>

enum { ROWS_WORKGROUP = 128 }; /* takes two rows of the greatest length */

static bool is_of_rows(const ft_fused_value *result) {
  return result->axes != FUSED_ALL_AXES;
}

/* Merges axes that all inputs have, or all lack, unless a layout counts on them or the last one is
 * that of rows, and moves the rest to the end of four axes. */
static void merge_axes(ft_fused *f) {
  int count = 0;
  for (int k = 0; k < f->ndim; k++) {
    bool joins = count > 0 && !f->layout_count && !(f->of_rows && k == f->ndim - 1);
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
static bool by_fours(const ft_fused *f) {
  const uint32_t last = 1U << (FILTRA_MAX_DIMS - 1);
  bool whole = f->shape[FILTRA_MAX_DIMS - 1] % 4 == 0;
  for (uint32_t i = 0; i < f->input_count && whole; i++)
    whole = !(f->inputs[i].axes & last) || ft_begins_at(f->inputs[i].tensor, 16);
  for (uint32_t i = 0; i < f->output_count && whole; i++)
    whole = is_of_rows(&f->outputs[i]) || ft_begins_at(f->outputs[i].tensor, 16);
  for (uint32_t i = 0; i < f->layout_count && whole; i++)
    whole = f->layouts[i].row % 4 == 0;
  return whole;
}

static int64_t count_of(const ft_fused *f) {
  int64_t count = 1;
  for (int k = 0; k < FILTRA_MAX_DIMS; k++)
    count *= f->shape[k];
  return count;
}

/* Whether each block of a pair a lane, of `lanes`, lies in one row of every tensor, aligned; where
 * all are dense, it may hold parts of several rows. */
static bool by_blocks(const ft_fused *f, uint32_t lanes) {
  const uint32_t last = 1U << (FILTRA_MAX_DIMS - 1);
  const int64_t length = f->layout_count ? f->shape[FILTRA_MAX_DIMS - 1] : count_of(f);
  bool whole = lanes && !f->of_rows && length % (2 * (int64_t)lanes) == 0;
  for (uint32_t i = 0; i < f->input_count && whole; i++)
    whole = !(f->inputs[i].axes & last) || ft_begins_at(f->inputs[i].tensor, 8);
  for (uint32_t i = 0; i < f->output_count && whole; i++)
    whole = ft_begins_at(f->outputs[i].tensor, 8);
  for (uint32_t i = 0; i < f->layout_count && whole; i++)
    whole = f->layouts[i].row % 2 == 0;
  return whole;
}

static void set_shape(const ft_fused *f, bool whole, struct ft_fused_elements_arguments *given) {
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

static void set_tensors(const ft_fused *f, struct ft_fused_elements_arguments *given) {
  ft_arg *in[] = {&given->in0, &given->in1, &given->in2, &given->in3, &given->in4};
  ft_arg *out[] = {&given->out0, &given->out1, &given->out2};
  for (uint32_t i = 0; i < f->input_count; i++)
    *in[i] = (ft_arg)FT_READ(f->inputs[i].tensor);
  for (uint32_t i = 0; i < f->output_count; i++)
    *out[i] = (ft_arg)FT_WRITE(f->outputs[i].tensor);
}

static uint32_t packed_axes(const ft_fused *f, bool *spread) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < f->input_count; i++) {
    axes |= f->inputs[i].axes << 4 * i;
    *spread = *spread || f->inputs[i].axes != FUSED_ALL_AXES;
  }
  return axes;
}

static uint32_t packed_layouts(const ft_fused *f) {
  uint32_t word = f->input_count << FUSED_INPUT_COUNT;
  for (uint32_t i = 0; i < f->input_count; i++)
    word |= f->inputs[i].stored << FUSED_LAYOUT(i);
  for (uint32_t i = 0; i < f->output_count; i++) {
    word |= f->outputs[i].stored << FUSED_LAYOUT(FUSED_INPUTS + i);
    word |= (uint32_t)is_of_rows(&f->outputs[i]) << (FUSED_OF_ROWS + i);
  }
  for (uint32_t i = 0; i < f->layout_count; i++)
    word |= (uint32_t)f->layouts[i].swapped << (FUSED_SWAPPED + i);
  return word;
}

void ft_fused_complete(ft_fused *f, uint32_t lanes) {
  merge_axes(f);
  f->lanes = by_blocks(f, lanes) ? lanes : 0;
}

void ft_fused_call(const ft_fused *f, uint32_t groups, ft_recorded_call *call) {
  enum { BLOCKS = 8 }; /* of a workgroup, starting which takes as long as about two */
  static const char *const KERNELS[3][2] = {
      {"fused/elements.plain", "fused/elements"},
      {"fused/rows.plain", "fused/rows"},
      {"fused/elements.plain_uniform", "fused/elements.uniform"}};
  const int64_t block = 2 * (int64_t)f->lanes;
  const bool uniform = block > 0, whole = !uniform && by_fours(f);
  const bool several_rows = uniform && f->shape[FILTRA_MAX_DIMS - 1] % block != 0;
  bool spread = f->layout_count > 0 || f->of_rows;
  const uint32_t axes = packed_axes(f, &spread);
  struct ft_fused_elements_arguments given = {0};
  set_tensors(f, &given);
  set_shape(f, whole, &given);
  memcpy(given.number, f->numbers, sizeof given.number);
  const uint32_t *s = f->steps;
  ft_call_take(
      &(ft_kernel_call){.label = "fused",
                        .kernel = KERNELS[uniform ? 2 : f->of_rows][f->activates],
                        FT_ARGUMENTS_AT(fused_elements, &given),
                        FT_CONSTANTS(fused_elements, .step0 = s[0], .step1 = s[1], .step2 = s[2],
                                     .step3 = s[3], .step4 = s[4], .step5 = s[5], .step6 = s[6],
                                     .step7 = s[7], .axes = axes, .layouts = packed_layouts(f),
                                     .SPREAD = spread, .WHOLE = whole || several_rows),
                        .workgroup = uniform      ? f->lanes
                                     : f->of_rows ? ROWS_WORKGROUP
                                                  : FT_FLAT_WORKGROUP,
                        .subgroup = f->lanes,
                        .groups = {uniform ? ft_groups_for(given.count, BLOCKS * block) : groups}},
      call);
  for (uint32_t k = 0; k < call->arg_count; k++)
    if (call->args[k].tensor)
      call->bytes += 4.0 * (double)filtra_tensor_elements(call->args[k].tensor);
}
