#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: reads what the call declares only to be written.
void main() {
  const uint i = gl_LocalInvocationID.x;
  p.y.v[i] = p.x.v[i];
#ifdef PLANTED
  p.y.v[i] += 1;
#endif
}
