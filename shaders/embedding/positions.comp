#version 450
#extension GL_GOOGLE_include_directive : require
//@variant uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#if FILTRA_ROW_UNIFORM
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/pairs.glsl"
#include "common/uniform_row.glsl"
#endif
#include "embedding/contract.h"

// y[b, n] = x[b, n] + table[n].
FT_CONSTANTS(embedding_positions)
FT_ARGUMENTS(embedding_positions)

#if FILTRA_ROW_UNIFORM

void main() {
  const uint tokens = p.period / columns;
  for (uint row = team_index(); team_goes_on(row, tokens * p.batch); row += team_count()) {
    const uint token = row % tokens;
    for_pairs(i, columns) {
      const vec2 position = load_pair(p.table, token * columns, i);
      store_pair(p.y, row * columns, i, load_pair(p.x, row * columns, i) + position);
    }
  }
}

#else

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.period || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const float position = p.table.v[i];
    uint b = gl_WorkGroupID.y;
    do {
      p.y.v[b * p.period + i] = p.x.v[b * p.period + i] + position;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    i += step;
  } while (i < p.period);
}

#endif
