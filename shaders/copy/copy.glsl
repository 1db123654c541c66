// y = x, y += x or y = value. The two may store one shape differently (a piece of a wider tensor,
// heads stored token by token): up to four axes, each with its own stride. COPIED: a buffer of what
// is moved at a time.
layout(constant_id = 1) const uint mode = 0; // 0 copy, 1 add, 2 fill
layout(constant_id = 2) const bool strided = false;

layout(push_constant) uniform Push {
  COPIED x;
  COPIED y;
  uint count;
  uint value;
  uint shape[3]; // without the outermost axis
  uint x_stride[4];
  uint y_stride[4];
} p;

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
