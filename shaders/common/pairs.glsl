// Accesses of two neighbouring elements at once, for CPU drivers, where a load is a gather and a
// store a scatter that take as long for 8 bytes as for 4. Include common/elements.glsl first.
#include "common/word.glsl"

layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { uint64_t v[]; };

// Elements 2 i and 2 i + 1 of a tensor that is aligned to pairs; `narrow` as in load_one: the
// tensor has the kernel's type, else F32.
vec2 load_two(const bool narrow, F32 t, uint i) {
#if FT_F16 || FT_BF16
  if (narrow) return element_pair(U32(uvec2(t)).v[i]);
#endif
  return uintBitsToFloat(unpack32(Pairs(t).v[i]));
}

void store_two(const bool narrow, F32 t, uint i, vec2 x) {
#if FT_F16 || FT_BF16
  if (narrow) {
    U32(uvec2(t)).v[i] = half_pack(x);
    return;
  }
#endif
  Pairs(t).v[i] = joined(floatBitsToUint(x));
}
