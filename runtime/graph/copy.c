/* Copying and filling of tensors. Called by graph/gradients.c, by ops, and by the optimizer. */
#include "copy/contract.h"
#include "fused/contract.h"
#include "graph/tape.h"

#include <string.h>

uint32_t ft_groups_for(int64_t count, int64_t per_group) {
  int64_t groups = (count + per_group - 1) / per_group;
  return (uint32_t)(groups < 1 ? 1 : groups > FT_MOST_GROUPS ? FT_MOST_GROUPS : groups);
}

uint32_t ft_flat_groups(const filtra_graph *g, int64_t count) {
  return ft_groups_for(count,
                       FT_FLAT_WORKGROUP * ft_constants_of(ft_caps_of(g->device))->flat_elements);
}

/* Whether the elements fill a contiguous range of bytes, in any order. */
static bool packed(const filtra_tensor *t) {
  int64_t extent = 1;
  for (int i = 0; i < t->ndim; i++)
    extent += (t->shape[i] - 1) * t->stride[i];
  return extent == filtra_tensor_elements(t);
}

static bool same_shape(const filtra_tensor *a, const filtra_tensor *b) {
  return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

static bool same_layout(const filtra_tensor *x, const filtra_tensor *y) {
  if (ft_dense(x) && ft_dense(y)) return true;
  return same_shape(x, y) && packed(x) && packed(y) &&
         !memcmp(x->stride, y->stride, (size_t)x->ndim * sizeof *x->stride);
}

static uint32_t words_of(const filtra_tensor *t) {
  return (uint32_t)(ft_dtype_extent(filtra_tensor_dtype(t), filtra_tensor_elements(t)) / 4);
}

static bool in_words(const filtra_tensor *t) {
  size_t bytes = filtra_dtype_bytes(filtra_tensor_dtype(t));
  uint64_t extent = ft_dtype_extent(filtra_tensor_dtype(t), filtra_tensor_elements(t));
  uint64_t begin = (uint64_t)t->offset * bytes;
  bool odd =
      extent > (uint64_t)filtra_tensor_elements(t) * bytes; /* its last word is half filled */
  if (bytes == 4) return true;
  return packed(t) && begin % 4 == 0 && !(odd && begin + extent != t->storage->bytes);
}

bool ft_in_words(filtra_graph *g, const filtra_tensor *t, const char *op) {
  if (in_words(t)) return true;
  ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                "%s: %s %s is a part of a tensor of 16-bit elements; cast the whole to F32 first",
                op, t->name, ft_shape_text(t));
  return false;
}

static void emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, uint32_t mode,
                      uint32_t value) {
  bool strided = x ? !same_layout(x, y) : !packed(y);
  if (x && strided && !same_shape(x, y)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "copy: %s %s and %s %s are stored differently", x->name,
                  ft_shape_text(x), y->name, ft_shape_text(y));
    return;
  }
  filtra_dtype dtype = filtra_tensor_dtype(y);
  /* Copies whole words if possible, which any device can do; otherwise 16-bit elements. */
  bool words = filtra_dtype_bytes(dtype) == 4 || (!strided && in_words(y) && (!x || in_words(x)));
  if (!words && !ft_graph_accept(g, ft_check_precision(g->device, dtype))) return;
  const char *kernel =
      words ? ft_kernel_typed(g->device, "copy/copy", mode == COPY_ADD ? dtype : FILTRA_F32)
            : ft_kernel_typed(g->device, "copy/elements", dtype);
  const int64_t count = words ? words_of(y) : filtra_tensor_elements(y), next = 1;
  const bool quads = words && ft_begins_at(y, 16) && (!x || ft_begins_at(x, 16));
  const filtra_tensor *from = x ? x : y;
  const ft_axes axes = strided
                           ? ft_axes_of(y->ndim, y->shape, from->stride, y->stride, quads, false)
                           : ft_axes_of(1, &count, &next, &next, quads, false);
  struct ft_copy_arguments given = {
      .x = FT_READ(x), .y = FT_TARGET(y, mode == COPY_ADD), .value = value};
  FT_SET_AXES(given, axes);
  ft_record_call(
      g, &(ft_kernel_call){.label = mode == COPY_FILL ? "fill" : "copy",
                           .kernel = kernel,
                           FT_ARGUMENTS_AT(copy, &given),
                           FT_CONSTANTS(copy, .mode = mode, .AXES = axes.axes, .WHOLE = axes.whole),
                           .cheap = true,
                           .step = {.operation = mode == COPY_FILL ? STEP_NONE : STEP_COPY},
                           FT_FLAT(g, count),
                           .bytes = (words ? 4.0 : 2.0) * (double)count *
                                    (mode == COPY_FILL  ? 1
                                     : mode == COPY_ADD ? 3
                                                        : 2)});
}

void ft_emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate) {
  if (!ft_usable(g, x) || !ft_usable(g, y)) return;
  filtra_dtype from = filtra_tensor_dtype(x), to = filtra_tensor_dtype(y);
  if (from != to || filtra_tensor_elements(x) != filtra_tensor_elements(y)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "copy: %s %s %s does not fit %s %s %s", x->name,
                  filtra_dtype_name(from), ft_shape_text(x), y->name, filtra_dtype_name(to),
                  ft_shape_text(y));
    return;
  }
  emit_copy(g, x, y, accumulate ? COPY_ADD : COPY_MOVE, 0);
}

void ft_emit_fill(filtra_graph *g, filtra_tensor *y, float value) {
  if (!ft_usable(g, y)) return;
  uint32_t word = (uint32_t)(int32_t)value;
  filtra_dtype dtype = filtra_tensor_dtype(y);
  if (ft_dtype_is_float(dtype)) {
    ft_element_set(dtype, &word, 0, value);
    if (filtra_dtype_bytes(dtype) == 2) word = (word & 0xffff) * 0x10001;
  }
  emit_copy(g, NULL, y, COPY_FILL, word);
}
