#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#if FILTRA_ROW_UNIFORM
#include "common/reduce.glsl"
#include "common/pairs.glsl"
#include "common/uniform_row.glsl"
#endif
#include "embedding/contract.h"

// y[t] = table[token[t]], zeros for tokens outside the vocabulary.
FT_CONSTANTS(embedding_embedding)
FT_ARGUMENTS(embedding_embedding)

#if FILTRA_ROW_UNIFORM

void main() {
  for (uint row = team_index(); team_goes_on(row, p.count / columns); row += team_count()) {
    const uint token = uint(p.tokens.v[row]);
    const bool known = token < p.vocabulary;
    for_pairs(i, columns) {
      const vec2 x = load_pair(F32(uvec2(p.table)), known ? token * columns : 0, i);
      store_pair(p.y, row * columns, i, known ? x : vec2(0));
    }
  }
}

#else

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

#endif
