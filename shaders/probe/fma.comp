#version 450
#extension GL_GOOGLE_include_directive : require
//@variant wide -DCHAINS=18
#include "common/types.glsl"
#include "probe/contract.h"

// Measures the peak rate of multiply-adds, x_i += a x_(i+1): CHAINS sums in registers, enough to
// hide the latency of one multiply-add.
//
// This form is that of matrix products: the sum is both an operand and the result, without which
// AMD's RDNA 3 does not issue two multiply-adds at once; and only one operand is the same for all
// lanes, which is as many as older chips of AMD and NVIDIA can read without a move. Since each sum
// depends on its neighbour, no compiler can compute one chain to its end before it begins the next,
// as LLVM does when it lacks registers for all of them, so that the processor waits for each
// multiply-add. Mesa's CPU driver keeps each sum twice in a loop; with the second copies in memory,
// 14 sums fit into 16 vector registers, and 18 are faster with the 32 of AVX-512
// (docs/benchmarks.md has the numbers).
#ifndef CHAINS
#define CHAINS 14
#endif
const uint LINKS = 16; // multiply-adds of each chain per iteration

FT_ARGUMENTS(probe_fma)

void main() {
  const uint id = gl_GlobalInvocationID.x, rounds = p.rounds;
  if (id >= p.count) return;
  const float a = p.a;
  float x[CHAINS];
  [[unroll]] for (uint i = 0; i < CHAINS; i++) x[i] = float(id + i);
  for (uint round = 0; round < rounds; round++) {
    [[unroll]] for (uint link = 0; link < LINKS; link++)
      [[unroll]] for (uint i = 0; i < CHAINS; i++) x[i] = fma(x[(i + 1) % CHAINS], a, x[i]);
  }
  float sum = x[0];
  [[unroll]] for (uint i = 1; i < CHAINS; i++) sum += x[i];
  p.sums.v[id] = sum;
}
