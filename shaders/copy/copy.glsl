// The arguments of copies, and where in them an element lies. COPIED: a buffer of what is moved at
// a time.
#include "copy/contract.h"

FT_VALUES(copy_mode)
FT_CONSTANTS(copy_axes)
FT_ARGUMENTS(copy)

// Where the i-th lies in x and y.
void find(uint i, out uint from, out uint to) {
  from = to = i;
  if (strided) {
    uint rest = i;
    from = to = 0;
    [[unroll]] for (int axis = 2; axis >= 0; --axis) {
      const uint k = rest % p.shape[axis];
      rest /= p.shape[axis];
      from += k * p.x_stride[axis + 1];
      to += k * p.y_stride[axis + 1];
    }
    from += rest * p.x_stride[0];
    to += rest * p.y_stride[0];
  }
}
