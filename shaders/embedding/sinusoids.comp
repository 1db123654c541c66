#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "embedding/contract.h"

// y[b, n, c] = x[b, n, c] + sin or cos (n * base^(-2 floor(c/2) / C)), base 10000, sine for even c
// (Vaswani et al. 2017, "Attention is all you need", section 3.5).
//
// A 32-bit float cannot hold n times a frequency accurately enough for long sequences, and sin()
// must be accurate only in a small range. So phases are in turns, as fractions of 2^64: the product
// wraps around exactly, and the polynomial covers an eighth of a turn in each direction.
FT_CONSTANTS(embedding_sinusoids)
FT_ARGUMENTS(embedding_sinusoids)

// High 64 bits (low, high) of a * b, too small by at most 2 units.
uvec2 multiply_fractions(uvec2 a, uvec2 b) {
  uvec2 r, cross_a, cross_b;
  umulExtended(a.y, b.y, r.y, r.x);
  umulExtended(a.x, b.y, cross_a.y, cross_a.x);
  umulExtended(a.y, b.x, cross_b.y, cross_b.x);
  uint carry;
  r.x = uaddCarry(r.x, cross_a.y, carry);
  r.y += carry;
  r.x = uaddCarry(r.x, cross_b.y, carry);
  r.y += carry;
  return r;
}

// sin of turn / 2^32 turns, to about 1e-7: minimax polynomials on [-pi/4, pi/4].
float sine_of_turn(uint turn) {
  const uint quadrant = (turn + 0x20000000u) >> 30;
  const float a = float(int(turn - (quadrant << 30))) * 1.4629180792671596e-9; // 2 pi / 2^32
  const float a2 = a * a;
  const float s = a + a * a2 * (-0.16666654611 + a2 * (8.3321608736e-3 - 1.9515295891e-4 * a2));
  const float c =
      1 - 0.5 * a2 +
      a2 * a2 * (4.166664568298827e-2 + a2 * (-1.388731625493765e-3 + 2.443315711809948e-5 * a2));
  const float r = (quadrant & 1u) != 0 ? c : s;
  return (quadrant & 2u) != 0 ? -r : r;
}

// The value for token n at a frequency in turns per token: sine for even columns, cosine for odd
// ones.
float sinusoid(uint n, uint column, uvec2 frequency) {
  uint turn, low;
  umulExtended(n, frequency.x, turn, low);
  turn += n * frequency.y;
  if ((column & 1u) != 0) turn += 0x40000000u; // cos a = sin(a + a quarter)
  return sine_of_turn(turn);
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= p.period || gl_WorkGroupID.y >= p.batch) return;
  const uint step = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  do {
    const uint n = i / columns;
    const uint column = i - n * columns;
    // Two words, not a uvec2, which lavapipe of Mesa 26 cannot carry around a loop for subgroups of
    // 16: it overruns its stack.
    uint low = 0x9391054au, high = 0x28be60dbu; // 1 / (2 pi)
    [[unroll]] for (uint j = 0; j < EMBEDDING_FREQUENCY_BITS; ++j)
      if (((column >> (j + 1)) & 1u) != 0) {
        const uvec2 product = multiply_fractions(
            uvec2(low, high), uvec2(p.power[2 * j], p.power[2 * j + 1]));
        low = product.x;
        high = product.y;
      }
    const uvec2 frequency = uvec2(low, high);
    float position = shifted ? 0 : sinusoid(n, column, frequency);
    uint b = gl_WorkGroupID.y;
    do {
      if (shifted) position = sinusoid(n + uint(p.first.v[b]), column, frequency);
      p.y.v[b * p.period + i] = p.x.v[b * p.period + i] + position;
      b += gl_NumWorkGroups.y;
    } while (b < p.batch);
    i += step;
  } while (i < p.period);
}
