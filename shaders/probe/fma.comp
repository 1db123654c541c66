#version 450
#extension GL_GOOGLE_include_directive : require
//@variant scalar -DNUMBER=float -DCHAINS=12
#include "common/types.glsl"

// The most multiply-adds a second that the device does: chains in registers that do not depend on
// each other, enough to hide what one takes. Every link is x = a x + b, which tends to b / (1 - a).
#ifndef NUMBER
#define NUMBER vec4
#define CHAINS 3
#endif
const uint LINKS = 16; // of each chain between two looks at the counter

layout(push_constant) uniform Push {
  F32 sums; // one for each invocation, so that nothing can be left out
  uint count, rounds;
  float a, b;
} p;

float total(float x) { return x; }
float total(vec4 x) { return x.x + x.y + x.z + x.w; }

void main() {
  const uint id = gl_GlobalInvocationID.x, rounds = p.rounds;
  if (id >= p.count) return;
  const NUMBER a = NUMBER(p.a), b = NUMBER(p.b);
  NUMBER x[CHAINS];
  [[unroll]] for (uint i = 0; i < CHAINS; i++) x[i] = NUMBER(float(id + i));
  for (uint round = 0; round < rounds; round++) {
    [[unroll]] for (uint link = 0; link < LINKS; link++)
      [[unroll]] for (uint i = 0; i < CHAINS; i++) x[i] = fma(x[i], a, b);
  }
  NUMBER sum = x[0];
  [[unroll]] for (uint i = 1; i < CHAINS; i++) sum += x[i];
  p.sums.v[id] = total(sum);
}
