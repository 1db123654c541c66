#version 460
// A buffer reference taken for one of another type (OpBitcast of a pointer).
#include "drivers/module.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x;
  p.y.v[lane] = Fours(p.x).v[lane / 4][lane % 4];
}
