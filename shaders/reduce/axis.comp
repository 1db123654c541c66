#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "reduce/contract.h"

// Sums along the middle axis of [outer, n, inner], of x or of x * z, cut into interleaved parts:
// y[o, part, k] = scale * sum of x[o, i, k] over i = part, part + parts, .., in order, + offset. Or
// such parts' sum, of `together` of them. Neighbouring invocations read neighbouring elements,
// whichever axis it is.
FT_VALUES(reduce_fours)
FT_CONSTANTS(reduce_axis)
FT_ARGUMENTS(reduce_axis)

vec4 group(uint i) {
  const vec4 x = by_fours(p.x).v[i];
  return product ? x * by_fours(p.z).v[i] : x;
}

vec4 sum_of(uint at, uint part, uint parts) {
  vec4 sum = vec4(0);
  uint i = part;
  if (i >= p.n) return sum;
  do {
    if (FOURS == AXIS_ACROSS) {
      sum += group(at);
    } else if (FOURS == AXIS_ALONG) {
      const vec4 terms = group(at / 4);
      [[unroll]] for (uint k = 0; k < 4; ++k) sum.x += terms[k];
    } else {
      sum.x += product ? p.x.v[at] * p.z.v[at] : p.x.v[at];
    }
    at += FOURS == AXIS_ALONG ? 4 : parts * p.inner;
    i += FOURS == AXIS_ALONG ? 4 : parts;
  } while (i < p.n);
  return sum;
}

void put(uint to, vec4 sum) {
  precise vec4 r = sum * p.scale + p.offset;
  if (FOURS == AXIS_ACROSS) {
    F32x4 y = by_fours(p.y);
    if (accumulate) r += y.v[to];
    y.v[to] = r;
  } else {
    if (accumulate) r.x += p.y.v[to];
    p.y.v[to] = r.x;
  }
}

shared vec4 partial[SHARING > 1 ? gl_WorkGroupSize.x : 1];

// Each of SHARING invocations takes a part, and the first of them adds up the parts, in order.
void share_sums() {
  const uint across = gl_WorkGroupSize.x / SHARING, id = gl_LocalInvocationID.x;
  const uint i = p.inner == 1 ? id / SHARING : id % across;
  const uint part = p.inner == 1 ? id % SHARING : id / across;
  for (uint first = gl_WorkGroupID.x * across; first < p.count;
       first += gl_NumWorkGroups.x * across) {
    const uint to = first + i;
    vec4 sum = vec4(0);
    if (to < p.count && part < p.together)
      sum = sum_of((to / p.inner * p.n + part) * p.inner + to % p.inner, part, p.together);
    partial[part * across + i] = sum;
    barrier();
    if (part == 0 && to < p.count) {
      for (uint k = 1; k < p.together; ++k) sum += partial[k * across + i];
      put(to, sum);
    }
    barrier();
  }
}

void main() {
  if (SHARING > 1) {
    share_sums();
    return;
  }
  uint to = gl_GlobalInvocationID.x;
  if (to >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint row = to / p.inner, part = row % p.parts;
    const uint at = (row / p.parts * p.n + part) * p.inner + to % p.inner;
    vec4 sum = sum_of(at, part, p.parts * p.together);
    for (uint k = 1; k < p.together; ++k) sum += sum_of(at + k * p.inner, k, p.together);
    put(to, sum);
    to += step;
  } while (to < p.count);
}
