#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "embedding/contract.h"

// Second step of the embedding gradient: the row of each chunk's first occurrence of a token
// becomes the sum, in order, of the gradients of all its occurrences in the chunk. Other rows are
// not written.
FT_CONSTANTS(embedding_chunk_sums)
FT_ARGUMENTS(embedding_chunk_sums)

const uint leader = 0x80000000u;

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
