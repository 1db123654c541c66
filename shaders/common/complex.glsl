// Complex numbers, real and imaginary part side by side. Include common/types.glsl first.
// On CPU drivers (FILTRA_CPU) a load is a gather, which costs the same for 8 bytes as for 4.
#if FILTRA_ROW_UNIFORM
#include "common/elements.glsl"
#include "common/pairs.glsl"
#include "common/uniform.glsl"
#define Complex Pairs
#elif defined(FILTRA_CPU)
#include "common/word.glsl"
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Complex { uint64_t v[]; };
#endif
#ifdef FILTRA_CPU
vec2 read(Complex t, uint i) { return uintBitsToFloat(unpack32(t.v[i])); }
void write(Complex t, uint i, vec2 z) { t.v[i] = joined(floatBitsToUint(z)); }
#else
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Complex { vec2 v[]; };
vec2 read(Complex t, uint i) { return t.v[i]; }
void write(Complex t, uint i, vec2 z) { t.v[i] = z; }
#endif

vec2 conjugate(vec2 a) { return vec2(a.x, -a.y); }
vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
// a conj(b)
vec2 times_conjugate(vec2 a, vec2 b) { return vec2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y); }
