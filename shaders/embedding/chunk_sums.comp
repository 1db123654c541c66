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

// Second step of the embedding gradient: the row of each chunk's first occurrence of a token
// becomes the sum, in order, of the gradients of all its occurrences in the chunk. Other rows are
// not written.
FT_CONSTANTS(embedding_chunk_sums)
FT_ARGUMENTS(embedding_chunk_sums)

const uint leader = 0x80000000u;

#if FILTRA_ROW_UNIFORM

void main() {
  for (uint row = team_index(); team_goes_on(row, p.count / columns); row += team_count()) {
    const uint first = p.link.v[row];
    if ((first & leader) == 0) continue;
    vec2 sum[columns / (2 * gl_WorkGroupSize.x)];
    for_pairs(i, columns) sum[i / (2 * team_lanes())] = load_pair(p.dy, row * columns, i);
    uint t = row, link = first & ~leader;
    if (link != 0) {
      do {
        t += link;
        for_pairs(i, columns) sum[i / (2 * team_lanes())] += load_pair(p.dy, t * columns, i);
        link = p.link.v[t];
      } while (link != 0);
    }
    for_pairs(i, columns) store_pair(p.sums, row * columns, i, sum[i / (2 * team_lanes())]);
  }
}

#else

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint t = i / columns;
    const uint column = i - t * columns;
    uint link = p.link.v[t];
    if ((link & leader) != 0) {
      float sum = p.dy.v[i];
      link &= ~leader;
      if (link != 0) {
        do {
          t += link;
          sum += p.dy.v[t * columns + column];
          link = p.link.v[t];
        } while (link != 0);
      }
      p.sums.v[i] = sum;
    }
    i += step;
  } while (i < p.count);
}

#endif
