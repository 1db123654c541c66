#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"

// y[t] = x[t] for kept tokens, else 0; y += the same when accumulating.
layout(constant_id = 1) const uint columns = 1;
layout(constant_id = 2) const bool accumulate = false;

layout(push_constant) uniform Push {
  Elements x; // [tokens, columns]
  F32 mask;   // [tokens]
  Elements y; // [tokens, columns]
  uint count;
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    float r = p.mask.v[i / columns] > 0 ? load_element(p.x, i) : 0;
    if (accumulate) r += load_element(p.y, i);
    store_element(p.y, i, r);
    i += step;
  } while (i < p.count);
}
