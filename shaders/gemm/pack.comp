#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/pairs.glsl"
#include "gemm/contract.h"

// Copies matrices x of k lines and n columns, any strides, into F32 panels of WIDTH columns for
// s64: element (k,i) of panel j lies at (j*K + k)*WIDTH + i. The panels of a batch entry follow
// those of the one before. Columns past n become 0. With LANES, of each 2 LANES columns the even
// ones come first. Grid: elements or pairs of a panel x panels.
FT_VALUES(gemm_pack_block)
FT_CONSTANTS(gemm_pack)
FT_ARGUMENTS(gemm_pack)

// Where column c of a panel lies in a line.
uint placed(uint c) {
  if (LANES == 0) return c;
  const uint in_block = c % (2 * LANES);
  return c - in_block + in_block % 2 * LANES + in_block / 2;
}

vec2 pair_at(uint i) { return load_two(NARROW_ELEMENTS, F32(uvec2(p.x)), i / 2); }

// Element or pair i of a panel that begins at column `first` of the matrix at element x_first.
// Pairs along a column go by blocks of neighbours in memory: columns a multiple of 1 KiB apart
// evict each other from the cache.
void copy(uint panel, uint x_first, uint first, uint i) {
  const uint across = ALONG_LINE ? WIDTH / 2 : WIDTH;
  uint k = i / across, c = i % across * (ALONG_LINE ? 2 : 1);
  if (ALONG_COLUMN) {
    k = 2 * (i / (PACK_BLOCK * WIDTH) * PACK_BLOCK + i % PACK_BLOCK);
    c = i / PACK_BLOCK % WIDTH;
    if (k >= p.k) return;
  }
  const uint n = first + c, from = x_first + k * p.line + n * p.column;
  const uint to = (panel * p.k + k) * WIDTH + placed(c);
  if (ALONG_LINE) {
    const vec2 x = n < p.n ? pair_at(from) : vec2(0);
    if (LANES == 0) {
      store_two(false, p.y, to / 2, x);
    } else {
      p.y.v[to] = x.x;
      p.y.v[to + LANES] = x.y;
    }
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
    const uint entry = panel / p.across, outer = entry / p.inner;
    const uint x_first = outer * p.x_outer + (entry - outer * p.inner) * p.x_inner;
    const uint first = (panel - entry * p.across) * WIDTH;
    uint i = gl_GlobalInvocationID.x;
    do {
      copy(panel, x_first, first, i);
      i += step;
    } while (i < p.count);
    panel += gl_NumWorkGroups.y;
  } while (panel < p.panels);
}
