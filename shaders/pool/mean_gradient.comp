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
#include "pool/contract.h"

// dx[b, n] = scale[b] dy[b] for kept tokens, else 0.
FT_CONSTANTS(pool_mean_gradient)
FT_ARGUMENTS(pool_mean_gradient)

#if FILTRA_ROW_UNIFORM

void main() {
  for (uint row = team_index(); team_goes_on(row, p.n * p.batch); row += team_count()) {
    const uint b = row / p.n;
    const bool kept = !masked || p.mask.v[row] > 0;
    const float scale = p.scale.v[b];
    for_pairs(i, columns) {
      vec2 r = kept ? scale * load_pair(p.dy, b * columns, i) : vec2(0);
      if (accumulate) r += load_pair(p.dx, row * columns, i);
      store_pair(p.dx, row * columns, i, r);
    }
  }
}

#else

void main() {
  const uint period = p.n * columns;
  uint i = gl_GlobalInvocationID.x;
  if (i >= period || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint t = i / columns;
    const uint column = i - t * columns;
    uint b = gl_WorkGroupID.y;
    do {
      float r = 0;
      if (!masked || p.mask.v[b * p.n + t] > 0) r = p.scale.v[b] * p.dy.v[b * columns + column];
      const uint to = b * period + i;
      if (accumulate) r += p.dx.v[to];
      p.dx.v[to] = r;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    i += step;
  } while (i < period);
}

#endif
