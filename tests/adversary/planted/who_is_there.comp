#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant) uniform Push { F32 x, y; uint n; } p; // x is read, y is written

// PLANTED: a sum behind a branch that lanes take differently, within one that is not uniform over
// the workgroup: nothing says that the lanes meet again before it.
void main() {
  const uint i = gl_LocalInvocationID.x;
  float sum = 0;
#ifdef PLANTED
  if (gl_SubgroupID == 0)
#endif
  {
    float mine = p.x.v[i];
    if (mine > 0) mine = p.x.v[(i + 1) % 32];
    sum = subgroupAdd(mine);
  }
  p.y.v[i] = sum;
}
