#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/columns.glsl"
#include "elementwise/contract.h"

// y[i] = sum over s of x[s, i], in order; y is as long as a slice or longer, and zero behind it. y
// has the kernel's element type.
FT_CONSTANTS(elementwise_sum_leading)
FT_ARGUMENTS(elementwise_sum_leading)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    float sum = 0;
    if (i < p.slice) sum = sum_down(false, p.x, i, p.slice, p.slices);
    if (accumulate) sum += load_element(p.y, i);
    store_element(p.y, i, sum);
    i += step;
  } while (i < p.count);
}
