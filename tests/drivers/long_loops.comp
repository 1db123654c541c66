#version 460
// Two loops, one within the other, have 70,000 turns in all; 7 is what the compiler cannot know.
#include "drivers/module.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x, outer = p.five + 2;
  float sum = 0;
  for (uint i = 0; i < outer; ++i) {
    for (uint j = 0; j < 2000 * p.five; ++j) sum += p.x.v[(i + j) % p.five] * 0 + 1;
  }
  p.y.v[lane] = sum;
}
