// Sums of a matrix' columns over chunks of its rows: y[chunk, c] = sum of x[r, c] over the chunk,
// in order; x of the kernel's type. One invocation per column and chunk.
#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/columns.glsl"
#include "reduce/contract.h"

FT_CONSTANTS(reduce_columns)
FT_ARGUMENTS(reduce_columns)

void main() {
  uint c = gl_GlobalInvocationID.x, part = gl_WorkGroupID.y;
  if (c >= p.columns) return;
  const uint row = part * p.chunk, end = min(row + p.chunk, p.rows);
  float sum = sum_down(NARROW_ELEMENTS, p.x, row * p.columns + c, p.columns, end - row);
  uint to = part * p.columns + c;
  if (ACCUMULATE) sum += p.y.v[to];
  p.y.v[to] = sum;
}
