// Rows of a whole number of pairs per lane, in the variant "uniform" of kernels that go through
// rows: a workgroup of one subgroup takes a row. Include common/reduce.glsl and common/pairs.glsl
// first.
#include "common/uniform.glsl"

// A lane's pairs: elements i + 2 team_lane() and the next. `columns` is a constant, and so is i.
#define for_pairs(i, columns) [[unroll]] for (uint i = 0; i < columns; i += 2 * team_lanes())

vec2 load_pair(F32 t, uint start, const uint i) {
  return own_pair(after(t, start), i, team_lane());
}

void store_pair(F32 t, uint start, const uint i, vec2 x) {
  store_two(false, after(t, start), i / 2 + team_lane(), x);
}
