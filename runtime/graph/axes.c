/* Axes along which a kernel walks two tensors together (shaders/common/axes.glsl). Called by
 * graph/copy.c and by ops. */
#include "graph/graph.h"

typedef struct axis {
  int64_t length, stride[2]; /* of a and b */
} axis;

/* Merges neighbouring axes that are contiguous in both tensors, and drops those of length 1.
 * Returns the number of remaining axes. */
static int join(int ndim, const int64_t *shape, const int64_t *a, const int64_t *b, axis *to) {
  int count = 0;
  for (int i = 0; i < ndim; i++) {
    axis *outer = count ? &to[count - 1] : NULL;
    if (shape[i] == 1) continue;
    if (outer && outer->stride[0] == a[i] * shape[i] && outer->stride[1] == b[i] * shape[i])
      *outer = (axis){outer->length * shape[i], {a[i], b[i]}};
    else
      to[count++] = (axis){shape[i], {a[i], b[i]}};
  }
  return count;
}

/* Whether groups of four elements are contiguous in a tensor. */
static bool in_fours(const axis *axes, int count, int tensor) {
  for (int i = 0; i + 1 < count; i++)
    if (axes[i].stride[tensor] % 4 != 0) return false;
  return axes[count - 1].stride[tensor] == 1;
}

/* Converts lengths and strides to groups of four, if groups are contiguous in both tensors or, in a
 * repeatable one, are one repeated element; that tensor's strides still count elements. */
static bool by_fours(axis *axes, int count, bool repeatable, unsigned *repeated) {
  if (!count || axes[count - 1].length % 4 != 0) return false;
  unsigned same = 0;
  for (int t = 0; t < 2; t++) {
    if (repeatable && axes[count - 1].stride[t] == 0)
      same |= 1U << t;
    else if (!in_fours(axes, count, t))
      return false;
  }
  axes[count - 1].length /= 4;
  for (int t = 0; t < 2; t++)
    for (int i = 0; i + 1 < count; i++)
      if (!(same >> t & 1)) axes[i].stride[t] /= 4;
  *repeated = same;
  return true;
}

void ft_divide_by(uint32_t length, uint32_t *factor, uint32_t *shift) {
  while ((uint64_t)1 << *shift < length)
    ++*shift;
  *factor = (uint32_t)((((uint64_t)1 << *shift) - length) * ((uint64_t)1 << 32) / length + 1);
}

ft_axes ft_axes_of(int ndim, const int64_t *shape, const int64_t *a_stride, const int64_t *b_stride,
                   bool quads, bool repeatable) {
  axis joined[FILTRA_MAX_DIMS];
  int count = join(ndim, shape, a_stride, b_stride, joined);
  ft_axes axes = {.count = 1};
  axes.whole = quads && by_fours(joined, count, repeatable, &axes.repeated);
  for (int i = 0; i < count; i++)
    axes.count *= (uint32_t)joined[i].length;
  if (!axes.count) return axes;
  for (int i = 0; i < count; i++) {
    const axis *from = &joined[i];
    int to = FILTRA_MAX_DIMS - count + i;
    axes.a_stride[to] = (uint32_t)from->stride[0];
    axes.b_stride[to] = (uint32_t)from->stride[1];
    if (i == 0) continue;
    axes.shape[to - 1] = (uint32_t)from->length;
    ft_divide_by((uint32_t)from->length, &axes.factor[to - 1], &axes.shift[to - 1]);
  }
  bool plain = !count || (count == 1 && joined[0].stride[0] == 1 && joined[0].stride[1] == 1);
  axes.axes = plain ? 0 : (uint32_t)count;
  return axes;
}
