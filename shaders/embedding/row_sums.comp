#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "embedding/contract.h"

// Third step of the embedding gradient: each table row's sum over the chunks, in order. A split
// sums the chunks of its range; elementwise/sum_leading adds up the splits.
FT_CONSTANTS(embedding_row_sums)
FT_ARGUMENTS(embedding_row_sums)

const uint none = 0xffffffffu;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const uint begin = gl_WorkGroupID.y * p.per_split;
  const uint end = min(begin + p.per_split, p.chunks);
  do {
    const uint row = i / columns;
    const uint column = i - row * columns;
    const uint head = row * (p.chunks + 1);
    float sum = 0;
    uint c = max(begin, p.heads.v[head]);
    if (c < end) {
      do {
        const uint t = p.heads.v[head + 1 + c];
        if (t != none) sum += p.sums.v[t * columns + column];
        ++c;
      } while (c < end);
    }
    const uint to = gl_WorkGroupID.y * p.count + i;
    if (accumulate) sum += p.rows.v[to];
    p.rows.v[to] = sum;
    i += step;
  } while (i < p.count);
}
