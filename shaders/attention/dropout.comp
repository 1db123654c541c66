#version 450
// Which weights dropout keeps, one bit each: for key j of a row, bit j % 32 of word j / 32. Kernels
// for matrix units read these bits, so that they need not each draw the same random numbers. An
// invocation computes one word; neighbouring invocations write adjacent words.
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/philox.glsl"
#include "attention/contract.h"
#include "attention/weight_words.glsl"

FT_CONSTANTS(attention_dropout)
FT_ARGUMENTS(attention_dropout)

void main() {
  const uvec4 state = uvec4(p.random.v[0], p.random.v[1], p.random.v[2], p.random.v[3]);
  const uint words = (p.keys + 31) / 32, step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  for (uint i = gl_GlobalInvocationID.x; i < p.rows * words; i += step) {
    const uint row = whole_element(p.random, SEQUENCE, i / words);
    uint kept = 0, group = 0;
    do {
      const uvec4 drawn = weight_words(state, p.op_id, row, p.keys, i % words * 8 + group);
      [[unroll]] for (uint l = 0; l < 4; ++l)
        kept |= uint(dropout_keeps(drawn[l], RATE)) << (4 * group + l);
      group++;
    } while (group < 8);
    p.kept.v[i] = kept;
  }
}
