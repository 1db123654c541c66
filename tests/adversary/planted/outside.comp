#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: one element behind the end.
void main() {
  const uint i = gl_LocalInvocationID.x;
#ifdef PLANTED
  p.y.v[i] = p.x.v[i + 1];
#else
  p.y.v[i] = p.x.v[min(i + 1, p.n - 1)];
#endif
}
