#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/columns.glsl"

// y[i] = sum over s of x[s, i], in order; y is as long as a slice or longer, and zero behind it. y
// has the kernel's element type.
layout(constant_id = 1) const bool accumulate = false;

layout(push_constant) uniform Push {
  F32 x; // [slices, slice]
  Elements y; // [count]
  uint count, slice, slices;
} p;

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
