// 16-bit floats, two in a word, converted by their bits: no device needs a feature for them, and
// every device rounds alike, to nearest, ties to even. FT_F16 or FT_BF16 says which they are.
uint half_round(uint bits, uint dropped) {
  return (bits + (1u << (dropped - 1u)) - 1u + (bits >> dropped & 1u)) >> dropped;
}

#if FT_F16

float half_widen(uint h) {
  const uint sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, rest = h & 1023u;
  if (exponent == 31u) return uintBitsToFloat(sign | 0x7f800000u | rest << 13);
  if (exponent != 0u) return uintBitsToFloat(sign | (exponent + 112u) << 23 | rest << 13);
  return uintBitsToFloat(sign | floatBitsToUint(float(rest) * 5.9604644775390625e-8)); // 2^-24
}

uint half_narrow(float x) {
  const uint bits = floatBitsToUint(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return sign | 0x7e00u;
  if (size >= 0x477ff000u) return sign | 0x7c00u; // rounds beyond 65504
  if (size >= 0x38800000u) return sign | half_round(size - 0x38000000u, 13u);
  if (size < 0x33000000u) return sign; // below half of the least, 2^-24
  return sign | half_round((size & 0x7fffffu) | 0x800000u, 126u - (size >> 23));
}

#else

float half_widen(uint h) { return uintBitsToFloat(h << 16); }

uint half_narrow(float x) {
  const uint bits = floatBitsToUint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u; // a quiet NaN
  return half_round(bits, 16u);
}

#endif

vec2 half_unpack(uint word) { return vec2(half_widen(word & 0xffffu), half_widen(word >> 16)); }
uint half_pack(vec2 pair) { return half_narrow(pair.x) | half_narrow(pair.y) << 16; }
