// Tensors are buffer references in push constants; bounds are every kernel's own business.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer U32 { uint v[]; };

// The same floats four at a time. The address goes by way of integers, since a driver
// (SwiftShader) knows no cast from one reference to another.
F32x4 by_fours(F32 t) { return F32x4(uvec2(t)); }

bool present(F32 t) { return any(notEqual(uvec2(t), uvec2(0))); }
