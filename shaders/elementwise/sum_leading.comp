#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/columns.glsl"
#include "elementwise/contract.h"

// y[i] = sum over s of x[s, i], in order; y is at least as long as a slice, and zero past the
// slice's length. y has the kernel's element type. If y is short and there are many slices, DOWN
// invocations each sum a part of the slices, and the first of them adds up the parts, in order.
FT_CONSTANTS(elementwise_sum_leading)
FT_ARGUMENTS(elementwise_sum_leading)

const uint ACROSS = gl_WorkGroupSize.x / DOWN;
shared float parts[DOWN * ACROSS];

void keep(uint i, float sum) {
  if (accumulate) sum += load_element(p.y, i);
  store_element(p.y, i, sum);
}

// The sum over part `down` of the slices.
float part_of(uint i, uint down) {
  const uint length = (p.slices + DOWN - 1) / DOWN, first = down * length;
  if (i >= p.slice || first >= p.slices) return 0;
  return sum_down(false, p.x, first * p.slice + i, p.slice, min(length, p.slices - first));
}

void main() {
  const uint across = gl_LocalInvocationID.x % ACROSS, down = gl_LocalInvocationID.x / ACROSS;
  uint first = gl_WorkGroupID.x * ACROSS;
  if (first >= p.count) return;
  do {
    const uint i = first + across;
    float sum = part_of(i, down);
    if (DOWN > 1) {
      parts[gl_LocalInvocationID.x] = sum;
      barrier();
      if (down == 0)
        [[unroll]] for (uint d = 1; d < DOWN; ++d) sum += parts[d * ACROSS + across];
      barrier();
    }
    if (down == 0 && i < p.count) keep(i, sum);
    first += gl_NumWorkGroups.x * ACROSS;
  } while (first < p.count);
}
