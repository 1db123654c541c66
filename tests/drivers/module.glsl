// What the modules of this folder share: x to read, y to write, 64 of each, one workgroup.
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430) buffer Floats { float v[]; };
layout(buffer_reference, std430) buffer Fours { vec4 v[]; };
struct Arguments {
  Floats x, y;
  uint five;
};
layout(push_constant) uniform Push { Arguments given; };
#define p given
