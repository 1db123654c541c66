#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"

// cache[b, h, position[b] + n, :] = x[b, h, n, :]; rows that the cache does not have are dropped.
layout(constant_id = 1) const uint columns = 1;

layout(push_constant) uniform Push {
  F32 x;
  I32 position; // absent: 0
  F32 cache;
  uint count;           // elements of x
  uint heads, tokens;   // of x
  uint rows;            // of the cache, per head
  uint x_stride[3];     // batch, head, token; columns are dense
  uint cache_stride[3];
} p;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  const bool placed = any(notEqual(uvec2(p.position), uvec2(0)));
  do {
    uint rest = i / columns;
    const uint column = i - rest * columns;
    const uint n = rest % p.tokens;
    rest /= p.tokens;
    const uint h = rest % p.heads, b = rest / p.heads;
    // Below 0 is far beyond the last row.
    const uint row = n + (placed ? uint(p.position.v[b]) : 0);
    if (row < p.rows)
      p.cache.v[b * p.cache_stride[0] + h * p.cache_stride[1] + row * p.cache_stride[2] + column] =
          p.x.v[b * p.x_stride[0] + h * p.x_stride[1] + n * p.x_stride[2] + column];
    i += step;
  } while (i < p.count);
}
