#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
//@variant cpu -DFILTRA_CPU=1
#include "common/types.glsl"
#include "common/complex.glsl"
#include "common/reduce.glsl"
#include "dhhp/contract.h"

// product[b,t] = phases[b,t] * sum over features of conj(x[b, t - shift]) y[b,t], or the conjugate
// of that sum; 0 where there is no token t - shift. A team per token.
FT_CONSTANTS(dhhp_products)
// As in dhhp/chain.glsl.
FT_ARGUMENTS_COPIED(dhhp_products)

vec2 product(uint row) {
  const int from = int(row % p.tokens) - p.shift;
  const bool inside = from >= 0 && from < int(p.tokens);
  const uint x = uint(int(row) - (inside ? p.shift : 0)) * p.features, y = row * p.features;
  vec2 sum = vec2(0);
  uint f = team_lane();
  if (f < p.features) {
    do {
      sum += times_conjugate(read(p.y, y + f), read(p.x, x + f));
      f += team_lanes();
    } while (f < p.features);
  }
  sum = vec2(team_sum(sum.x), team_sum(sum.y));
  if (!inside) return vec2(0);
  if (conjugated) sum = conjugate(sum);
  return present(F32(uvec2(p.phases))) ? times(read(p.phases, row), sum) : sum;
}

void main() {
  p = given;
  uint row = team_index();
  if (!team_goes_on(row, p.rows)) return;
  do {
    vec2 z = product(min(row, p.rows - 1));
    if (team_lane() == 0 && row < p.rows) {
      if (accumulate) z += read(p.product, row);
      write(p.product, row, z);
    }
    row += team_count();
  } while (team_goes_on(row, p.rows));
}
