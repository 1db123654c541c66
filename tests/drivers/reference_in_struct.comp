#version 460
// A structure of buffer references copied as a whole, and one reference of the copy used
// (OpCopyLogical, then OpCompositeExtract of a pointer).
#include "drivers/module.glsl"

Arguments copy;

void main() {
  const uint lane = gl_LocalInvocationID.x;
  copy = given;
  if (lane < 64) copy.y.v[lane] = copy.x.v[lane];
}
