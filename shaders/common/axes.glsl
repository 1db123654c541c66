// Maps element i of a dense tensor to its index in two tensors a and b that are walked along up to
// four axes, each with its own stride; runtime/graph/axes.c fills in the arguments. Of shape and
// strides the last AXES count; with 0 AXES the index is i in both. The including file defines `p`
// with ft_axes_SCALARS, and AXES.

#include "common/quotient.glsl"

// Adds the offsets along an axis that is not the outermost.
void go_along(const uint axis, inout uint rest, inout uint a, inout uint b) {
  const uint outer = quotient(rest, p.factor[axis - 1], p.shift[axis - 1]);
  const uint k = rest - outer * p.shape[axis - 1];
  a += k * p.a_stride[axis];
  b += k * p.b_stride[axis];
  rest = outer;
}

void find(uint i, out uint a, out uint b) {
  a = b = i;
  if (AXES == 0) return;
  uint rest = i;
  a = b = 0;
  if (AXES > 1) go_along(3, rest, a, b);
  if (AXES > 2) go_along(2, rest, a, b);
  if (AXES > 3) go_along(1, rest, a, b);
  a += rest * p.a_stride[4 - AXES];
  b += rest * p.b_stride[4 - AXES];
}
