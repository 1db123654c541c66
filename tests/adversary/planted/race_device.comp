#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: every workgroup writes the same element.
void main() {
  const uint i = gl_GlobalInvocationID.x;
#ifdef PLANTED
  p.y.v[i % 32] = p.x.v[i % 32];
#else
  p.y.v[i] = p.x.v[i % 32];
#endif
}
