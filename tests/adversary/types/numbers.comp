#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_subgroup_extended_types_float16 : require
#extension GL_EXT_shader_subgroup_extended_types_int16 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer U32 { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 2) buffer F16 { float16_t v[]; };
layout(buffer_reference, std430, buffer_reference_align = 1) buffer I8 { int8_t v[]; };
layout(push_constant) uniform Push { F32 x; U32 y; F16 halves; I8 bytes; } p;

shared float16_t halves[32];
shared int8_t bytes[32];
const uint RESULTS = 28;
uint at = 0;

void give(uint word) {
  p.y.v[gl_LocalInvocationID.x * RESULTS + at++] = word;
}
void give(float16_t x) {
  give(floatBitsToUint(float(x)));
}
void give(double x) {
  const uvec2 words = unpackDouble2x32(x);
  give(words.x);
  give(words.y);
}

// What test_types.c computes in C.
void main() {
  const uint i = gl_LocalInvocationID.x, next = (i + 1) % 32;
  const float a = p.x.v[i], b = p.x.v[next];
  const float16_t h = float16_t(a), g = float16_t(b);
  give(h + g);
  give(h * g);
  give(h / g);
  give(sqrt(abs(h)));
  give(float16_t(100000.0 * a));
  give(float16_t(1.0e-5 * a));                                 // a denormal number
  give(float16_t(1.0LF + 0.00048828125LF + 9.31322574615e-10LF * double(i))); // rounded once
  const uint packed = packFloat2x16(f16vec2(h, g));
  give(packed);
  const vec2 unpacked = unpackHalf2x16(packed);
  give(floatBitsToUint(unpacked.x));
  give(floatBitsToUint(unpacked.y));

  const int16_t s = int16_t(a * 20000.0), t = int16_t(b * 20000.0);
  give(uint(int(s * t)));
  give(uint(int(s / t)));
  give(uint(int(s >> 3s)));
  give(s < t ? 1u : 0u);
  give(uint(int(min(s, t))));
  const uint8_t c = uint8_t(a * 100.0 + 128.0), d = uint8_t(b * 100.0 + 128.0);
  give(uint(c * d));
  give(uint(int(int8_t(c))));
  give(pack32(u8vec4(c, d, c, d)));
  give(double(a) * double(b) + 1.0e-9LF);
  give(floatBitsToUint(float(int64_t(a * 1.0e6) * 16777217l)));

  halves[i] = h; // neighbours share a word, and that is no race
  bytes[i] = int8_t(s);
#ifndef PLANTED
  barrier();
#endif
  give(halves[next]);
  give(uint(int(bytes[next])));
  p.halves.v[i] = -h;
  p.bytes.v[i] = int8_t(s);

  give(subgroupMin(h));
  give(subgroupMax(s) < s ? 1u : 0u);
  const int64_t far = subgroupShuffleXor(subgroupShuffleXor(int64_t(s) << 40, 1), 1);
  give(uint(far >> 32));
  give(uint(subgroupAdd(int64_t(i) << 33) >> 33));
  give(subgroupAdd(double(i)) == double(subgroupAdd(i)) ? 1u : 0u);
}
