// The most multiply-adds a second that matrix units do: ROWS x COLUMNS chains of matrices in
// registers that do not depend on each other, sum = A B + sum, from ROWS matrices A and, for each
// of two links, COLUMNS matrices B, all of which stay where they are.
//
// Two links, since ANV then need not copy the sums back to where the loop begins with them; other
// matrices B for the second, since a compiler for a CPU, which makes a multiply and an add of each
// multiply-add, could do with one product for both.
//@types f16 bf16
//@kept
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/types.glsl"
#include "common/matrix.glsl"

#include "probe/contract.h"
FT_CONSTANTS(probe_matrix)
#include "common/units.glsl"

FT_ARGUMENTS(probe_matrix)

const uint LINKS = 2; // of each chain between two looks at the counter

// In groups of 8 numbers: the rows of all A, then the columns of all B. Afterwards each subgroup
// has a matrix of its sums there, as floats.
const uint PITCH = MATRIX_K / 8, START_B = ROWS * MATRIX_M * PITCH;
const uint OPERANDS = START_B + LINKS * COLUMNS * MATRIX_N * PITCH;
const uint SUBGROUPS = gl_WorkGroupSize.x / LANES, SUMS = MATRIX_M * MATRIX_N / 4;
shared uvec4 groups[OPERANDS > SUBGROUPS * SUMS ? OPERANDS : SUBGROUPS * SUMS];

// Two numbers of any sign between 1 and 2, all of whose other bits are drawn: where bits change,
// units take more power, and so may clock lower.
uint two_numbers(uint i) {
  i *= 2654435761u;
  i ^= i >> 15;
#if FT_BF16
  return 0x3f803f80u | (i & 0x807f807fu);
#else
  return 0x3c003c00u | (i & 0x83ff83ffu);
#endif
}

void main() {
  const uint own = gl_SubgroupID * SUMS, rounds = p.rounds;
  for (uint i = gl_LocalInvocationID.x; i < OPERANDS; i += gl_WorkGroupSize.x)
    groups[i] = uvec4(two_numbers(4 * i), two_numbers(4 * i + 1), two_numbers(4 * i + 2),
                      two_numbers(4 * i + 3));
  meet();
  Left row[ROWS];
  Right column[LINKS * COLUMNS];
  Sums sum[ROWS * COLUMNS];
  [[unroll]] for (uint i = 0; i < ROWS; i++)
    coopMatLoad(row[i], groups, i * MATRIX_M * PITCH, PITCH, AS_ROWS);
  [[unroll]] for (uint j = 0; j < LINKS * COLUMNS; j++)
    coopMatLoad(column[j], groups, START_B + j * MATRIX_N * PITCH, PITCH, AS_COLUMNS);
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) sum[i] = Sums(0.0);
  for (uint round = 0; round < rounds; round++) {
    [[unroll]] for (uint link = 0; link < LINKS; link++)
      [[unroll]] for (uint i = 0; i < ROWS; i++)
        [[unroll]] for (uint j = 0; j < COLUMNS; j++)
          sum[i * COLUMNS + j] =
              coopMatMulAdd(row[i], column[link * COLUMNS + j], sum[i * COLUMNS + j]);
  }
  float total = 0;
  [[unroll]] for (uint i = 0; i < ROWS * COLUMNS; i++) {
    meet();
    coopMatStore(sum[i], groups, own, MATRIX_N / 4, AS_ROWS);
    meet();
    for (uint q = gl_SubgroupInvocationID; q < SUMS; q += LANES)
      total += dot(uintBitsToFloat(groups[own + q]), vec4(1));
  }
  if (gl_GlobalInvocationID.x < p.count) p.sums.v[gl_GlobalInvocationID.x] = total;
}
