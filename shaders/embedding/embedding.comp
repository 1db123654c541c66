#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "embedding/contract.h"

// y[t] = table[token[t]], zeros for tokens outside the vocabulary.
FT_CONSTANTS(embedding_embedding)
FT_ARGUMENTS(embedding_embedding)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = i / columns;
    const uint token = uint(p.tokens.v[row]); // a negative token becomes too large
    float value = 0;
    if (token < p.vocabulary) {
      value = load_element(p.table, token * columns + (i - row * columns));
    }
    p.y.v[i] = value;
    i += step;
  } while (i < p.count);
}
