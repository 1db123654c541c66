#version 460
// A value computed in a loop is used behind it, where invocations left the loop at different steps.
#include "drivers/module.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x;
  uint i = lane % 4;
  float sum = 0;
  do {
    sum += p.x.v[i];
    i += 4;
  } while (i < p.five);
  p.y.v[lane] = sum; // 0 + 4, 1, 2, 3, 0 + 4, ...
}
