#version 460
// One of two buffer references, chosen at run time (OpPhi or OpSelect of pointers).
#include "drivers/module.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x;
  Floats from = p.x;
  if (p.five > 5) from = p.y;
  p.y.v[lane] = from.v[lane];
}
