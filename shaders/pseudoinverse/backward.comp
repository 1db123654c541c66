#version 450
#extension GL_GOOGLE_include_directive : require
#include "pseudoinverse/product.glsl"

// Gradient of forward.comp: goes back from each iteration's Z, whose products it computes again.
// The gradient of x is named dx.
FT_CONSTANTS(pseudoinverse_backward)
FT_ARGUMENTS(pseudoinverse_backward)
#include "pseudoinverse/elements.glsl"

// What waits for its turn is in memory, not in registers, of which some devices have few.
const uint AZ = 0, SEVEN = 1, DZ = 2;

uint place(uint which) { return (gl_WorkGroupID.x * 3 + which) * p.size * p.size; }
void keep(uint which, Tile x) { store(p.scratch, place(which), p.size, x); }
Tile kept(uint which) { return load(p.scratch, place(which), p.size); }

// The products of the iteration that begins with the Z at `state` once more; keeps the first two.
Tile fifteen_of(uint matrix, uint state, float factor) {
  put_left_transposed(load(p.a, matrix * p.size * p.size, p.size));
  put_right(load(p.states, state, p.size));
  const Tile az = scaled(factor, product(p.size));
  keep(AZ, az);
  put_left_transposed(az);
  put_right(az);
  const Tile seven = sum_of(az, -1.0 / 7.0, product(p.size));
  keep(SEVEN, seven);
  put_right(seven);
  return sum_of(az, -7.0 / 15.0, product(p.size));
}

// The gradient of A Z from that of `fifteen`.
Tile az_gradient(Tile dfifteen) {
  put_left_transposed(dfifteen);
  put_right_transposed(kept(SEVEN));
  Tile daz = sum_of(dfifteen, -7.0 / 15.0, product(p.size));
  put_left(kept(AZ));
  put_right(dfifteen);
  const Tile dseven = scaled(-7.0 / 15.0, product(p.size));
  put_right(dseven);
  daz = sum_of(sum_of(daz, 1, dseven), -1.0 / 7.0, product(p.size));
  put_left_transposed(dseven);
  put_right_transposed(kept(AZ));
  return sum_of(daz, -1.0 / 7.0, product(p.size));
}

// Replaces the gradient of an iteration's result by that of what it began with; adds to da.
void back(uint matrix, uint iteration) {
  const uint at = matrix * p.size * p.size;
  const uint state = (iteration * p.count + matrix) * p.size * p.size;
  const float factor = factor_of(iteration);
  put_right_transposed(fifteen_of(matrix, state, factor));
  put_left_transposed(kept(DZ));
  Tile sum = product(p.size);
  const Tile d = kept(DZ);
  put_right(d);
  keep(DZ, sum_of(d, -15.0 / 13.0, sum));
  put_left(load(p.states, state, p.size));
  const Tile daz = az_gradient(scaled(-15.0 / 13.0, product(p.size)));
  put_left(load(p.a, at, p.size));
  put_right(daz);
  sum = product(p.size);
  keep(DZ, sum_of(kept(DZ), factor, sum));
  put_left_transposed(daz);
  put_right_transposed(load(p.states, state, p.size));
  sum = product(p.size);
  store(p.da, at, p.size, sum_of(load(p.da, at, p.size), factor, sum));
}

// The sum over all elements of x, the same in every invocation.
float total(float x) {
  right[gl_LocalInvocationID.x].x = x;
  barrier();
  float sum = 0;
  for (uint i = 0; i < ACROSS * ACROSS; i++) sum += right[i].x;
  barrier();
  return sum;
}

// Adds to da what comes by way of the first Z, A^T over the largest sum of a column.
void end(uint matrix) {
  const uint at = matrix * p.size * p.size;
  const Tile d = kept(DZ), z = load(p.states, at, p.size);
  float share = 0;
  [[unroll]] for (uint r = 0; r < TILE; r++) share += dot(d.row[r], z.row[r]);
  share = total(share);
  uint column;
  const float most = largest_sum(load(p.a, at, p.size), p.size, column);
  put_right_transposed(d);
  barrier();
  Tile da = load(p.da, at, p.size);
  [[unroll]] for (uint r = 0; r < TILE; r++) {
    da.row[r] += right[(down() * TILE + r) * ACROSS + across()] / most;
    [[unroll]] for (uint c = 0; c < TILE; c++)
      if (across() * TILE + c == column) da.row[r][c] -= share / most;
  }
  store(p.da, at, p.size, da);
  barrier();
}

void main() {
  for (uint matrix = gl_WorkGroupID.x; matrix < p.count; matrix += gl_NumWorkGroups.x) {
    const uint at = matrix * p.size * p.size;
    keep(DZ, load(p.dy, at, p.size));
    if (!accumulate) store(p.da, at, p.size, zeros());
    for (uint i = p.iterations; i-- > 0;) back(matrix, i);
    end(matrix);
  }
}
