#version 450
#extension GL_GOOGLE_include_directive : require
//@variant plain -DPLAIN=1
#include "common/types.glsl"
#include "fused/contract.h"

// Elementwise steps on short rows, and sums along these: each invocation has an element, or a group
// of four, of one of a workgroup's rows.
FT_CONSTANTS(fused_elements)
FT_ARGUMENTS(fused_elements)
#define ROWS 1
bool in_row; // whether the invocation has an element: the last of a workgroup may have none
#include "fused/steps.glsl"

shared vec4 terms[gl_WorkGroupSize.x];

// Adds up the elements in order: the same sum in all invocations of a row.
vec4 row_sum(vec4 x, float scale, float offset) {
  const uint length = p.shape[2], id = gl_LocalInvocationID.x, first = id - id % length;
  barrier();
  terms[id] = x;
  barrier();
  float sum = 0;
  for (uint k = 0; k < length && in_row; k++) {
    const vec4 term = terms[first + k];
    sum += term.x;
    if (WHOLE) [[unroll]] for (uint c = 1; c < 4; c++) sum += term[c];
  }
  precise float y = sum * scale + offset;
  return vec4(y);
}

void main() {
  const uint length = p.shape[2], rows = p.count / length, together = gl_WorkGroupSize.x / length;
  const uint own = gl_LocalInvocationID.x / length, column = gl_LocalInvocationID.x % length;
  for (uint first = gl_WorkGroupID.x * together; first < rows;
       first += gl_NumWorkGroups.x * together) {
    const uint row = first + own;
    in_row = own < together && row < rows;
    const uint i = in_row ? row * length + column : column;
    compute(i, coordinates(i));
  }
}
