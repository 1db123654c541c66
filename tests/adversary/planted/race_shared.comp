#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: no barrier between one invocation's write and another's read.
shared float kept[32];
void main() {
  const uint i = gl_LocalInvocationID.x;
  kept[i] = p.x.v[i];
#ifndef PLANTED
  barrier();
#endif
  p.y.v[i] = kept[(i + 1) % 32];
}
