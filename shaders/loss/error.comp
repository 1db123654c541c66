#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "loss/contract.h"

// loss[r] = mean over k of (x - y)^2 or |x - y|. A team a row.
FT_CONSTANTS(loss_error)
FT_ARGUMENTS(loss_error)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    const uint end = row < p.rows ? (row + 1) * p.columns : 0;
    uint i = row * p.columns + team_lane();
    float sum = 0;
    if (i < end) {
      do {
        const float d = p.x.v[i] - p.y.v[i];
        sum += absolute ? abs(d) : d * d;
        i += team_lanes();
      } while (i < end);
    }
    sum = team_sum(sum);
    if (team_lane() == 0 && row < p.rows) p.loss.v[row] = sum / float(p.columns);
  }
}
