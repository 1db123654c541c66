// Common parts of the kernels of the linear layer's epilogue. Include common/types.glsl first.
#include "common/elements.glsl"
#include "common/activation.glsl"
#include "common/philox.glsl"
#include "common/quads.glsl"
#include "linear/contract.h"

FT_CONSTANTS(linear_epilogue)
FT_SEQUENCE_CONSTANT(SEQUENCE)

// The step's random words; 0 without dropout.
uvec4 random_words(U32 state) {
  if (!DROPOUT) return uvec4(0);
  return uvec4(state.v[0], state.v[1], state.v[2], state.v[3]);
}

// Dropout's factors of elements 4 quad .. + 3: one block of random words.
vec4 dropout_factors(U32 state, uvec4 random, uint op_id, float rate, uint quad) {
  vec4 factor = vec4(1);
  if (DROPOUT) {
    uint block = SEQUENCE == 0 ? quad : whole_element(state, SEQUENCE, 4 * quad) / 4;
    uvec4 words = dropout_words(random, op_id, block);
    if (SEQUENCE % 4 != 0) // four neighbours may belong to two draws
      [[unroll]] for (uint j = 0; j < 4; j++) {
        uint whole = whole_element(state, SEQUENCE, 4 * quad + j);
        words[j] = dropout_words(random, op_id, whole / 4)[whole % 4];
      }
    [[unroll]] for (uint j = 0; j < 4; j++) factor[j] = dropout_factor(words[j], rate);
  }
  return factor;
}
