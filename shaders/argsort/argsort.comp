#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "argsort/contract.h"

// Sorts each row of x [rows, n] in descending order; equal elements keep their order, and elements
// whose mask is not above 0 come last. Each element counts the elements that precede it.
FT_CONSTANTS(argsort_argsort)
FT_ARGUMENTS(argsort_argsort)

// An integer key that increases with x. All invocations compare the same keys, so places form a
// permutation even if x holds NaN.
uint key(uint i) {
  if (masked && !(p.mask.v[i] > 0.0)) return 0;
  const float x = p.x.v[i];
  const uint bits = x == 0.0 ? 0 : floatBitsToUint(x);
  return max((bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u, 1u);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.count) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint first = i - i % p.n, mine = key(i);
    uint place = first;
    for (uint k = first; k < first + p.n; k++) {
      const uint other = key(k);
      if (other > mine || (other == mine && k < i)) place++;
    }
    p.y.v[back ? i : place] = back ? place : i;
    i += step;
  } while (i < p.count);
}
