// What kernels for matrix units share: their numbers, and squares of 4 x 4 of them on the way to
// shared memory. Their sources are kept compiled (//@kept). Include common/types.glsl first.
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#if FT_BF16
#extension GL_EXT_bfloat16 : require
#define Number bfloat16_t
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define Number float16_t
#endif

// A barrier that says for all of shared memory what accesses would otherwise say one by one
// (ft_module_relaxed).
void meet() {
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}

#if FT_BF16
uint low_halves(uint a, uint b) { return (a & 0xffffu) | b << 16; }
uint high_halves(uint a, uint b) { return a >> 16 | (b & 0xffff0000u); }
#else  // AMD's compiler takes half as many instructions for this
uint low_halves(uint a, uint b) {
  return packFloat2x16(f16vec2(unpackFloat2x16(a).x, unpackFloat2x16(b).x));
}
uint high_halves(uint a, uint b) {
  return packFloat2x16(f16vec2(unpackFloat2x16(a).y, unpackFloat2x16(b).y));
}
#endif

// Four rows of four numbers, as columns.
uvec2[4] turned(uvec2 a, uvec2 b, uvec2 c, uvec2 d) {
  return uvec2[4](uvec2(low_halves(a.x, b.x), low_halves(c.x, d.x)),
                  uvec2(high_halves(a.x, b.x), high_halves(c.x, d.x)),
                  uvec2(low_halves(a.y, b.y), low_halves(c.y, d.y)),
                  uvec2(high_halves(a.y, b.y), high_halves(c.y, d.y)));
}
