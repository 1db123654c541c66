// Two 32-bit words as one of 64, the first one low. Not by pack64, which lavapipe of Mesa 26 cannot
// compile for subgroups of 16: it overruns its stack.
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
uint64_t joined(uvec2 x) { return uint64_t(x.x) | uint64_t(x.y) << 32; }
