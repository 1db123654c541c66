#version 450
#extension GL_GOOGLE_include_directive : require
//@types f16 bf16
#include "common/types.glsl"
#include "common/half.glsl"
#include "cast/contract.h"

// y = x converted from 16 bits, exactly, or y += x; two elements per invocation and step.
FT_CONSTANTS(cast)
#define CAST_FROM U32
#define CAST_TO F32
FT_ARGUMENTS(cast)

void main() {
  uint word = gl_GlobalInvocationID.x;
  const uint words = (p.count + 1) / 2, step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (word >= words) return;
  do {
    const vec2 pair = half_unpack(p.x.v[word]);
    const uint i = 2 * word;
    p.y.v[i] = accumulate ? p.y.v[i] + pair.x : pair.x;
    if (i + 1 < p.count) p.y.v[i + 1] = accumulate ? p.y.v[i + 1] + pair.y : pair.y;
    word += step;
  } while (word < words);
}
