// Tensors of the kernel's element type (//@types), one element or four at a time, as floats.
// Results are rounded to nearest, ties to even, by integers, so that all devices round alike.
// Include common/types.glsl first.
#if FT_F16 || FT_BF16
#extension GL_EXT_shader_16bit_storage : require
#include "common/half.glsl"

const uint ELEMENT_BYTES = 2;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Elements { uint16_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Elements4 { uvec2 v[]; };

// Two elements of a word. What is no normal number in 16 bits may become 0 on the way.
vec2 element_pair(uint word) {
#if FT_F16
  return unpackHalf2x16(word);
#else
  return half_unpack(word);
#endif
}

float load_element(Elements t, uint i) { return element_pair(uint(t.v[i])).x; }
void store_element(Elements t, uint i, float x) { t.v[i] = uint16_t(half_narrow(x)); }

// Elements 4 i .. + 3 of a tensor that begins at a whole group of four.
vec4 load_elements4(Elements t, uint i) {
  const uvec2 words = Elements4(uvec2(t)).v[i];
  return vec4(element_pair(words.x), element_pair(words.y));
}
void store_elements4(Elements t, uint i, vec4 x) {
  Elements4 fours = Elements4(uvec2(t));
  fours.v[i] = uvec2(half_pack(x.xy), half_pack(x.zw));
}

// What a float becomes in a tensor.
float rounded_element(float x) { return half_widen(half_narrow(x)); }

#else

const uint ELEMENT_BYTES = 4;
#define Elements F32

float load_element(Elements t, uint i) { return t.v[i]; }
void store_element(Elements t, uint i, float x) { t.v[i] = x; }
vec4 load_elements4(Elements t, uint i) { return by_fours(t).v[i]; }
void store_elements4(Elements t, uint i, vec4 x) {
  F32x4 fours = by_fours(t);
  fours.v[i] = x;
}
float rounded_element(float x) { return x; }

#endif

// From element `elements` on.
Elements advance(Elements base, uint elements) {
  const uint SHIFT = ELEMENT_BYTES / 2; // 2 for 4 bytes, 1 for 2
  const uvec2 address = uvec2(base);
  uint carry;
  const uint low = uaddCarry(address.x, elements << SHIFT, carry);
  return Elements(uvec2(low, address.y + (elements >> (32 - SHIFT)) + carry));
}

bool present_elements(Elements t) { return any(notEqual(uvec2(t), uvec2(0))); }

// A tensor that has the kernel's type where it is `narrow`, and is F32 where it is not.
const bool NARROW_ELEMENTS = ELEMENT_BYTES == 2;

float load_one(const bool narrow, F32 t, uint i) {
  if (narrow) return load_element(Elements(uvec2(t)), i);
  return t.v[i];
}

void store_one(const bool narrow, F32 t, uint i, float x) {
  if (narrow)
    store_element(Elements(uvec2(t)), i, x);
  else
    t.v[i] = x;
}

vec4 load_four(const bool narrow, F32 t, uint i) {
  if (narrow) return load_elements4(Elements(uvec2(t)), i);
  return by_fours(t).v[i];
}

void store_four(const bool narrow, F32 t, uint i, vec4 x) {
  F32x4 fours = by_fours(t);
  if (narrow)
    store_elements4(Elements(uvec2(t)), i, x);
  else
    fours.v[i] = x;
}
