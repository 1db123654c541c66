#version 450
#extension GL_GOOGLE_include_directive : require
//@variant nosub -DFILTRA_NO_SUBGROUP=1
#include "common/types.glsl"
#include "common/reduce.glsl"
#include "loss/contract.h"

// hit[r] = 1 if the largest logit, the first of equal ones, is the label's. A team per row.
FT_ARGUMENTS(loss_accuracy)

void main() {
  for (uint row = team_index(); team_goes_on(row, p.rows); row += team_count()) {
    float largest = lowest_float;
    float first = -float(p.columns); // minus a column, so that the largest is the first
    uint column = team_lane();
    if (column < p.columns && row < p.rows) {
      do {
        const float x = p.logits.v[row * p.columns + column];
        if (x > largest) {
          largest = x;
          first = -float(column);
        }
        column += team_lanes();
      } while (column < p.columns);
    }
    const float row_largest = team_max(largest);
    first = team_max(largest == row_largest ? first : -float(p.columns));
    if (team_lane() == 0 && row < p.rows) {
      const int label = p.labels.v[row];
      p.hit.v[row] = label >= 0 && uint(label) < p.columns && uint(-first) == uint(label) ? 1 : 0;
    }
  }
}
