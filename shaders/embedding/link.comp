#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "embedding/contract.h"

// First step of the embedding gradient: within each chunk of consecutive tokens, links equal ones.
//   link[t]  distance to the next equal token of the chunk, 0 at the last; the first has `leader`
//   heads[v] the first chunk that has v, then for each chunk the leader's t; `none` where absent
//            (filled with `none` before)
FT_ARGUMENTS(embedding_link)

const uint leader = 0x80000000u;

void main() {
  uint t = gl_GlobalInvocationID.x;
  if (t >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const int token = p.tokens.v[t];
    const uint c = t / p.chunk;
    const uint begin = c * p.chunk, end = min(begin + p.chunk, p.count);
    bool first = true;
    uint next = 0;
    uint other = begin;
    do {
      if (p.tokens.v[other] == token) {
        if (other < t) first = false;
        if (other > t && next == 0) next = other - t;
      }
      ++other;
    } while (other < end);
    p.link.v[t] = next | (first ? leader : 0);
    if (first && uint(token) < p.vocabulary) {
      const uint row = uint(token) * (p.chunks + 1);
      p.heads.v[row + 1 + c] = t;
      atomicMin(p.heads.v[row], c);
    }
    t += step;
  } while (t < p.count);
}
