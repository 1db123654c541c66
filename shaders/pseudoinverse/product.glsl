// Products of small square matrices by a workgroup: each invocation has a tile of four rows and
// four columns, in registers or at its place in memory, where no other invocation reads or writes.
// Both operands of a product are in shared memory, with the axis that is summed along outermost.
// What is after the end of a matrix reaches only what is after the end of a product.
#include "common/types.glsl"
#include "pseudoinverse/contract.h"

const uint TILE = PSEUDOINVERSE_TILE, ACROSS = PSEUDOINVERSE_ACROSS;

struct Tile {
  vec4 row[TILE];
};

shared vec4 left[PSEUDOINVERSE_MOST * ACROSS], right[PSEUDOINVERSE_MOST * ACROSS];

Tile zeros() {
  Tile x;
  [[unroll]] for (uint r = 0; r < TILE; r++) x.row[r] = vec4(0);
  return x;
}

uint down() { return gl_LocalInvocationID.x / ACROSS; }
uint across() { return gl_LocalInvocationID.x % ACROSS; }

Tile transposed(Tile x) {
  Tile y;
  [[unroll]] for (uint r = 0; r < TILE; r++)
    [[unroll]] for (uint c = 0; c < TILE; c++) y.row[r][c] = x.row[c][r];
  return y;
}

// x + scale y
Tile sum_of(Tile x, float scale, Tile y) {
  [[unroll]] for (uint r = 0; r < TILE; r++) x.row[r] += scale * y.row[r];
  return x;
}

Tile scaled(float scale, Tile x) {
  [[unroll]] for (uint r = 0; r < TILE; r++) x.row[r] *= scale;
  return x;
}

// The same places of the operand, and those of its transposed.
void put_left(Tile x) {
  [[unroll]] for (uint r = 0; r < TILE; r++)
    left[(down() * TILE + r) * ACROSS + across()] = x.row[r];
}
void put_left_transposed(Tile x) {
  x = transposed(x);
  [[unroll]] for (uint c = 0; c < TILE; c++)
    left[(across() * TILE + c) * ACROSS + down()] = x.row[c];
}
void put_right(Tile x) {
  [[unroll]] for (uint r = 0; r < TILE; r++)
    right[(down() * TILE + r) * ACROSS + across()] = x.row[r];
}
void put_right_transposed(Tile x) {
  x = transposed(x);
  [[unroll]] for (uint c = 0; c < TILE; c++)
    right[(across() * TILE + c) * ACROSS + down()] = x.row[c];
}

// The tile of the sum over k < size of left[k] times right[k]. Afterwards the operands may change.
Tile product(uint size) {
  Tile sum = zeros();
  barrier();
  uint k = 0;
  do {
    const vec4 row = left[k * ACROSS + down()], column = right[k * ACROSS + across()];
    [[unroll]] for (uint r = 0; r < TILE; r++)
      sum.row[r] = fma(vec4(row[r]), column, sum.row[r]);
    ++k;
  } while (k < size);
  barrier();
  return sum;
}

// The largest sum of a column of the matrix, and the first column that has it.
float largest_sum(Tile x, uint size, out uint column) {
  put_left(x);
  barrier();
  if (down() == 0) {
    vec4 sum = vec4(0);
    for (uint i = 0; i < size; i++) sum += left[i * ACROSS + across()];
    right[across()] = sum;
  }
  barrier();
  float most = right[0].x;
  column = 0;
  for (uint i = 1; i < size; i++) {
    const float sum = right[i / 4][i % 4];
    if (sum > most) {
      most = sum;
      column = i;
    }
  }
  barrier();
  return most;
}

// The factor of A Z in an iteration: what the factors 13 / 4 of those before come to.
float factor_of(uint iteration) {
  float factor = 1;
  for (uint i = 0; i < iteration; i++) factor *= 13.0 / 4.0;
  return factor;
}
