// The columns c = head * D + d of an invocation of the column kernels: one, or in the variant
// "uniform" two adjacent ones, loaded by an address that all lanes share; the workgroup's columns
// are then of one head. What there is of each column is a vec2, whose y only "uniform" uses.
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/each.glsl"
#include "agf/contract.h"
#if FILTRA_ROW_UNIFORM
#include "common/reduce.glsl"
#include "common/uniform_row.glsl"
#else
const float lowest_float = -3.402823466e38; // as in common/reduce.glsl, for any device
#endif

// The invocation's first column; in "uniform" that of the workgroup.
uint first_column() {
#if FILTRA_ROW_UNIFORM
  return gl_WorkGroupID.x * EACH * team_lanes();
#else
  return gl_GlobalInvocationID.x;
#endif
}

// Of a row in which element `at` is of the first column; `narrow` as in load_one.
vec2 load_own(const bool narrow, F32 t, uint at) {
#if FILTRA_ROW_UNIFORM
  return load_pair(t, at, 0);
#else
  return load_each(narrow, t, at);
#endif
}

void store_own(const bool narrow, F32 t, uint at, vec2 x) {
#if FILTRA_ROW_UNIFORM
  store_pair(t, at, 0, x);
#else
  store_each(narrow, t, at, x);
#endif
}

vec2 load_own(Elements t, uint at) { return load_own(NARROW_ELEMENTS, F32(uvec2(t)), at); }
void store_own(Elements t, uint at, vec2 x) { store_own(NARROW_ELEMENTS, F32(uvec2(t)), at, x); }
