#version 450
#extension GL_GOOGLE_include_directive : require
#include "pseudoinverse/product.glsl"

// Z of Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4, starting from A^T over the largest sum of a
// column of A, without the factors 13 / 4. A workgroup iterates with one matrix after the other.
FT_CONSTANTS(pseudoinverse_forward)
FT_ARGUMENTS(pseudoinverse_forward)
#include "pseudoinverse/elements.glsl"

// A^T over the largest sum of a column.
Tile start(Tile a) {
  uint column;
  const float most = largest_sum(a, p.size, column);
  put_right_transposed(a);
  barrier();
  Tile z;
  [[unroll]] for (uint r = 0; r < TILE; r++)
    z.row[r] = right[(down() * TILE + r) * ACROSS + across()] / most;
  barrier();
  return z;
}

Tile next(Tile a, Tile z, uint iteration) {
  put_left_transposed(a);
  put_right(z);
  const Tile az = scaled(factor_of(iteration), product(p.size));
  put_left_transposed(az);
  put_right(az);
  put_right(sum_of(az, -1.0 / 7.0, product(p.size))); // A Z (7 I - A Z) / 7
  const Tile fifteen = sum_of(az, -7.0 / 15.0, product(p.size));
  put_left_transposed(z);
  put_right(fifteen);
  return sum_of(z, -15.0 / 13.0, product(p.size));
}

void main() {
  for (uint matrix = gl_WorkGroupID.x; matrix < p.count; matrix += gl_NumWorkGroups.x) {
    const uint elements = p.size * p.size;
    const Tile a = load(p.a, matrix * elements, p.size);
    Tile z = start(a);
    for (uint i = 0; i < p.iterations; i++) {
      if (present(p.states)) store(p.states, (i * p.count + matrix) * elements, p.size, z);
      z = next(a, z, i);
    }
    store(p.y, matrix * elements, p.size, z);
  }
}
