// What the kernels by uniform addresses share: a workgroup of one subgroup advances `rows` batch
// entries, a block of units after the other, a pair of units for each lane. Weights are arranged so
// that of a block's columns the even ones come first; what they are multiplied by are numbers that
// an earlier step has stored.
#extension GL_KHR_shader_subgroup_basic : require
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/pairs.glsl"
#include "common/uniform.glsl"
#include "gru/contract.h"

FT_CONSTANTS(gru_uniform)

const uint LANES = gl_WorkGroupSize.x, BLOCK = 2 * LANES, WIDE = 3 * hidden;
const uint TOGETHER = GRU_TOGETHER;

uint entry_of(uint row, uint batch) { return min(gl_WorkGroupID.x * rows + row, batch - 1); }
bool has_row(uint row, uint batch) { return gl_WorkGroupID.x * rows + row < batch; }

// A column of each lane from element `first`, a constant, after w on.
float weights_at(F32 w, const uint first) {
  return own_of(w, first, first + LANES - 1, gl_SubgroupInvocationID);
}

vec2 load_block(F32 t, uint at, const uint first) {
  return own_pair(after(t, at), first, gl_SubgroupInvocationID);
}

void store_block(F32 t, uint at, const uint first, vec2 x) {
  store_two(false, after(t, at), first / 2 + gl_SubgroupInvocationID, x);
}
