#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "pool/contract.h"

// y[t] = x[t] for kept tokens, else 0; y += the same when accumulating.
FT_CONSTANTS(pool_mask_tokens)
FT_ARGUMENTS(pool_mask_tokens)

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
