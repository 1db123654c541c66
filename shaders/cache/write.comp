#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "cache/contract.h"

// Rows of a cache [B,H,M,D] from x [B,H,N,D]: rows 0 .. N-1 without a position; with a position,
// where N is 1: row position[b], if it is in the cache, and the last row.
FT_CONSTANTS(cache_write)
FT_ARGUMENTS(cache_write)

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    uint rest = i / columns;
    const uint column = i - rest * columns;
    const uint n = rest % p.tokens;
    rest /= p.tokens;
    const uint h = rest % p.heads, b = rest / p.heads;
    const float x = p.x.v[b * p.x_stride[0] + h * p.x_stride[1] + n * p.x_stride[2] + column];
    const uint head = b * p.cache_stride[0] + h * p.cache_stride[1] + column;
    const uint row = placed ? uint(p.position.v[b]) : n; // a negative one is past the last row
    if (row < p.rows) p.cache.v[head + row * p.cache_stride[2]] = x;
    if (placed) p.cache.v[head + (p.rows - 1) * p.cache_stride[2]] = x;
    i += step;
  } while (i < p.count);
}
