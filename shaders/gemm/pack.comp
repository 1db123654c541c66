#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/pairs.glsl"
#include "gemm/contract.h"

// Copies a matrix x of k lines and n columns, any strides, into F32 panels of WIDTH columns for
// s64: element (k,i) of panel j lies at (j*K + k)*WIDTH + i. Columns past n become 0. Grid:
// elements or pairs of a panel x panels.
FT_CONSTANTS(gemm_pack)
FT_ARGUMENTS(gemm_pack)

vec2 pair_at(uint i) { return load_two(NARROW_ELEMENTS, F32(uvec2(p.x)), i / 2); }

// Element or pair i of the panel that begins at column `first`.
void copy(uint first, uint i) {
  const uint across = ALONG_LINE ? WIDTH / 2 : WIDTH;
  const uint k = i / across * (ALONG_COLUMN ? 2 : 1), c = i % across * (ALONG_LINE ? 2 : 1);
  const uint n = first + c, from = k * p.line + n * p.column, to = first * p.k + k * WIDTH + c;
  if (ALONG_LINE) {
    store_two(false, p.y, to / 2, n < p.n ? pair_at(from) : vec2(0));
  } else if (ALONG_COLUMN) {
    const vec2 x = n < p.n ? pair_at(from) : vec2(0);
    p.y.v[to] = x.x;
    p.y.v[to + WIDTH] = x.y;
  } else {
    p.y.v[to] = n < p.n ? load_element(p.x, from) : 0;
  }
}

void main() {
  if (gl_GlobalInvocationID.x >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  uint panel = gl_WorkGroupID.y;
  do {
    uint i = gl_GlobalInvocationID.x;
    do {
      copy(panel * WIDTH, i);
      i += step;
    } while (i < p.count);
    panel += gl_NumWorkGroups.y;
  } while (panel < p.panels);
}
