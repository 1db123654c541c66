#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: an index that passes 2^32 and comes out small.
void main() {
  const uint i = gl_LocalInvocationID.x;
#ifdef PLANTED
  const uint row = p.n * 134217728; // 32 * 2^27 = 2^32
#else
  const uint row = p.n * 0;
#endif
  p.y.v[i] = p.x.v[row + i];
}
