// Sums down the columns of matrices, in order. Matrices are F32 or, with `narrow`, of the kernel's
// type. Include common/types.glsl and common/elements.glsl first.

const uint IN_FLIGHT = 8;  // loads in flight

// x[at] + x[at + stride] + ..., `count` elements, at least one. If fewer than IN_FLIGHT are left,
// the last element is loaded in their place. Since each addition is conditional, compilers do not
// move its load right before it.
float sum_down(const bool narrow, F32 x, uint at, uint stride, uint count) {
  float sum = 0;
  uint done = 0;
  do {
    float next[IN_FLIGHT];
    [[unroll]] for (uint i = 0; i < IN_FLIGHT; ++i)
      next[i] = load_one(narrow, x, at + min(done + i, count - 1) * stride);
    [[unroll]] for (uint i = 0; i < IN_FLIGHT; ++i)
      if (done + i < count) sum += next[i];
    done += IN_FLIGHT;
  } while (done < count);
  return sum;
}
