#version 450
#extension GL_GOOGLE_include_directive : require
//@types f16 bf16
#include "common/types.glsl"
#include "common/half.glsl"
#include "cast/contract.h"

// y = x rounded to 16 bits, or y += x; two elements per invocation and step.
FT_CONSTANTS(cast)
#define CAST_FROM F32
#define CAST_TO U32
FT_ARGUMENTS(cast)

void main() {
  uint word = gl_GlobalInvocationID.x;
  const uint words = (p.count + 1) / 2, step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (word >= words) return;
  do {
    const uint second = min(2 * word + 1, p.count - 1); // for an odd count, the last element twice
    vec2 pair = vec2(p.x.v[2 * word], p.x.v[second]);
    if (accumulate) pair += half_unpack(p.y.v[word]);
    p.y.v[word] = half_pack(pair);
    word += step;
  } while (word < words);
}
