#version 450
#extension GL_GOOGLE_include_directive : require
//@types f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"

// Copies single 16-bit elements, for tensors that do not consist of contiguous whole words.
#define COPIED Elements
#include "copy/copy.glsl"

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint from, to;
    find(i, from, to);
    if (mode == COPY_MOVE)
      p.y.v[to] = p.x.v[from];
    else if (mode == COPY_ADD)
      store_element(p.y, to, load_element(p.y, to) + load_element(p.x, from));
    else
      p.y.v[to] = uint16_t(p.value);
    i += step;
  } while (i < p.count);
}
