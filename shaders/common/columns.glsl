// Sums down the columns of matrices, in order, which are F32 or, where `narrow`, of the kernel's
// type. Include common/types.glsl and common/elements.glsl first.

const uint IN_FLIGHT = 8;  // loads that nothing waits for one by one

// x[at] + x[at + stride] + ..., `count` elements, at least one. The last ones are loaded again
// where fewer are left; that each sum is asked for keeps compilers from loading right before it.
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
