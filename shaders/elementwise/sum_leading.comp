#version 450
#extension GL_GOOGLE_include_directive : require
//@types f32 f16 bf16
//@variant f32:uniform -DFILTRA_ROW_UNIFORM=1
#include "common/types.glsl"
#include "common/elements.glsl"
#include "common/columns.glsl"
#include "elementwise/contract.h"

// y[i] = sum over s of x[s, i], in order; y is at least as long as a slice, and zero past the
// slice's length. y has the kernel's element type. If y is short and there are many slices,
// SUM_SHARING invocations each sum a part of the slices, and the first of them adds up the parts,
// in order.
FT_CONSTANTS(elementwise_sum_leading)
FT_ARGUMENTS(elementwise_sum_leading)

#if FILTRA_ROW_UNIFORM

#extension GL_KHR_shader_subgroup_basic : require
#include "common/pairs.glsl"
#include "common/uniform.glsl"

// Blocks of y, a pair for each lane, by addresses that all lanes share.
const uint BLOCK = 2 * gl_WorkGroupSize.x;

bool in_pairs(F32 t) { return uvec2(t).x % 8 == 0; }

bool in_blocks(uint k, F32 x, F32 y) {
  return p.slice[k] % BLOCK == 0 && p.count[k] == p.slice[k] && in_pairs(x) && in_pairs(y);
}

// As sum_down, of a pair for each lane.
vec2 sum_block(F32 x, uint slice, uint slices) {
  const uint lane = gl_SubgroupInvocationID;
  vec2 sum = vec2(0);
  uint s = 0;
  do {
    [[unroll]] for (uint i = 0; i < IN_FLIGHT; ++i) {
      const vec2 next = own_pair(after(x, min(s + i, slices - 1) * slice), 0, lane);
      if (s + i < slices) sum += next;
    }
    s += IN_FLIGHT;
  } while (s < slices);
  return sum;
}

void sum_blocks(uint k, F32 x, F32 y, uint begin, uint end) {
  const uint lane = gl_SubgroupInvocationID;
  for (uint first = (gl_WorkGroupID.x - begin) * BLOCK; first < p.count[k];
       first += (end - begin) * BLOCK) {
    vec2 sum = sum_block(after(x, first), p.slice[k], p.slices[k]);
    F32 to = after(y, first);
    if ((ACCUMULATE >> k & 1) != 0) sum += own_pair(to, 0, lane);
    store_two(false, to, lane, sum);
  }
}

#endif

shared float parts[SHARED != 0 ? gl_WorkGroupSize.x : 1];

// Computes sum k by workgroups `begin` to `end`.
void sum_slices(uint k, F32 x, Elements y, uint begin, uint end) {
#if FILTRA_ROW_UNIFORM
  if (in_blocks(k, x, y)) {
    sum_blocks(k, x, y, begin, end);
    return;
  }
#endif
  const bool accumulate = (ACCUMULATE >> k & 1) != 0, is_shared = (SHARED >> k & 1) != 0;
  const uint invocations = is_shared ? SUM_SHARING : 1, across = gl_WorkGroupSize.x / invocations;
  const uint i_first = gl_LocalInvocationID.x % across, part = gl_LocalInvocationID.x / across;
  const uint length = (p.slices[k] + invocations - 1) / invocations, slice = part * length;
  uint first = (gl_WorkGroupID.x - begin) * across;
  if (first >= p.count[k]) return;
  do {
    const uint i = first + i_first;
    float sum = 0;
    if (i < p.slice[k] && slice < p.slices[k])
      sum = sum_down(false, x, slice * p.slice[k] + i, p.slice[k],
                     min(length, p.slices[k] - slice));
    if (is_shared) {
      parts[gl_LocalInvocationID.x] = sum;
      barrier();
      if (part == 0)
        [[unroll]] for (uint d = 1; d < SUM_SHARING; ++d) sum += parts[d * across + i_first];
      barrier();
    }
    if (part == 0 && i < p.count[k]) {
      if (accumulate) sum += load_element(y, i);
      store_element(y, i, sum);
    }
    first += (end - begin) * across;
  } while (first < p.count[k]);
}

void main() {
  const uint group = gl_WorkGroupID.x, groups = gl_NumWorkGroups.x;
  if (COUNT == 1 || group < p.end[0])
    sum_slices(0, p.x0, p.y0, 0, COUNT == 1 ? groups : p.end[0]);
  else if (COUNT == 2 || group < p.end[1])
    sum_slices(1, p.x1, p.y1, p.end[0], COUNT == 2 ? groups : p.end[1]);
  else if (COUNT == 3 || group < p.end[2])
    sum_slices(2, p.x2, p.y2, p.end[1], COUNT == 3 ? groups : p.end[2]);
  else
    sum_slices(3, p.x3, p.y3, p.end[2], groups);
}
