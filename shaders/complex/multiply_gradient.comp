#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "complex/contract.h"

// da[r] = sum over c of dy[r, c] conj(z[r, c]); a team per row.
FT_CONSTANTS(complex_multiply_gradient)
FT_ARGUMENTS(complex_multiply_gradient)

void main() {
  const uint lane = team_lane(), lanes = team_lanes();
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    float re = 0, im = 0;
    uint c = lane;
    if (c < p.columns && row < p.rows) {
      do {
        const uint at = 2 * (row * p.columns + c);
        const float z_re = p.z.v[at], z_im = p.z.v[at + 1];
        const float up_re = p.dy.v[at], up_im = p.dy.v[at + 1];
        re += up_re * z_re + up_im * z_im;
        im += up_im * z_re - up_re * z_im;
        c += lanes;
      } while (c < p.columns);
    }
    re = team_sum(re);
    im = team_sum(im);
    if (lane == 0 && row < p.rows) {
      if (accumulate) {
        re += p.da.v[2 * row];
        im += p.da.v[2 * row + 1];
      }
      p.da.v[2 * row] = re;
      p.da.v[2 * row + 1] = im;
    }
  }
}
